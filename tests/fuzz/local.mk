# The kept inputs run with `make check`; `make fuzz` looks for new ones (FUZZ_SECONDS=600 make fuzz).
check_PROGRAMS += %D%/replay_form
%C%_replay_form_SOURCES = %D%/fuzz_form.c %D%/replay.c
%C%_replay_form_CPPFLAGS = $(AM_CPPFLAGS) $(APR_CFLAGS)
%C%_replay_form_LDADD = modules/common/libcommon.la $(APR_LIBS) -lpthread

fuzz:
	$(srcdir)/tests/fuzz/run.sh "$(srcdir)" "$(CC)" "$(APR_CFLAGS)" "$(APR_LIBS)"
.PHONY: fuzz
EXTRA_DIST += %D%/run.sh %D%/form.dict %D%/corpus
clean-local: clean-fuzz
clean-fuzz:
	rm -rf %D%/found %D%/fuzz_form
.PHONY: clean-fuzz
