#!/usr/bin/env bash
# Sums of 100 MB among 4 ranks: the reducer, with the buckets of training, against one MPI_Allreduce in place of the
# same bytes, alternating in one run (tests/bench/allreduce.c). Goal: 0.97 of the plain call's rate.
#   RANKS=4 MEGABYTES=100 ROUNDS=20
# Prints a table, writes build/bench/allreduce.json. With more ranks than processors the figures mean little.
set -eu
cd "$(dirname "$0")/../.."
: "${RANKS:=4}" "${MEGABYTES:=100}" "${ROUNDS:=20}"
make --no-print-directory build/tests/bench/allreduce
mkdir -p build/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work
load=$(cut -d' ' -f1 /proc/loadavg)
mpirun --oversubscribe --bind-to none -np "$RANKS" build/tests/bench/allreduce "$MEGABYTES" "$ROUNDS" >"$work/times"
# Medians over all rounds, and the ratio of each round, which shows the noise from the machine's other work.
jq --arg cpu "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)" --argjson cores "$(nproc)" --arg load "$load" '
    def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
    . + {command: "tests/bench/allreduce.sh", cpu: $cpu, cores: $cores, load_before: ($load | tonumber),
         reducer_ms: (.reducer_seconds | median * 1e3), plain_ms: (.plain_seconds | median * 1e3),
         ratio: ((.plain_seconds | median) / (.reducer_seconds | median)),
         ratio_by_rounds: ([.plain_seconds, .reducer_seconds] | transpose | map(.[0] / .[1]) | median)}' \
    "$work/times" >build/bench/allreduce.json
jq -r '"\(.bytes / 1e6 | round) MB among \(.ranks) ranks on \(.cores) processors, load \(.load_before) before",
    "", "reducer, \(.buckets) buckets     \(.reducer_ms * 10 | round / 10) ms (best \(.reducer_seconds | min * 1e4 | round / 10))",
    "one MPI_Allreduce      \(.plain_ms * 10 | round / 10) ms (best \(.plain_seconds | min * 1e4 | round / 10))",
    "reducer, of its rate   \(.ratio * 1000 | round / 1000) (median of rounds \(.ratio_by_rounds * 1000 | round / 1000))"' build/bench/allreduce.json
