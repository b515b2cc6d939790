#!/usr/bin/env bash
# What running jobs whose figures move all the time cost the API server: the controller's writes a second for all of them,
# its other requests, and its processor time. A real API server 1.20; tests/cluster/coordinators.py plays pods and
# coordinators. Needs root: the addresses of the Services become this machine's.
#   JOBS=1000 SECONDS_MEASURED=120
#   MOST=40    fails above so many writes a second
set -eu
cd "$(dirname "$0")/../.."
: "${JOBS:=1000}" "${SECONDS_MEASURED:=120}" "${MOST:=40}"
# shellcheck source=tests/e2e/lib.sh
. tests/e2e/lib.sh
# shellcheck source=tests/e2e/cluster/jobs.sh
. tests/e2e/cluster/jobs.sh
services=10.96.0.0/16
ip route add local $services dev lo
trap 'cleanup; ip route del local $services dev lo' EXIT
"$kubectl" create namespace running >/dev/null
controller one --no-leader-election --namespace running
python3 tests/cluster/coordinators.py "$api" running &
python3 tests/bench/load.py "$api" batchscores running "$JOBS" running
moves() { [ "$("$kubectl" get bs -n running -o json | jq '[.items[] | select(.status.items.done > 0)] | length')" -eq "$JOBS" ]; }
within 600 moves || { echo "status_writes.sh: not all jobs run" >&2; exit 1; }
sleep 30 # the first figures of all are written
requests() { page "$port" /metrics | awk -v of="$1" '/^windlass_apiserver_requests_total/ { w = !/verb="(watch|list|get)"/ } /^windlass_apiserver_requests_total/ && w == (of == "writes") { n += $2 } END { printf "%d", n }'; }
busy_ms() { cat /proc/$pid/task/*/schedstat | awk '{ n += $1 } END { printf "%.0f", n / 1e6 }'; }
writes=$(requests writes) others=$(requests others) busy=$(busy_ms)
sleep "$SECONDS_MEASURED"
writes=$(($(requests writes) - writes)) others=$(($(requests others) - others)) busy=$(($(busy_ms) - busy))
awk -v n="$JOBS" -v s="$SECONDS_MEASURED" -v w=$writes -v o=$others -v b=$busy -v most="$MOST" 'BEGIN {
    printf "%d running jobs: %.1f writes and %.1f other requests a second for all, %.1f %% of a processor\n", n, w / s, o / s, b / s / 10
    exit w / s > most }'
