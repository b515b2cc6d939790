#!/usr/bin/env bash
# Mini-batches a second through the coordinator and two workers with an empty scorer (a program in C by scorer.command,
# SummaryOnly, commits on, over TLS) against dask.distributed, which makes as many calls of an empty function with two
# workers, on this machine, alternating. Goals: 20,000 a second, 10 times dask, under 0.2 ms each.
#   COUNT=20000: dask's calls; OURS=200000: our mini-batches, of one empty file each; ROUNDS=3: our rounds; the median
#   counts
# Prints a table, writes build/bench/dispatch.json.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/jobs.bash
: "${COUNT:=20000}" "${OURS:=200000}" "${ROUNDS:=3}"
make --no-print-directory build/tests/bench/scorer
mkdir -p build/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder_of_files "$work/in/files" "$OURS"
for round in $(seq "$ROUNDS"); do
    scorer_job "$work" "$work/in/files" 1 1
    seconds=$(scorer_seconds "$work")
    done=$(jq .items.done "$work/out/summary.json")
    [ "$done" = "$OURS" ] || { echo "dispatch.sh: $done of $OURS mini-batches are done" >&2; exit 1; }
    awk -v n="$OURS" -v s="$seconds" '{ printf "%.0f %.4f\n", n / s, ($1 + $2) * 1000 / n }' "$work/times" >>"$work/ours"
    [ "$round" -gt 1 ] || {
        echo "dask.distributed, $COUNT calls of an empty function, its ways one after the other:"
        # Debian's python, which has Debian's packages; another python3 may come first in the PATH.
        /usr/bin/python3 tests/bench/peers/dispatch_dask.py "$COUNT" "$work/dask.json"
    }
done
read -r rate cpu < <(sort -n "$work/ours" | sed -n "$(((ROUNDS + 1) / 2))p")
of_dask() { jq "$1" "$work/dask.json"; }
row() { printf '%-44s %14s %14s\n' "$@"; }
echo
row "mini-batches of nothing, 2 workers, $(nproc) processors" "a second" "ms for each"
row "windlass, TLS, commits on" "$rate" "$(awk "BEGIN { printf \"%.4f\", 1000 / $rate }")"
row "dask.distributed, TLS" "$(of_dask .tls_per_second)" "$(of_dask '1000000 / .tls_per_second | round / 1000')"
row "dask.distributed, TCP" "$(of_dask .per_second)" "$(of_dask .overhead_ms)"
row "windlass, times dask over TLS" "$(of_dask "$rate / .tls_per_second * 10 | round / 10")" ""
row "windlass, times dask's best" "$(of_dask "$rate / ([.tls_per_second, .per_second] | max) * 10 | round / 10")" ""
echo "(rounds of ours: $(cut -d' ' -f1 "$work/ours" | xargs); $cpu ms of processor for each, of all processes)"
jq --arg cpu "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)" --argjson cores "$(nproc)" --argjson count "$OURS" \
    --argjson rate "$rate" --argjson processor "$cpu" \
    '{command: "make bench", cpu: $cpu, cores: $cores, windlass: {count: $count, per_second: $rate, overhead_ms: (1000 / $rate),
      processor_ms: $processor}, dask: .}' "$work/dask.json" >build/bench/dispatch.json
