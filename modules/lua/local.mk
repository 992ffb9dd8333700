# mod_luapool.so
module_LTLIBRARIES += mod_luapool.la
mod_luapool_la_SOURCES = %D%/mod_luapool.c \
  %D%/apache2.c %D%/apache2.h %D%/child.c %D%/child.h %D%/conf.c %D%/conf.h %D%/fields.c %D%/files.c %D%/files.h \
  %D%/finalizer.c %D%/finalizer.h %D%/guards.c %D%/guards.h %D%/input.c %D%/isolate.c %D%/isolate.h %D%/limit.c %D%/limit.h \
  %D%/lists.c %D%/lists.h %D%/output.c %D%/request.c %D%/request.h %D%/require.c %D%/require.h %D%/run.c %D%/run.h \
  %D%/scope.c %D%/scope.h %D%/script.c %D%/script.h %D%/table.c %D%/table.h \
  %D%/traceback.c %D%/traceback.h %D%/util.c %D%/vm.c %D%/vm.h
mod_luapool_la_CPPFLAGS = $(AM_CPPFLAGS) $(HTTPD_CFLAGS) $(APR_CFLAGS) $(LUA_CFLAGS)
mod_luapool_la_CFLAGS = $(AM_CFLAGS) $(MODULE_CFLAGS)
mod_luapool_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -export-symbols-regex '^luapool_module$$'
mod_luapool_la_LIBADD = modules/common/libcommon.la $(LUA_LIBS)
EXTRA_DIST += docs/lua.md
