# The load driver: libc, OpenSSL and zlib only
bin_PROGRAMS += httpdrive
httpdrive_SOURCES = %D%/main.c
httpdrive_CPPFLAGS = $(AM_CPPFLAGS) $(SSL_CFLAGS) $(ZLIB_CFLAGS)
httpdrive_LDADD = $(SSL_LIBS) $(ZLIB_LIBS) -lm -lpthread
dist_man_MANS += %D%/httpdrive.1
