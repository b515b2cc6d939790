#!/usr/bin/env bash
# scorer.endpoint while worker, model server and coordinator are killed with -9 in turn: each request of a batch file has one
# answer, in order, and what was committed before a death is not asked again.
#   KILLS (6), SOAK_SEED (1)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
. tests/e2e/endpoint/lib.sh
RANDOM=${SOAK_SEED:-1}
kills=${KILLS:-6}
in_flight=24
count=$((kills * 400))
trap 'stop_servers; kill "${job:-0}" 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/data"
batch "$count" >"$work/data/requests.jsonl"
start_server model latency=30 spread=30 || exit 3
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: ask}
spec:
  input: {table: {path: data/requests.jsonl, format: JSONLines}}
  scorer: {endpoint: {url: 'http://127.0.0.1:$port', concurrency: $in_flight, tries: 20}}
  output: {path: data/out}
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
pods() { # of this test, with this variable
    local file
    for file in $(grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ 2>/dev/null); do
        if grep -qsF "$1" "$file"; then file=${file#/proc/}; echo "${file%/environ}"; fi
    done
}
asked() { wc -l <"$work/model.asked"; }
more_asked() { [ "$(asked)" -gt "$1" ]; }
kill_one() { # VARIABLE
    local victims
    mapfile -t victims < <(pods "$1")
    [ ${#victims[@]} -gt 0 ] && kill -9 "${victims[RANDOM % ${#victims[@]}]}" 2>/dev/null
}
timeout 300 "$windlass" run -f "$work/job.yaml" --workers 2 --state "$work/state" >"$work/said" 2>&1 </dev/null &
job=$!
killed=0
for ((i = 0; i < kills; i++)); do
    until_true_while "$job" 60 more_asked $(($(asked) + 100 + RANDOM % 200)) || break
    case $((i % 3)) in
    0) kill_one WINDLASS_COORDINATOR= ;;
    1)
        kill -9 "$server_pid"
        wait "$server_pid" 2>/dev/null
        start_server model latency=30 spread=30 "port=$port" || exit 3
        ;;
    *) kill_one WINDLASS_BIND= ;;
    esac && killed=$((killed + 1))
done
wait "$job"
check "the job succeeds after $killed deaths" [ $? = 0 ]
check "each was during the run" [ "$killed" = "$kills" ]
check "each request has one answer, in order" in_order "$work/data/out/output.jsonl" "$count"
check "none has failed" [ ! -s "$work/data/out/errors.jsonl" ]
again=$(asked_again "$work/model")
check "$again of $count were answered again: what was in flight or a second old" \
    [ "$again" -le $((kills * (2 * in_flight + 2 * in_flight * 1000 / 45))) ]
[ $failures -eq 0 ] || tail -qn 5 "$work/said" "$work"/state/*.log | sed 's/^/# /'
exit $((failures > 0))
