#!/usr/bin/env bash
# Sizes: .c at most 600 lines, .h at most 150, lines at most 100 columns, functions at most 70 lines.
# Exceptions stand here, each with its reason.
cd "$(dirname "$0")/../.." || exit 3
bad=0
say() { echo "not ok $*"; bad=1; }
while read -r file; do
    lines=$(wc -l <"$file")
    case $file in
    *.h) [ "$lines" -le 150 ] || say "$file has $lines lines, a header has at most 150" ;;
    *) [ "$lines" -le 600 ] || say "$file has $lines lines, a source has at most 600" ;;
    esac
    awk -v file="$file" 'length($0) > 100 { printf "not ok %s:%d has %d columns, at most 100\n", file, NR, length($0); found = 1 } END { exit found }' "$file" || bad=1
    # clang-format sees to it: a function's signature starts in the first column and ends with "{" (in a
    # later line when it is long), and its "}" stands in the first column. Tables have a "=".
    awk -v file="$file" '
        /^[A-Za-z_]/ { signature = /[(]/ && !/[;=]/ }
        signature && /[{]$/ { start = NR; signature = 0 }
        /^[}]/ { if (start && NR - start > 71) { printf "not ok %s:%d: a function of %d lines, at most 70\n", file, start, NR - start - 1; found = 1 } start = 0 }
        END { exit found }' "$file" || bad=1
done < <(git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' | grep -E '^(lib|operator|agent|tests)/')
[ $bad -eq 0 ] && echo "ok sizes"
exit $bad
