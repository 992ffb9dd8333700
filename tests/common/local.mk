# A module with no interpreter in it, for tests/test_common.py (-rpath: or libtool makes no .so)
check_LTLIBRARIES += %D%/mod_commontest.la
%C%_mod_commontest_la_SOURCES = %D%/mod_commontest.c
%C%_mod_commontest_la_CPPFLAGS = $(AM_CPPFLAGS) $(HTTPD_CFLAGS) $(APR_CFLAGS)
%C%_mod_commontest_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere \
  -export-symbols-regex '^commontest_module$$'
%C%_mod_commontest_la_LIBADD = modules/common/libcommon.la
