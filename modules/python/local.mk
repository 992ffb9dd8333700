# mod_pypool.so and the Python package mod_python that stands beside it
module_LTLIBRARIES += mod_pypool.la
mod_pypool_la_SOURCES = %D%/mod_pypool.c \
  %D%/apache_module.c %D%/apache_module.h \
  %D%/call.h \
  %D%/child.c %D%/child.h \
  %D%/compat.h \
  %D%/conf.c %D%/conf.h \
  %D%/constants.c \
  %D%/field.c %D%/field.h \
  %D%/guard.c %D%/guard.h \
  %D%/group.c %D%/group.h \
  %D%/interp.c %D%/interp.h \
  %D%/limits.c %D%/limits.h \
  %D%/memory.c %D%/memory.h \
  %D%/parse.c \
  %D%/request.c %D%/request.h %D%/request_fields.c %D%/request_methods.h \
  %D%/request_ask.c %D%/request_body.c %D%/request_do.c %D%/request_file.c %D%/request_write.c \
  %D%/run.c %D%/run.h \
  %D%/script.c %D%/script.h \
  %D%/server.c %D%/server.h %D%/connection.c %D%/finfo.c %D%/hlist.c \
  %D%/state.c %D%/state.h \
  %D%/table.c %D%/table.h %D%/table_change.c \
  %D%/text.c %D%/text.h \
  %D%/turnstile.c %D%/turnstile.h
mod_pypool_la_CPPFLAGS = $(AM_CPPFLAGS) $(HTTPD_CFLAGS) $(APR_CFLAGS) $(PYTHON_CFLAGS) \
  -DPP_PYTHON='"$(PYTHON)"'
mod_pypool_la_CFLAGS = $(AM_CFLAGS) $(MODULE_CFLAGS)
mod_pypool_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -export-symbols-regex '^pypool_module$$'
mod_pypool_la_LIBADD = modules/common/libcommon.la $(PYTHON_LIBS)

# Found by the module through its own path, so a staged or moved installation works.
pypool_packages = %D%/mod_python/__init__.py %D%/mod_python/apache.py %D%/mod_python/util.py %D%/mod_python/Cookie.py \
  %D%/mod_python/_failure.py %D%/mod_python/_loader.py %D%/mod_python/_setup.py
pypooldir = $(moduledir)/pypool/mod_python
dist_pypool_DATA = $(pypool_packages)

EXTRA_DIST += docs/python.md
