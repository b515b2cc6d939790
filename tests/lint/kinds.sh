#!/usr/bin/env bash
# A kind is one row: outside operator/kinds/ no source of operator/ and lib/ names one, in code, in
# strings or in includes. Comments may, and so may paths below examples/ in texts of help.
# agent/ is not checked: a pod gets its part of a spec (WINDLASS_SPEC) and never asks for a
# kind; its messages about that part may say "DistTrain".
cd "$(dirname "$0")/../.." || exit 3
out=$(
    git ls-files -co --exclude-standard 'operator/*.c' 'operator/*.h' 'lib/*.c' 'lib/*.h' |
        grep -v '^operator/kinds/' | while read -r file; do
        [ -f "$file" ] && awk -v file="$file" '
            { line = $0
              if (inside) { if (!sub(/^.*\*\//, "", line)) next; inside = 0 }
              gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
              if (sub(/\/\*.*$/, "", line)) inside = 1
              sub(/^[ \t]*\/\/.*$/, "", line)
              gsub(/examples\/[A-Za-z0-9_\/.-]*/, "", line)
              if (line ~ /BatchScore|DistTrain|Sweep|batchscore|disttrain|sweep|is_gang|is_sweep/)
                  printf "not ok %s:%d names a kind: %s\n", file, NR, $0 }' "$file"
    done
)
[ -z "$out" ] || { echo "$out"; exit 1; }
echo "ok kinds"
