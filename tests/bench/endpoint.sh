#!/usr/bin/env bash
# Requests of 1 KB to a model server in C (tests/endpoint/model_server.c), one worker: how many of what the server could answer are
# answered, and what each costs, beside `curl --parallel` with the same server in the same run. Goals: with 100 ms of latency and 512 in
# flight 0.95 of 5,120 a second; with 1 ms and 64 in flight 8,000 a second and 0.15 ms of our processors each (all processes of the
# job, from its start to its end); under 128 MiB in the worker.
#   COUNT=1000000: requests at 100 ms, and at 1 ms; CURL=50000: those of curl; ONLY='^1 ms': rows whose names match
# Prints a table, writes build/bench/endpoint.json.
set -eu
cd "$(dirname "$0")/../.."
. tests/bench/jobs.bash
: "${COUNT:=1000000}" "${CURL:=50000}" "${ONLY:=}"
make --no-print-directory build/windlass build/windlass-agent build/tests/endpoint/model_server
mkdir -p build/bench
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
filler=$(printf 'x%.0s' $(seq 850))
body='{"model":"m","messages":[{"role":"system","content":"'$filler'"},{"role":"user","content":"q"}]}'
echo "$body" >"$work/body"
mkdir -p "$work/data"
awk -v n="$COUNT" -v body="$body" 'BEGIN { for (i = 0; i < n; i++)
    printf "{\"custom_id\":\"id-%d\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":%s}\n", i, body }' >"$work/data/requests.jsonl"
start_server() { # LATENCY
    if [ -n "$server" ]; then
        kill "$server"
        wait "$server" || true
        server=
    fi
    rm -f "$work/port" # the shell opens the new one in the background: the old one's port would be read
    build/tests/endpoint/model_server "latency=$1" >"$work/port" &
    server=$!
    until [ -s "$work/port" ]; do sleep 0.05; done
    port=$(cat "$work/port")
}
ticks() { awk '{ print $14 + $15 }' "/proc/$server/stat"; }
each_ms() { awk -v s="$1" -v n="$2" 'BEGIN { printf "%.4f", s * 1000 / n }'; }
# A process and all below it.
family() { # PID
    local child
    echo "$1"
    for child in $(pgrep -P "$1"); do family "$child"; done
}
# Until the job ends, the largest memory of its worker, MiB.
watch_worker() {
    local most=0 pid now
    while kill -0 "$1" 2>/dev/null; do
        for pid in $(family "$1"); do
            grep -qsF WINDLASS_COORDINATOR= "/proc/$pid/environ" || continue
            now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) || now=
            if [ "${now:-0}" -gt "$most" ]; then most=$now; fi
        done
        sleep 0.5
    done
    [ "$most" -gt 0 ] || { echo "endpoint.sh: no worker was seen" >&2; return 1; }
    echo $((most >> 10))
}
rows=()
row() { printf '%-52s %10s %12s %12s %8s\n' "$@"; }
# job NAME LATENCY IN_FLIGHT MORE
job() {
    [[ $1 =~ $ONLY ]] || return 0
    local TIMEFORMAT='%U %S' seconds rate cpu before after memory
    start_server "$2"
    rm -rf "$work/data/out" "$work/state"
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: bench}
spec:
  input: {table: {path: data/requests.jsonl, format: JSONLines}}
  scorer: {endpoint: {url: "http://127.0.0.1:$port", concurrency: $3}}
  output: {path: data/out}
  $4
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    before=$(ticks)
    { time build/windlass run -f "$work/job.yaml" --workers 1 --state "$work/state" >"$work/log" 2>&1; } 2>"$work/times" &
    local job=$!
    memory=$(watch_worker "$job") || exit 1
    wait "$job" || { tail -20 "$work/log" >&2; exit 1; }
    after=$(ticks)
    [ "$(jq .requests.answers "$work/data/out/summary.json")" = "$COUNT" ] || { echo "endpoint.sh: not $COUNT answers" >&2; exit 1; }
    seconds=$(scorer_seconds "$work/data")
    rate=$(awk -v n="$COUNT" -v s="$seconds" 'BEGIN { printf "%.0f", n / s }')
    cpu=$(each_ms "$(awk '{ print $1 + $2 }' "$work/times")" "$COUNT")
    row "$1" "$rate" "$cpu" "$(each_ms "$(awk -v t=$((after - before)) -v h="$(getconf CLK_TCK)" 'BEGIN { print t / h }')" "$COUNT")" "$memory"
    rows+=("$(jq -nc --arg name "$1" --argjson rate "$rate" --argjson ms "$cpu" --argjson mib "$memory" \
        '{name: $name, per_second: $rate, processor_ms: $ms, worker_mib: $mib}')")
}
# by_curl NAME LATENCY IN_FLIGHT: with 300 in flight at most
by_curl() {
    [[ $1 =~ $ONLY ]] || return 0
    local TIMEFORMAT='%R %U %S' before after
    start_server "$2"
    before=$(ticks)
    { time curl -s --parallel --parallel-immediate --parallel-max "$3" -H 'Content-Type: application/json' --data-binary "@$work/body" \
        -o /dev/null "http://127.0.0.1:$port/v1/chat/completions?[1-$CURL]" 2>"$work/log"; } 2>"$work/times" ||
        { tail -n 3 "$work/log" >&2; exit 1; }
    after=$(ticks)
    local rate cpu
    rate=$(awk -v n="$CURL" '{ printf "%.0f", n / $1 }' "$work/times")
    cpu=$(each_ms "$(awk '{ print $2 + $3 }' "$work/times")" "$CURL")
    row "$1" "$rate" "$cpu" "$(each_ms "$(awk -v t=$((after - before)) -v h="$(getconf CLK_TCK)" 'BEGIN { print t / h }')" "$CURL")" ""
    rows+=("$(jq -nc --arg name "$1" --argjson rate "$rate" --argjson ms "$cpu" '{name: $name, per_second: $rate, processor_ms: $ms}')")
}
row "$COUNT requests of 1 KB, $(nproc) processors" "a second" "ours, ms" "server's, ms" "MiB"
job "100 ms, 512 in flight" 100 512 ""
job "100 ms, 512 in flight, miniBatchSize: 8KB" 100 512 'miniBatchSize: 8KB'
by_curl "100 ms, curl --parallel, 300 in flight" 100 300
job "1 ms, 64 in flight, miniBatchSize: 64KB" 1 64 'miniBatchSize: 64KB'
by_curl "1 ms, curl --parallel, 64 in flight" 1 64
printf '%s\n' "${rows[@]}" | jq -s --arg cpu "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)" --argjson cores "$(nproc)" \
    --argjson count "$COUNT" --argjson curl "$CURL" '{command: "make bench", cpu: $cpu, cores: $cores, count: $count, curl: $curl, rows: .}' \
    >build/bench/endpoint.json
