#!/usr/bin/env bash
# miniBatchSize auto against fixed sizes, with programs that need STARTS milliseconds for every mini-batch and
# 1 ms for every item (both are sleeps: the processors are not measured), two workers with 4 programs each. Goal: never
# more than a few percent behind the best fixed size. Measured: seconds from the first lease to the last result.
#   ITEMS=20000; SIZES="1 10 100 1000"; STARTS="0 5 50": ms
# Prints a table, writes build/bench/auto.json.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/jobs.bash
: "${ITEMS:=20000}" "${SIZES:=1 10 100 1000}" "${STARTS:=0 5 50}"
make --no-print-directory build/tests/bench/scorer
mkdir -p build/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder_of_files "$work/in/files" "$ITEMS"
row() { printf '%-14s' "$1"; shift; printf ' %9s' "$@"; echo; }
row "start-up, ms" $SIZES auto "behind"
for start in $STARTS; do
    results=()
    for size in $SIZES auto; do
        scorer_job "$work" "$work/in/files" "$size" 4 "$((start * 1000))" 1000
        [ "$(jq .items.done "$work/out/summary.json")" = "$ITEMS" ] || { echo "auto.sh: items are missing" >&2; exit 1; }
        results+=("$(scorer_seconds "$work")")
    done
    best=$(printf '%s\n' "${results[@]::${#results[@]}-1}" | sort -n | head -1)
    behind=$(awk "BEGIN { printf \"%.1f\", 100 * (${results[-1]} / $best - 1) }")
    row "$start" "${results[@]}" "$behind %"
    jq -cn --argjson start "$start" --arg sizes "$SIZES" --arg seconds "${results[*]}" --argjson behind "$behind" \
        '{start_ms: $start, sizes: ($sizes | split(" ")), seconds: ($seconds | split(" ") | map(tonumber)), behind_percent: $behind}' \
        >>"$work/rows"
done
jq -s --argjson items "$ITEMS" --argjson cores "$(nproc)" '{command: "make bench", cores: $cores, items: $items, rows: .}' "$work/rows" >build/bench/auto.json
