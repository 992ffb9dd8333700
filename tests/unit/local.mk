# One program for each shared source file; each prints its own summary.
unit_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
