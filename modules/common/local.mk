# Code that both modules use; it knows neither Lua nor Python.
noinst_LTLIBRARIES += %D%/libcommon.la
%C%_libcommon_la_SOURCES = \
  %D%/arena.c %D%/arena.h %D%/body.c %D%/body.h %D%/conf_value.c %D%/conf_value.h %D%/form.c %D%/form.h \
  %D%/header_check.c %D%/header_check.h %D%/hot.h %D%/idle_pool.c %D%/idle_pool.h \
  %D%/length_guard.c %D%/length_guard.h \
  %D%/output.c %D%/output.h \
  %D%/report.c %D%/report.h %D%/script_cache.c %D%/script_cache.h \
  %D%/status_board.c %D%/status_board.h %D%/status_names.c %D%/status_names.h %D%/wait_clock.h %D%/watchdog.c %D%/watchdog.h
%C%_libcommon_la_CFLAGS = $(AM_CFLAGS) $(MODULE_CFLAGS)
%C%_libcommon_la_CPPFLAGS = $(AM_CPPFLAGS) $(HTTPD_CFLAGS) $(APR_CFLAGS)
