# One program for each shared source file; each prints its own summary.
unit_cppflags = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)

# modules/common: the parts that need APR only link without httpd.
unit_apr_cppflags = $(unit_cppflags) $(HTTPD_CFLAGS) $(APR_CFLAGS)
unit_apr_libs = modules/common/libcommon.la $(CMOCKA_LIBS) $(APR_LIBS) -lpthread

check_PROGRAMS += %D%/test_idle_pool
%C%_test_idle_pool_SOURCES = %D%/test_idle_pool.c %D%/fake_vms.h %D%/unit.h
%C%_test_idle_pool_CPPFLAGS = $(unit_apr_cppflags)
%C%_test_idle_pool_LDADD = $(unit_apr_libs)

check_PROGRAMS += %D%/test_idle_pool_threads
%C%_test_idle_pool_threads_SOURCES = %D%/test_idle_pool_threads.c %D%/fake_vms.h %D%/unit.h
%C%_test_idle_pool_threads_CPPFLAGS = $(unit_apr_cppflags)
%C%_test_idle_pool_threads_LDADD = $(unit_apr_libs)

check_PROGRAMS += %D%/test_header_check
%C%_test_header_check_SOURCES = %D%/test_header_check.c %D%/unit.h
%C%_test_header_check_CPPFLAGS = $(unit_apr_cppflags)
%C%_test_header_check_LDADD = $(unit_apr_libs)

check_PROGRAMS += %D%/test_script_cache
%C%_test_script_cache_SOURCES = %D%/test_script_cache.c %D%/unit.h
%C%_test_script_cache_CPPFLAGS = $(unit_apr_cppflags)
%C%_test_script_cache_LDADD = $(unit_apr_libs)

check_PROGRAMS += %D%/test_watchdog
%C%_test_watchdog_SOURCES = %D%/test_watchdog.c %D%/unit.h
%C%_test_watchdog_CPPFLAGS = $(unit_apr_cppflags)
%C%_test_watchdog_LDADD = $(unit_apr_libs)

check_PROGRAMS += %D%/test_arena
%C%_test_arena_SOURCES = %D%/test_arena.c %D%/unit.h
%C%_test_arena_CPPFLAGS = $(unit_apr_cppflags)
%C%_test_arena_LDADD = $(unit_apr_libs)

check_PROGRAMS += %D%/test_conf_value
%C%_test_conf_value_SOURCES = %D%/test_conf_value.c %D%/unit.h
%C%_test_conf_value_CPPFLAGS = $(unit_apr_cppflags)
%C%_test_conf_value_LDADD = $(unit_apr_libs)

check_PROGRAMS += %D%/test_form
%C%_test_form_SOURCES = %D%/test_form.c %D%/unit.h
%C%_test_form_CPPFLAGS = $(unit_apr_cppflags)
%C%_test_form_LDADD = $(unit_apr_libs)

# bench/httpdrive: needs neither APR nor httpd.
unit_hd_cppflags = $(unit_cppflags) -D_GNU_SOURCE
unit_hd_libs = bench/httpdrive/libhttpdrive.la $(CMOCKA_LIBS) $(SSL_LIBS) $(ZLIB_LIBS) -lm -lpthread

check_PROGRAMS += %D%/test_hd_response
%C%_test_hd_response_SOURCES = %D%/test_hd_response.c
%C%_test_hd_response_CPPFLAGS = $(unit_hd_cppflags)
%C%_test_hd_response_LDADD = $(unit_hd_libs)

check_PROGRAMS += %D%/test_hd_hist
%C%_test_hd_hist_SOURCES = %D%/test_hd_hist.c
%C%_test_hd_hist_CPPFLAGS = $(unit_hd_cppflags)
%C%_test_hd_hist_LDADD = $(unit_hd_libs)

check_PROGRAMS += %D%/test_hd_pace
%C%_test_hd_pace_SOURCES = %D%/test_hd_pace.c
%C%_test_hd_pace_CPPFLAGS = $(unit_hd_cppflags)
%C%_test_hd_pace_LDADD = $(unit_hd_libs)

check_PROGRAMS += %D%/test_hd_options
%C%_test_hd_options_SOURCES = %D%/test_hd_options.c
%C%_test_hd_options_CPPFLAGS = $(unit_hd_cppflags)
%C%_test_hd_options_LDADD = $(unit_hd_libs)

check_PROGRAMS += %D%/test_hd_statistics
%C%_test_hd_statistics_SOURCES = %D%/test_hd_statistics.c
%C%_test_hd_statistics_CPPFLAGS = $(unit_hd_cppflags)
%C%_test_hd_statistics_LDADD = $(unit_hd_libs)
