#!/bin/sh
# Who may include what (modules/README.md): shared code knows no interpreter, part of it not even httpd;
# the two modules know nothing of each other; the driver knows neither. No arrow goes back.
cd "${srcdir:-.}" || exit 1
failed=0

httpd='<(httpd|http_[a-z]*|ap_[a-z]*|util_[a-z_0-9]*|mod_[a-z_0-9]*|mpm_common|scoreboard|unixd)\.h>'
apr='<ap[ru][a-z_0-9]*\.h>'
lua='[<"](lua|lauxlib|lualib|luaconf)\.h(pp)?[>"]|"modules/lua/'
python='[<"](Python|structmember|frameobject)\.h[>"]|"modules/python/'

# deny REASON PATTERN FILE...: no include line of the files may match.
deny() {
    reason=$1 pattern=$2
    shift 2
    [ $# -gt 0 ] || return 0
    if grep -nE '^[[:space:]]*#[[:space:]]*include' /dev/null "$@" | grep -E "$pattern"; then
        echo "^ $reason"
        failed=1
    fi
}

files() {
    find "$@" -name '*.[ch]' 2>/dev/null
}

# The parts of modules/common that unit programs and fuzzers link without httpd.
apr_only=
for part in idle_pool script_cache watchdog wait_clock form header_check arena hot; do
    for file in modules/common/$part.[ch]; do
        [ -f "$file" ] && apr_only="$apr_only $file"
    done
done
[ -n "$apr_only" ] || { echo "modules/common is not where it was"; exit 1; }

deny "this part of modules/common needs APR only" \
    "$httpd"'|"modules/common/(body|conf_value|report|status_board)\.h"' $apr_only
deny "modules/common knows no interpreter" "$lua|$python" $(files modules/common)
deny "mod_luapool knows nothing of Python" "$python" $(files modules/lua)
deny "mod_pypool knows nothing of Lua" "$lua" $(files modules/python)
deny "the modules know nothing of the driver" '"bench/' $(files modules)
deny "the driver needs libc, OpenSSL and zlib only" "$httpd|$apr|$lua|$python|\"modules/" \
    $(files bench/httpdrive)
deny "unit tests link shared code and the driver, not the modules" "$lua|$python" $(files tests/unit)
deny "fuzzers link what needs APR only" "$httpd|$lua|$python" $(files tests/fuzz)

# The rig starts servers with the tests' harness, which never needs the rig. Its own test does.
if grep -nE '^[[:space:]]*(from|import) (bench|rig)\b' /dev/null \
    $(find tests -name '*.py' ! -name 'test_rig*' 2>/dev/null); then
    echo "^ only the rig's test imports the rig"
    failed=1
fi
if grep -nE '^[[:space:]]*(from|import) (tests\.)?(test_|conftest)' /dev/null \
    $(find bench -name '*.py' 2>/dev/null); then
    echo "^ the rig imports the harness, not the tests"
    failed=1
fi
exit $failed
