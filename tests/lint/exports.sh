#!/bin/sh
# Each module exports its module record and nothing else: httpd loads modules with global symbols, so
# one module would otherwise bind to the other's copy of the shared code.
failed=0
found=0
for name in luapool pypool; do
    file=.libs/mod_$name.so
    [ -f "$file" ] || continue
    found=1
    symbols=$(nm -D --defined-only "$file" | awk '$2 ~ /^[A-Z]$/ { print $3 }' | grep -v '^__asan\|^__odr_asan' | xargs)
    if [ "$symbols" != "${name}_module" ]; then
        echo "$file exports: $symbols"
        failed=1
    fi
done
[ $found = 1 ] || { echo "no module has been built"; exit 1; }
exit $failed
