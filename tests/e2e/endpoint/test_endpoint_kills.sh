#!/usr/bin/env bash
# scorer.endpoint while coordinator, model server, worker, a node (coordinator and worker in one moment) and `windlass run`
# itself, with all that it has started, are killed with -9 in turn: each request of a batch file has one answer, in order. Asked
# again is what was in flight at a worker or a server that died, and what was answered in the last second of a coordinator. What
# workers have asked that died before or with a coordinator still counts.
#   SOAK_ROUNDS: 500 requests each, a kill for each 50,000, 0.01 asked again at most, and 10 s at most without an answer.
#   SOAK_SEED (1)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
. tests/e2e/endpoint/lib.sh
RANDOM=${SOAK_SEED:-1}
kills=6 in_flight=8 count=1100 latency=120 apart=60
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
kill_one() { # VARIABLE...: one process of each, in one moment
    local variable victims all=()
    for variable in "$@"; do
        mapfile -t victims < <(pods "$variable")
        [ ${#victims[@]} -gt 0 ] || return 1
        all+=("${victims[RANDOM % ${#victims[@]}]}")
    done
    kill -9 "${all[@]}" 2>/dev/null
}
looks() { cat "$work"/state/*.log | grep -c '1 of .* lines are invalid requests'; }
begin() { # once more: another job, which goes on
    timeout "$limit" "$windlass" run -f "$work/job.yaml" --workers 2 --state "$work/state" >>"$work/said" 2>&1 </dev/null &
    job=$!
}
# Kills the coordinator and the processes of the other VARIABLEs; adds to $bound what may be asked again. Besides what a dead
# worker has in flight, that is what was answered in the last second, and what workers ask for ahead meanwhile.
kill_coordinator() {
    local before
    before=$(asked)
    sleep 1
    kill_one WINDLASS_BIND= "$@" || return
    bound=$((bound + $(asked) - before + in_flight * 9 / 8 + 1))
}
# The longest time without an answer, ms: in $work/pause, until $work/over is there.
watch_pauses() {
    local size=0 now since most=0 pause
    since=$(date +%s%3N)
    until [ -e "$work/over" ]; do
        now=$(date +%s%3N) pause=$((now - since))
        if [ "$(stat -c %s "$work/model.asked")" != "$size" ]; then
            size=$(stat -c %s "$work/model.asked") since=$now
            if [ "$pause" -gt "$most" ]; then most=$pause; fi
        fi
        echo "$most" >"$work/pause"
        sleep 0.1
    done
}
looked=
begin
killed=0 bound=0
until_true_while "$job" 60 more_asked 0
watch_pauses &
watch=$!
for ((i = 0; i < kills; i++)); do
    until_true_while "$job" "$limit" more_asked $(($(asked) + apart / 2 + RANDOM % apart)) || break
    # Each slot has one request in flight; a worker has an eighth more of them.
    bound=$((bound + in_flight * 9 / 8 + 1))
    case $((i % 5)) in
    0) kill_coordinator ;;
    1)
        kill -9 "$server_pid"
        wait "$server_pid" 2>/dev/null
        bound=$((bound + in_flight * 9 / 8 + 1)) # of the other worker
        start_server model latency=$latency spread=$latency "port=$port" || exit 3
        ;;
    2) kill_one WINDLASS_COORDINATOR= ;;
    3) kill_coordinator WINDLASS_COORDINATOR= ;;
    *)
        looked=${looked:-$(looks)} before=$(asked)
        sleep 1
        kill -9 "$(pgrep -P "$job")"
        ended=$?
        bound=$((bound + $(asked) - before + in_flight * 9 / 8 + 1)) # of the second worker
        wait "$job"
        begin
        [ $ended = 0 ]
        ;;
    esac && killed=$((killed + 1))
done
wait "$job"
check "the job succeeds after $killed deaths" [ $? = 0 ]
: >"$work/over"
wait "$watch"
check "each was during the run" [ "$killed" = "$kills" ]
check "each request has one answer, in order" in_order "$work/data/out/output.jsonl" "$count"
check "only the invalid line has failed" [ "$(wc -l <"$work/data/out/errors.jsonl")" = 1 ]
check "only the first coordinator of a job has looked for such lines" [ "${looked:-$(looks)}" = 1 ]
again=$(asked_again "$work/model")
told=$(jq .requests.answers "$work/data/out/summary.json") answered=$(asked)
# (A worker reports each second, and what it has not reported when it dies is lost. Without earlier coordinators' it is half.)
check "summary.json counts most of the $answered answers, also those of the dead ($told)" [ $((told * 10)) -gt $((answered * 7)) -a "$told" -le "$answered" ]
check "$again of $count were answered again: what was in flight, or in a coordinator's last second ($bound)" [ "$again" -le "$bound" ]
echo "# at most $(cat "$work/pause") ms without an answer"
if [ -n "${SOAK_ROUNDS:-}" ]; then
    check "at most one in a hundred" [ $((again * 100)) -le "$count" ]
    check "another takes over within 10 s" [ "$(cat "$work/pause")" -lt 10000 ]
fi
[ $failures -eq 0 ] || tail -qn 5 "$work/model.log" "$work/said" "$work"/state/*.log | sed 's/^/# /'
exit $((failures > 0))
