#!/usr/bin/env bash
# scorer.endpoint while worker, model server and coordinator are killed with -9 in turn: each request of a batch file has one
# answer, in order. Asked again is what was in flight at a worker or a server that died, and what was answered in the last second
# of a coordinator.
#   SOAK_ROUNDS: 500 requests each, a kill for each 50,000, 0.01 asked again at most, and 10 s at most without an answer.
#   SOAK_SEED (1)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
. tests/e2e/endpoint/lib.sh
RANDOM=${SOAK_SEED:-1}
kills=6 in_flight=8 count=900 latency=120 apart=60
if [ -n "${SOAK_ROUNDS:-}" ]; then
    count=$((SOAK_ROUNDS * 500)) in_flight=64 latency=20
    kills=$((count / 50000 > 6 ? count / 50000 : 6))
    apart=$((count / (kills + 4))) # on average; all must be before the end
fi
limit=$((count / 100 + 600)) # seconds
trap 'stop_servers; kill "${job:-0}" 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/data"
{ batch "$count" && echo 'not json'; } >"$work/data/requests.jsonl"
start_server model latency=$latency spread=$latency || exit 3
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: ask}
spec:
  input: {table: {path: data/requests.jsonl, format: JSONLines}}
  scorer: {endpoint: {url: 'http://127.0.0.1:$port', concurrency: $in_flight, tries: 20}}
  output: {path: data/out}
  errorThreshold: 1
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
# The longest time without an answer, ms: in $work/pause, when $1 ends.
watch_pauses() {
    local size=0 now since most=0 pause
    since=$(date +%s%3N)
    while kill -0 "$1" 2>/dev/null; do
        now=$(date +%s%3N) pause=$((now - since))
        if [ "$(stat -c %s "$work/model.asked")" != "$size" ]; then
            size=$(stat -c %s "$work/model.asked") since=$now
            if [ "$pause" -gt "$most" ]; then most=$pause; fi
        fi
        echo "$most" >"$work/pause"
        sleep 0.1
    done
}
timeout "$limit" "$windlass" run -f "$work/job.yaml" --workers 2 --state "$work/state" >"$work/said" 2>&1 </dev/null &
job=$!
killed=0 bound=0
until_true_while "$job" 60 more_asked 0
watch_pauses "$job" &
watch=$!
for ((i = 0; i < kills; i++)); do
    until_true_while "$job" "$limit" more_asked $(($(asked) + apart / 2 + RANDOM % apart)) || break
    # Each slot has one request in flight; a worker has an eighth more of them.
    bound=$((bound + in_flight * 9 / 8 + 1))
    case $((i % 3)) in
    0)
        before=$(asked)
        sleep 1
        kill_one WINDLASS_BIND=
        killed_now=$?
        # What the workers have asked for ahead of the dead coordinator's answer is in flight, too.
        bound=$((bound + $(asked) - before + in_flight * 9 / 8 + 1))
        [ $killed_now = 0 ]
        ;;
    1)
        kill -9 "$server_pid"
        wait "$server_pid" 2>/dev/null
        bound=$((bound + in_flight * 9 / 8 + 1)) # of the other worker
        start_server model latency=$latency spread=$latency "port=$port" || exit 3
        ;;
    *) kill_one WINDLASS_COORDINATOR= ;;
    esac && killed=$((killed + 1))
done
wait "$job"
check "the job succeeds after $killed deaths" [ $? = 0 ]
wait "$watch"
check "each was during the run" [ "$killed" = "$kills" ]
check "each request has one answer, in order" in_order "$work/data/out/output.jsonl" "$count"
check "only the invalid line has failed" [ "$(wc -l <"$work/data/out/errors.jsonl")" = 1 ]
check "only the first coordinator has looked for such lines" [ "$(cat "$work"/state/*.log | grep -c '1 of .* lines are invalid requests')" = 1 ]
again=$(asked_again "$work/model")
check "$again of $count were answered again: what was in flight, or in a coordinator's last second ($bound)" [ "$again" -le "$bound" ]
echo "# at most $(cat "$work/pause") ms without an answer"
if [ -n "${SOAK_ROUNDS:-}" ]; then
    check "at most one in a hundred" [ $((again * 100)) -le "$count" ]
    check "another takes over within 10 s" [ "$(cat "$work/pause")" -lt 10000 ]
fi
[ $failures -eq 0 ] || tail -qn 5 "$work/model.log" "$work/said" "$work"/state/*.log | sed 's/^/# /'
exit $((failures > 0))
