# Code that both modules use; it knows neither Lua nor Python.
noinst_LTLIBRARIES += %D%/libcommon.la
%C%_libcommon_la_SOURCES = %D%/idle_pool.c %D%/idle_pool.h
%C%_libcommon_la_CPPFLAGS = $(AM_CPPFLAGS) $(HTTPD_CFLAGS) $(APR_CFLAGS)
