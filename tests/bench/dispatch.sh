#!/usr/bin/env bash
# Mini-batches a second through the coordinator and two workers with an empty scorer (SummaryOnly, commits on, over
# TLS) beside dask.distributed, which does as many calls of an empty function with two workers, on this machine, by turns.
#   COUNT=20000: so many of each; ROUNDS=2
# Prints a table, writes build/bench/dispatch.json. Our side comes with the coordinator on the commit log
# (docs/batchscore-plan.md, step 15); until then dask's is printed alone, and nothing is compared.
set -eu
cd "$(dirname "$0")/../.."
: "${COUNT:=20000}"
mkdir -p build/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "dask.distributed, $COUNT calls of an empty function, its ways one after the other:"
# Debian's python, which has Debian's packages, whatever else is called python3 here.
/usr/bin/python3 tests/bench/dispatch_dask.py "$COUNT" "$work/dask.json"
printf '\n%-44s %14s %14s\n' "mini-batches of nothing, 2 workers" "a second" "ms for each"
printf '%-44s %14s %14s\n' "dask.distributed, TCP" "$(jq .per_second "$work/dask.json")" "$(jq .overhead_ms "$work/dask.json")"
printf '%-44s %14s\n' "dask.distributed, TLS" "$(jq .tls_per_second "$work/dask.json")"
jq --arg cpu "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)" --argjson cores "$(nproc)" \
    '{command: "make bench", cpu: $cpu, cores: $cores, dask: .}' "$work/dask.json" >build/bench/dispatch.json
