#!/usr/bin/env bash
# How much of the sums between 4 machines on 1 Gbit/s is hidden behind computation: ResNet-50's gradients, the reducer
# over the real mpirun, each rank in a network namespace behind tc's tbf (tests/netns.bash). Three variants alternate:
# computation alone (compute), sums after it (off), sums during it (on); hidden = 1 - (on - compute) / (off - compute).
# The computation is a sleep (tests/bench/overlap.c): two processors are too few for four ranks.
#   RANKS=4 RATE=1gbit COMPUTE_MS=1600 ROUNDS=5
#   COMPUTE=spin: processor time instead; RANKS at most half the processors, as the sums need some, too
# Needs root. Prints a table, writes build/bench/overlap.json.
set -eu
cd "$(dirname "$0")/../.."
. tests/netns.bash
: "${RANKS:=4}" "${RATE:=1gbit}" "${COMPUTE_MS:=1600}" "${ROUNDS:=5}" "${COMPUTE:=sleep}"
net_possible || { echo "overlap.sh: skipped: network namespaces want root"; exit 0; }
make --no-print-directory build/tests/bench/overlap trainer
mkdir -p build/bench
work=$(mktemp -d)
trap 'net_down; rm -rf "$work"' EXIT
net_up "$RANKS" "$RATE" || { echo "overlap.sh: no network namespaces with veth and tbf here" >&2; exit 3; }
net_rsh "$work/rsh"
for i in $(seq "$RANKS"); do echo "10.77.0.$i slots=1"; done >"$work/hosts"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$work OMPI_MCA_plm_rsh_agent=$work/rsh
export OMPI_MCA_plm_rsh_no_tree_spawn=1 OMPI_MCA_orte_leave_session_attached=1 OMPI_MCA_hwloc_base_binding_policy=none
mpi() { net_run 1 mpirun --hostfile "$work/hosts" -np "$RANKS" "$@"; }
load=$(cut -d' ' -f1 /proc/loadavg)
mpi "$PWD/build/windlass-trainer" comm check --rounds 3 >"$work/check"
cat "$work/check"
mpi "$PWD/build/tests/bench/overlap" "$COMPUTE_MS" "$ROUNDS" "$COMPUTE" >"$work/times"
jq --argjson cores "$(nproc)" --arg load "$load" --arg rate "$RATE" --arg computing "$COMPUTE" --arg check "$(tail -1 "$work/check" | tr -dc 0-9.)" '
    def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
    . + {command: "tests/bench/overlap.sh", cores: $cores, load_before: ($load | tonumber), rate: $rate,
         computing: $computing, sum_of_100_MB_ms: ($check | tonumber)}
    | . + {compute_ms: (.compute_seconds | median * 1e3), off_ms: (.off_seconds | median * 1e3), on_ms: (.on_seconds | median * 1e3)}
    | . + {hidden: (1 - (.on_ms - .compute_ms) / (.off_ms - .compute_ms))}' "$work/times" >build/bench/overlap.json
jq -r '"", "\(.ranks) ranks on \(.rate), \(.bytes / 1e6 | round) MB in \(.buckets) buckets, \(.cores) processors, load \(.load_before) before; computing is \(.computing)",
    "", "computing alone     \(.compute_ms | round) ms", "sums behind it      \(.off_ms | round) ms", "sums beside it      \(.on_ms | round) ms",
    "hidden              \(.hidden * 1000 | round / 10) %"' build/bench/overlap.json
