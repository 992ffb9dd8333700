#!/bin/sh
# How long files and functions may be, and how branched: no C file over 600 lines, no function over 80,
# under 5 % of them over 50, complexity at most 15 as pmccabe counts it (a switch counts as one).
cd "${srcdir:-.}" || exit 1
files=$(find modules bench tests -name '*.[ch]' ! -name page.c)
failed=0

for file in $files; do
    lines=$(wc -l <"$file")
    if [ "$lines" -gt 600 ]; then
        echo "$file: $lines lines, at most 600"
        failed=1
    fi
done

# A comment in the product says why; figures outside of these mean too little or too much of it.
awk '
    /^[ \t]*\/\*/ { inside = 1 }
    { total += /[^ \t]/; comments += inside || /\/\*.*\*\// }
    /\*\// { inside = 0 }
    END {
        share = 100 * comments / total
        printf "comments: %.1f %% of %d lines\n", share, total
        exit share < 12 || share > 28
    }' $(find modules bench -name '*.[ch]' ! -name page.c) || { echo "comments should be 15 to 25 %"; failed=1; }

command -v pmccabe >/dev/null || { echo "pmccabe is not installed"; [ $failed = 1 ] || exit 77; exit 1; }
pmccabe $files | awk '
    { lines = $5; place = $6 " " $7 }
    lines > 80 { print place ": " lines " lines, at most 80"; bad = 1 }
    lines > 50 { long++ }
    $1 > 15 { print place ": complexity " $1 ", at most 15"; bad = 1 }
    END {
        printf "%d functions, %d of them over 50 lines\n", NR, long
        if (NR == 0 || long > NR * 0.05) { print "at most 5 % may be over 50 lines"; bad = 1 }
        exit bad
    }' || failed=1
exit $failed
