# mod_luapool.so
module_LTLIBRARIES += mod_luapool.la
mod_luapool_la_SOURCES = %D%/mod_luapool.c
mod_luapool_la_CPPFLAGS = $(AM_CPPFLAGS) $(HTTPD_CFLAGS) $(APR_CFLAGS) $(LUA_CFLAGS)
mod_luapool_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -export-symbols-regex '^luapool_module$$'
mod_luapool_la_LIBADD = modules/common/libcommon.la $(LUA_LIBS)
