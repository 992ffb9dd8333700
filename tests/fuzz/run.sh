#!/bin/sh
# Fuzzes each parser for FUZZ_SECONDS with libFuzzer, as many at once as there are processors, starting
# from the kept inputs. FUZZERS names those to run. What is found stays in tests/fuzz: crash-* to be
# mended, and found/NAME, the new inputs that reach new code.
#   run.sh SOURCE_FOLDER COMPILER APR_CPPFLAGS APR_LIBS
src=$1 compiler=$2 apr_cppflags=$3 apr_libs=$4
seconds=${FUZZ_SECONDS:-10}
mkdir -p tests/fuzz/found && cd tests/fuzz || exit 1
case $src in /*) ;; *) src=../../$src ;; esac

works() {
    echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d && n ? 0 : 0; }' \
        | $1 -fsanitize=fuzzer -x c - -o works 2>/dev/null
    status=$?
    rm -f works
    return $status
}

build() { # NAME LIBS SOURCES...
    name=$1 libs=$2
    shift 2
    mkdir -p "found/$name"
    $clang -g -O1 -std=gnu11 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined \
        -fno-sanitize-recover=undefined -I"$src" $apr_cppflags \
        "$src/tests/fuzz/fuzz_$name.c" "$@" -o "fuzz_$name" $libs || exit 1
}

run() { # NAME...: as many side by side as there are processors; each log is shown when its fuzzer ends
    printf '%s\n' "$@" | xargs -P "$(nproc)" -I {} sh -c '
        echo "fuzz: $1 for $2 s; its log: tests/fuzz/found/$1.log"
        "./fuzz_$1" -max_total_time="$2" -max_len=4096 -print_final_stats=1 -artifact_prefix="crash-$1-" \
            -dict="$3/tests/fuzz/$1.dict" "found/$1" "$3/tests/fuzz/corpus/$1" >"found/$1.log" 2>&1
        status=$?
        cat "found/$1.log"
        exit $status' fuzz {} "$seconds" "$src"
}

for clang in "$compiler" clang none; do
    works "$clang" && break
done
if [ "$clang" = none ]; then
    echo "no compiler here has libFuzzer (install clang); \`make check\` replays the kept inputs"
    exit 1
fi
drive=$src/bench/httpdrive
set -- ${FUZZERS:-form hd_response hd_url hd_options hd_json}
for name; do
    case $name in
    form) build form "$apr_libs" "$src/modules/common/form.c" ;;
    hd_response) build hd_response "" "$drive/response.c" ;;
    hd_url) build hd_url "" "$drive/url.c" ;;
    hd_options) build hd_options -lm "$drive/options.c" "$drive/options_table.c" ;;
    hd_json) build hd_json -lm "$drive/json_read.c" "$drive/json_write.c" ;;
    *) echo "no fuzzer '$name'"; exit 1 ;;
    esac
done
run "$@"
