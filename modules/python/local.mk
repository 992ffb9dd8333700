# mod_pypool.so and the Python package mod_python that stands beside it
module_LTLIBRARIES += mod_pypool.la
mod_pypool_la_SOURCES = %D%/mod_pypool.c
mod_pypool_la_CPPFLAGS = $(AM_CPPFLAGS) $(HTTPD_CFLAGS) $(APR_CFLAGS) $(PYTHON_CFLAGS)
mod_pypool_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -export-symbols-regex '^pypool_module$$'
mod_pypool_la_LIBADD = modules/common/libcommon.la $(PYTHON_LIBS)

# Found by the module through its own path, so a staged or moved installation works.
pypool_packages = %D%/mod_python/__init__.py
pypooldir = $(moduledir)/pypool/mod_python
dist_pypool_DATA = $(pypool_packages)
