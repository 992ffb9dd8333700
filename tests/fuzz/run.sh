#!/bin/sh
# Fuzzes the form parsers for FUZZ_SECONDS with libFuzzer, starting from the kept inputs. What it finds
# stays in the folder it runs in: crash-* to be mended, and `found`, the new inputs that reach new code.
#   run.sh SOURCE_FOLDER COMPILER CPPFLAGS LIBS
src=$1 compiler=$2 cppflags=$3 libs=$4
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

for candidate in "$compiler" clang; do
    if works "$candidate"; then
        $candidate -g -O1 -std=gnu11 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
            -I"$src" $cppflags "$src/tests/fuzz/fuzz_form.c" "$src/modules/common/form.c" \
            -o fuzz_form $libs || exit 1
        exec ./fuzz_form -max_total_time="$seconds" -max_len=4096 -print_final_stats=1 \
            -dict="$src/tests/fuzz/form.dict" found "$src/tests/fuzz/corpus"
    fi
done
echo "no compiler here has libFuzzer (install clang); \`make check\` replays the kept inputs"
exit 1
