# The driver, and the rig that compares httpd's handlers with it (docs/measuring.md)
include bench/httpdrive/local.mk

# The floor that scripts are compared with: built for `make bench`, never installed.
EXTRA_LTLIBRARIES = %D%/mod_benchhandler.la
%C%_mod_benchhandler_la_SOURCES = %D%/mod_benchhandler.c
%C%_mod_benchhandler_la_CPPFLAGS = $(AM_CPPFLAGS) $(HTTPD_CFLAGS) $(APR_CFLAGS)
%C%_mod_benchhandler_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath $(abs_builddir) \
  -export-symbols-regex '^benchhandler_module$$'
CLEANFILES += %D%/mod_benchhandler.la

# make bench EXPERIMENT=mptest MPMS="worker event" CELLS=luapool,c-handler ROUNDS=5 RUN_SECONDS=1 SEED=1
bench_command = PYTHONPATH=$(abs_srcdir)/bench:$(abs_srcdir)/tests $(pytest_env) \
  INTERPOOL_HTTPDRIVE=$(abs_builddir)/stage$(bindir)/httpdrive \
  INTERPOOL_C_HANDLER=$(abs_builddir)/%D%/.libs/mod_benchhandler.so $(PYTHON) -m rig
bench: stage.stamp %D%/mod_benchhandler.la
	@$(bench_command) run $(EXPERIMENT) $(if $(MPMS),--mpms "$(MPMS)") $(if $(CELLS),--cells "$(CELLS)") \
	  $(if $(ROUNDS),--rounds "$(ROUNDS)") $(if $(RUN_SECONDS),--seconds "$(RUN_SECONDS)") \
	  $(if $(SEED),--seed "$(SEED)") $(if $(RESULTS),--results "$(RESULTS)")
# make bench-compare A=results/one.json B=results/other.json; make bench-report A=results/one.json
bench-compare:
	@$(bench_command) compare "$(A)" "$(B)"
bench-report:
	@$(bench_command) report "$(A)"
.PHONY: bench bench-compare bench-report

EXTRA_DIST += docs/measuring.md $(wildcard $(srcdir)/%D%/rig/*.py $(srcdir)/%D%/experiments/*.toml) \
  $(foreach kind,lua py wsgi txt html,$(wildcard $(srcdir)/%D%/handlers/*.$(kind)))
