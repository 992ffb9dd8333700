# One fuzzer for each parser that meets foreign bytes. The kept inputs run with `make check`;
# `make fuzz` looks for new ones (FUZZ_SECONDS=600 FUZZERS="form hd_url" make fuzz).
replay_hd_cppflags = $(AM_CPPFLAGS) -D_GNU_SOURCE
replay_hd_libs = bench/httpdrive/libhttpdrive.la $(SSL_LIBS) $(ZLIB_LIBS) -lm -lpthread

check_PROGRAMS += %D%/replay_form
%C%_replay_form_SOURCES = %D%/fuzz_form.c %D%/fuzz.h %D%/replay.c
%C%_replay_form_CPPFLAGS = $(AM_CPPFLAGS) $(APR_CFLAGS) -DCORPUS='"form"'
%C%_replay_form_LDADD = modules/common/libcommon.la $(APR_LIBS) -lpthread

check_PROGRAMS += %D%/replay_hd_response
%C%_replay_hd_response_SOURCES = %D%/fuzz_hd_response.c %D%/fuzz.h %D%/replay.c
%C%_replay_hd_response_CPPFLAGS = $(replay_hd_cppflags) -DCORPUS='"hd_response"'
%C%_replay_hd_response_LDADD = $(replay_hd_libs)

check_PROGRAMS += %D%/replay_hd_url
%C%_replay_hd_url_SOURCES = %D%/fuzz_hd_url.c %D%/fuzz.h %D%/replay.c
%C%_replay_hd_url_CPPFLAGS = $(replay_hd_cppflags) -DCORPUS='"hd_url"'
%C%_replay_hd_url_LDADD = $(replay_hd_libs)

check_PROGRAMS += %D%/replay_hd_options
%C%_replay_hd_options_SOURCES = %D%/fuzz_hd_options.c %D%/fuzz.h %D%/replay.c
%C%_replay_hd_options_CPPFLAGS = $(replay_hd_cppflags) -DCORPUS='"hd_options"'
%C%_replay_hd_options_LDADD = $(replay_hd_libs)

check_PROGRAMS += %D%/replay_hd_json
%C%_replay_hd_json_SOURCES = %D%/fuzz_hd_json.c %D%/fuzz.h %D%/replay.c
%C%_replay_hd_json_CPPFLAGS = $(replay_hd_cppflags) -DCORPUS='"hd_json"'
%C%_replay_hd_json_LDADD = $(replay_hd_libs)

fuzz:
	$(srcdir)/tests/fuzz/run.sh "$(srcdir)" "$(CC)" "$(APR_CFLAGS)" "$(APR_LIBS)"
.PHONY: fuzz
EXTRA_DIST += %D%/run.sh %D%/form.dict %D%/hd_response.dict %D%/hd_url.dict %D%/hd_options.dict \
  %D%/hd_json.dict %D%/corpus
clean-local: clean-fuzz
clean-fuzz:
	rm -rf %D%/found %D%/fuzz_form %D%/fuzz_hd_response %D%/fuzz_hd_url %D%/fuzz_hd_options \
	  %D%/fuzz_hd_json
.PHONY: clean-fuzz
