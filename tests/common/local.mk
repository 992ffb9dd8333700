# A module with no interpreter in it, for tests/test_common.py (-rpath: or libtool makes no .so)
check_LTLIBRARIES += %D%/mod_commontest.la
%C%_mod_commontest_la_SOURCES = %D%/mod_commontest.c
%C%_mod_commontest_la_CPPFLAGS = $(AM_CPPFLAGS) $(HTTPD_CFLAGS) $(APR_CFLAGS)
%C%_mod_commontest_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere \
  -export-symbols-regex '^commontest_module$$'
%C%_mod_commontest_la_LIBADD = modules/common/libcommon.la

# A C library for Lua, for tests/test_lua_isolation.py
check_LTLIBRARIES += %D%/foreign.la
%C%_foreign_la_SOURCES = %D%/foreign.c
%C%_foreign_la_CPPFLAGS = $(AM_CPPFLAGS) $(LUA_CFLAGS)
%C%_foreign_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath /nowhere -export-symbols-regex '^luaopen_foreign$$'
%C%_foreign_la_LIBADD = $(LUA_LIBS)
