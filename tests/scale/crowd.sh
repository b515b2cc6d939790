#!/usr/bin/env bash
# One coordinator and thousands of workers (crowd.c: real connections and messages, no scorers) on this machine:
#   crowd.sh [WORKERS [ITEMS [STEP_MS [SIZE]]]]
#   WORKERS=1000  ITEMS=200000: empty files  STEP_MS=100: how long a mini-batch takes  SIZE=1: its files
#   KILL=yes: three seconds after all are connected, the coordinator is killed with -9, and another one takes over
#   FORM=rows: ITEMS rows of a CSV of 8 bytes each instead of files; SIZE is then bytes, 4096 or more
# Prints: name, tab, value, a line each. Exit code 1: rows are missing or counted twice.
set -eu
cd "$(dirname "$0")/../.."
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
. tests/bench/jobs.bash
unit=miniBatchSize workers=${1:-1000} items=${2:-200000} step_ms=${3:-100} size=${4:-1}
build=${BUILD:-build}
make --no-print-directory BUILD="$build" "$build/tests/scale/crowd" >/dev/null
agent=$(realpath "$build/windlass-agent")
work=$(mktemp -d)
pid= crowd=
finish() { # (either may have ended by itself)
    kill -9 ${pid:+"$pid"} ${crowd:+"$crowd"} 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT
make_certificate "$work"
mkdir -p "$work/data" "$work/out"
if [ "${FORM:-files}" = files ]; then
    folder_of_files "$work/data/in" "$items"
    input='{files: {path: "data/in"}}'
else
    python3 - "$items" >"$work/data/in.csv" <<'P'
import sys
count, piece = int(sys.argv[1]), 100000
sys.stdout.write("numbers\n")
for first in range(0, count, piece):
    sys.stdout.write("1234567\n" * min(piece, count - first))
P
    input='{table: {path: "data/in.csv"}}' unit=miniBatchBytes # as windlass passes on "4KB"
fi
spec_schema crds/batchscore.yaml "$work/schema.json"
spec=$(fill_spec "$work/schema.json" "$(jq -cn --argjson size "$size" "{input: $input, $unit: \$size, workers: {min: 1, max: 1000},
    scorer: {command: {command: [\"true\"]}}, output: {path: \"out\", mode: \"SummaryOnly\"}}")")
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start() {
    env data="$work/data" out="$work/out" WINDLASS_JOB=crowd WINDLASS_RUN=0123456789abcdef WINDLASS_UID=uid \
        WINDLASS_SPEC="$spec" WINDLASS_TOKEN=secret WINDLASS_WORKER=coordinator WINDLASS_THREADS=1 WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" \
        WINDLASS_TLS_KEY="$(cat "$work/key.pem")" WINDLASS_BIND=127.0.0.1:$port WINDLASS_COORDINATOR=127.0.0.1:$port WINDLASS_COORDINATOR_SHA256=$sha256 \
        WINDLASS_TERMINATION_LOG="$work/words" "$agent" coordinate >>"$work/log" 2>&1 &
    pid=$!
}
memory() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$pid/status" 2>/dev/null; }
processor() { awk '{ print $14 + $15 }' "/proc/$pid/stat" 2>/dev/null; }
figure() { printf '%s\t%s\n' "$1" "$2"; }
: >"$work/log"
begun=$(date +%s%N)
start
# What the list of items takes, before anybody connects.
for _ in $(seq 3000); do
    grep -q 'listed\|mini-batches' "$work/log" && break
    kill -0 "$pid" 2>/dev/null || { tail -3 "$work/log" >&2; exit 1; }
    sleep 0.05
done
sleep 1
empty_kb=$(memory VmRSS)
WINDLASS_TOKEN=secret "$build/tests/scale/crowd" "127.0.0.1:$port" "$workers" "$step_ms" "$sha256" >"$work/crowd" 2>"$work/crowd.err" &
crowd=$!
high=0 full_kb= ticks=0 killed=
while kill -0 "$crowd" 2>/dev/null && kill -0 "$pid" 2>/dev/null; do
    kb=$(memory VmHWM) && [ -n "$kb" ] && high=$kb
    tick=$(processor) && [ -n "$tick" ] && ticks=$tick
    line=$(tail -1 "$work/crowd")
    if [ -z "$full_kb" ] && [ "$(jq '.open' <<<"${line:-null}")" = "$workers" ]; then
        full_kb=$(memory VmRSS) full_at=$(jq '.second | floor' <<<"$line")
    fi
    if [ "${KILL:-}" = yes ] && [ -n "$full_kb" ] && [ -z "$killed" ] && [ "$(jq '.second | floor' <<<"$line")" -ge $((full_at + 3)) ]; then
        kill -9 "$pid"
        wait "$pid" 2>/dev/null || true # its exit code is that of the kill
        killed=$(jq .second <<<"$line")
        start
    fi
    sleep 0.2
done
if kill -0 "$pid" 2>/dev/null; then # the crowd has ended first: as each has got its message, or by a fault
    wait "$crowd" || { echo "crowd.sh: the workers have ended" >&2; cat "$work/crowd.err" >&2; exit 1; }
fi
wait "$pid" || { cat "$work/crowd.err" "$work/words" >&2; exit 1; }
pid=
# Those that were not there at the end do not learn of it.
kill "$crowd" 2>/dev/null || true # it ends by itself where each worker got its message
crowd=
done=$(jq .items.done "$work/out/summary.json")
figure "workers" "$workers"
figure "items" "$done"
figure "mini-batches" "$(jq .miniBatches.total "$work/out/summary.json")"
figure "seconds until all were connected" "$(jq -s --argjson n "$workers" 'map(select(.open == $n)) | first | .second' "$work/crowd")"
# The best ten seconds: neither connecting nor the end.
figure "mini-batches a second, best 10 s" "$(jq -s '[range(10; length) as $i | (.[$i].leases - .[$i - 10].leases) / (.[$i].second - .[$i - 10].second)] | max // 0 | floor' "$work/crowd")"
figure "mini-batches a second, all" "$(jq -s 'last | .leases / .second | floor' "$work/crowd")"
figure "memory of the coordinator without workers, KiB" "$empty_kb"
figure "memory with all of them, KiB" "${full_kb:-none}"
figure "KiB a worker" "$(awk "BEGIN { print ${full_kb:-0} ? (${full_kb:-0} - $empty_kb) / $workers : \"none\" }")"
figure "most memory, KiB" "$high"
figure "processor of the coordinator, s" "$(awk "BEGIN { print $ticks / $(getconf CLK_TCK) }")"
[ "${KILL:-}" != yes ] || [ -n "$killed" ] || { echo "crowd.sh: the job ended before the coordinator was killed" >&2; exit 1; }
[ -z "$killed" ] || figure "seconds from the kill until all were back" "$(jq -s --argjson n "$workers" --argjson at "$killed" 'map(select(.second > $at + 1 and .open == $n)) | first | if . then .second - $at else "none" end' "$work/crowd")"
figure "seconds of all" "$(awk "BEGIN { printf \"%.1f\", ($(date +%s%N) - $begun) / 1e9 }")"
[ "$done" = "$items" ] || { echo "crowd.sh: $done of $items items are done" >&2; exit 1; }
