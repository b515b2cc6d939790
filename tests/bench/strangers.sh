#!/usr/bin/env bash
# What connections without the token cost a coordinator: mini-batches a second with and without a flood, by turns, and
# how long a page (a probe) takes meanwhile. The coordinator and two workers are on one machine, the flood and the
# probes on others (network namespaces, as root); the coordinator and the probes run before all other programs. Goals: 0.9 of quiet; every page within 100 ms; memory as without.
#   ROUNDS=3: pairs of runs; COUNT=20000: connections of a flood; ITEMS=60000: mini-batches of one empty file
#   AGENT=build/windlass-agent: the program; OTHER: another commit's, which takes its turns with it
# Prints a table, writes build/bench/strangers.json.
set -eu
cd "$(dirname "$0")/../.."
. tests/netns.bash
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
. tests/bench/jobs.bash
: "${ROUNDS:=3}" "${COUNT:=20000}" "${ITEMS:=60000}" "${AGENT:=build/windlass-agent}" "${OTHER:=}"
net_possible || { echo "strangers.sh: network namespaces want root" >&2; exit 3; }
make --no-print-directory build/tests/bench/scorer
mkdir -p build/bench
agents=([0]="$(realpath "$AGENT")")
[ -z "$OTHER" ] || agents[1]=$(realpath "$OTHER")
scorer=$(realpath build/tests/bench/scorer)
work=$(mktemp -d)
pids=()
finish() {
    kill -9 "${pids[@]}" 2>/dev/null || true
    net_down
    rm -rf "$work"
}
trap finish EXIT
net_up 3 none
addresses=()
for i in $(seq 101 140); do
    ip -n "$net_prefix-3" addr add "10.77.0.$i/24" dev eth0
    addresses+=("10.77.0.$i")
done
mkfifo "$work/hold" # what keeps a flood's connections open
make_certificate "$work"
folder_of_files "$work/data/in" "$ITEMS"
spec_schema crds/batchscore.yaml "$work/schema.json"
spec=$(fill_spec "$work/schema.json" "$(jq -cn --arg scorer "$scorer" '{input: {files: {path: "data/in"}}, miniBatchSize: 1,
    scorer: {command: {command: [$scorer, "0", "0"]}}, output: {path: "out", mode: "SummaryOnly"}}')")
pod() { # NAME COMMAND NICE
    nsenter --net="/run/netns/$net_prefix-1" -- env data="$work/data" out="$work/out" WINDLASS_JOB=strangers \
        WINDLASS_RUN=0123456789abcdef WINDLASS_UID=uid WINDLASS_SPEC="$spec" WINDLASS_TOKEN=secret WINDLASS_WORKER="$1" \
        WINDLASS_THREADS=1 WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" \
        WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_BIND=10.77.0.1:8443 WINDLASS_COORDINATOR=10.77.0.1:8443 \
        WINDLASS_COORDINATOR_SHA256="$sha256" WINDLASS_TERMINATION_LOG="$work/$1.words" nice -n "$3" "$agent" "$2" >"$work/$1.log" 2>&1 &
    pids+=($!)
}
probe() { # milliseconds that a page took, every 20 ms, until $work/over
    while [ ! -e "$work/over" ]; do
        net_run 2 nice -n -15 python3 tests/e2e/security/probe.py https 10.77.0.1 8443 50 >>"$1"
    done
}
# run NAME [flood]: one job of $agent; adds "rate memory_kb" to $work/NAME
run() {
    local probing
    rm -rf "$work/out" "$work/over"
    mkdir "$work/out"
    pids=()
    pod coordinator coordinate -15
    sleep 1
    [ "$#" = 1 ] || {
        nsenter --net="/run/netns/$net_prefix-3" -- python3 tests/e2e/security/flood.py 10.77.0.1:8443 "$COUNT" "${addresses[@]}" \
            <"$work/hold" >"$work/flood.log" &
        exec 8>"$work/hold"
        sleep 1
    }
    pod first score 0
    pod second score 0
    probe "$work/$1.probes" &
    probing=$!
    local kb=0
    while kill -0 "${pids[0]}" 2>/dev/null; do
        kb=$(awk '/VmHWM/ { print $2 }' "/proc/${pids[0]}/status" 2>/dev/null || true) && [ -z "$kb" ] || last_kb=$kb
        sleep 0.2
    done
    touch "$work/over"
    wait "$probing" "${pids[@]}"
    exec 8>&-
    ip netns pids "$net_prefix-3" | xargs -r kill -9
    [ "$(jq .items.done "$work/out/summary.json")" = "$ITEMS" ] || { echo "strangers.sh: rows are missing" >&2; exit 1; }
    awk -v n="$ITEMS" -v s="$(scorer_seconds "$work")" -v kb="$last_kb" 'BEGIN { printf "%.0f %d\n", n / s, kb }' >>"$work/$1"
}
last_kb=0
for _ in $(seq "$ROUNDS"); do
    for which in "${!agents[@]}"; do
        agent=${agents[which]}
        run "quiet-$which"
        run "flooded-$which" flood
        cat "$work/flood.log"
    done
done
median() { sort -n "$1" | sed -n "$(((ROUNDS + 1) / 2))p"; }
slowest() { awk '$1 == 200 { print $2 }' "$1" | sort -n | awk '{ v[NR] = $1 } END { printf "%.0f %.0f %d\n", v[int((NR + 1) / 2)], v[NR], NR }'; }
failures_of() { awk '$1 != 200' "$1" | wc -l; } # the last probe of a run may find the coordinator gone
row() { printf '%-44s %12s %12s %12s\n' "$@"; }
# table WHICH: sets the figures that the file gets, too
table() {
    read -r quiet quiet_kb < <(median "$work/quiet-$1")
    read -r flooded flooded_kb < <(median "$work/flooded-$1")
    read -r quiet_ms quiet_max probes < <(slowest "$work/quiet-$1.probes")
    read -r flooded_ms flooded_max flooded_probes < <(slowest "$work/flooded-$1.probes")
    echo "${agents[$1]}"
    row "$COUNT connections from 40 addresses" quiet flooded ratio
    row "mini-batches a second" "$quiet" "$flooded" "$(awk "BEGIN { printf \"%.2f\", $flooded / $quiet }")"
    row "a page, ms, median" "$quiet_ms" "$flooded_ms" ""
    row "a page, ms, slowest of $probes and $flooded_probes" "$quiet_max" "$flooded_max" ""
    row "pages without an answer" "$(failures_of "$work/quiet-$1.probes")" "$(failures_of "$work/flooded-$1.probes")" ""
    row "memory of the coordinator, KiB" "$quiet_kb" "$flooded_kb" ""
}
[ -z "$OTHER" ] || table 1
table 0
jq -n --argjson quiet "$quiet" --argjson flooded "$flooded" --argjson page "$flooded_max" --argjson kb "$flooded_kb" \
    '{command: "make bench", quiet_per_second: $quiet, flooded_per_second: $flooded, slowest_page_ms: $page, kib: $kb}' >build/bench/strangers.json
