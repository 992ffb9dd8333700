# The load driver: libc, OpenSSL and zlib only. The library holds everything but main(), so that
# the unit tests and fuzzers link the parts they need.
noinst_LTLIBRARIES += %D%/libhttpdrive.la
%C%_libhttpdrive_la_SOURCES = \
  %D%/clock.h %D%/compare.c %D%/compare.h %D%/conn.c %D%/engine.h %D%/health.c %D%/health.h \
  %D%/hist.c %D%/hist.h %D%/json_read.c %D%/json_read.h %D%/json_write.c %D%/json_write.h \
  %D%/merge.c %D%/options.c %D%/options.h %D%/options_table.c %D%/outcome.c %D%/outcome.h \
  %D%/output.c %D%/output.h %D%/output_ab.c %D%/output_ab.h %D%/output_ab_html.c %D%/output_compare.c \
  %D%/output_files.c %D%/output_html.c %D%/output_json.c %D%/output_text.c %D%/pace.c %D%/pace.h \
  %D%/plan.c %D%/plan.h %D%/record.c %D%/request.c %D%/request.h %D%/response.c %D%/response.h \
  %D%/result.c %D%/result.h %D%/run.c %D%/run.h %D%/series.c %D%/series.h %D%/statistics.c \
  %D%/statistics.h %D%/stats.c %D%/stats.h %D%/stored.c %D%/stored.h %D%/transport.c \
  %D%/transport.h %D%/url.c %D%/url.h %D%/worker.c
%C%_libhttpdrive_la_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(SSL_CFLAGS) $(ZLIB_CFLAGS)

# The page of --html as a C string
nodist_%C%_libhttpdrive_la_SOURCES = %D%/page.c
%D%/page.c: %D%/page.html
	$(AM_V_GEN)$(MKDIR_P) %D% && { echo '#include "bench/httpdrive/output.h"'; \
	  echo 'const char output_page[] ='; \
	  sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $(srcdir)/%D%/page.html; echo ';'; } >$@
CLEANFILES += %D%/page.c

bin_PROGRAMS += httpdrive
httpdrive_SOURCES = %D%/main.c
httpdrive_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE $(SSL_CFLAGS) $(ZLIB_CFLAGS)
httpdrive_LDADD = %D%/libhttpdrive.la $(SSL_LIBS) $(ZLIB_LIBS) -lm -lpthread
dist_man_MANS += %D%/httpdrive.1

# bash completion, printed from the table of options; bash looks for a file of the program's name
noinst_PROGRAMS += %D%/make_completion
%C%_make_completion_SOURCES = %D%/make_completion.c
%C%_make_completion_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE
%C%_make_completion_LDADD = %D%/libhttpdrive.la -lm
completiondir = $(datadir)/bash-completion/completions
nodist_completion_DATA = %D%/completion/httpdrive
%D%/completion/httpdrive: %D%/make_completion
	$(AM_V_GEN)$(MKDIR_P) %D%/completion && %D%/make_completion >$@.tmp && mv $@.tmp $@
CLEANFILES += %D%/completion/httpdrive
EXTRA_DIST += %D%/page.html docs/httpdrive.md docs/httpdrive-json.md docs/httpdrive-machines.md tests/badserver.py

# make bench-peers PEERS_FLAGS="--rounds 12": client CPU per request beside wrk, ab, h2load
bench-peers: stage.stamp
	@PYTHONPATH=$(abs_srcdir)/bench:$(abs_srcdir)/tests $(pytest_env) \
	  INTERPOOL_HTTPDRIVE=$(abs_builddir)/stage$(bindir)/httpdrive \
	  $(PYTHON) $(srcdir)/%D%/peers.py $(PEERS_FLAGS)
.PHONY: bench-peers
EXTRA_DIST += %D%/peers.py %D%/hello_folder.py

# make bench-rates: does an open loop keep its rate? The server tells.
bench-rates: stage.stamp
	@PYTHONPATH=$(abs_srcdir)/bench:$(abs_srcdir)/tests $(pytest_env) \
	  INTERPOOL_HTTPDRIVE=$(abs_builddir)/stage$(bindir)/httpdrive \
	  $(PYTHON) $(srcdir)/%D%/rates.py $(RATES_FLAGS)
.PHONY: bench-rates
EXTRA_DIST += %D%/rates.py

# make bench-compare-check: how often `compare` sees a difference where there is none, and where there is one
bench-compare-check: stage.stamp
	@PYTHONPATH=$(abs_srcdir)/bench:$(abs_srcdir)/tests $(pytest_env) \
	  INTERPOOL_HTTPDRIVE=$(abs_builddir)/stage$(bindir)/httpdrive \
	  $(PYTHON) $(srcdir)/%D%/compare_check.py $(CHECK_FLAGS)
.PHONY: bench-compare-check
EXTRA_DIST += %D%/compare_check.py
