#!/usr/bin/env bash
# scorer.endpoint while coordinator, model server, worker, a node (coordinator and worker in one moment) and `windlass run`
# itself, with all that it has started, are killed with -9 in turn: each request of a batch file has one answer, in order. Asked
# again is what was in flight at a worker or a server that died, and what was answered in the last second of a coordinator. What
# workers have asked that died before or with a coordinator still counts.
# Prints each pause of over a second, with what died before it and what the logs say.
#   SOAK_ROUNDS: 500 requests each, a kill for each 50,000 (6 at least), 0.01 asked again at most (of a kill for each 50,000),
#   10 s at most without an answer, 128 MiB in a worker.
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
is_gone() { [ -z "$(pods WINDLASS_)" ]; }
asked() { wc -l <"$work/model.asked"; }
more_asked() { [ "$(asked)" -gt "$1" ]; }
commits() { find "$work"/data/out/.windlass/*/commit -type f 2>/dev/null | wc -l; }
more_commits() { [ "$(commits)" -gt "$1" ]; }
now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
kill_one() { # VARIABLE...: one process of each, in one moment
    local variable victims all=()
    for variable in "$@"; do
        mapfile -t victims < <(pods "$variable")
        [ ${#victims[@]} -gt 0 ] || return 1
        all+=("${victims[RANDOM % ${#victims[@]}]}")
    done
    note_death "$*" && kill -9 "${all[@]}" 2>/dev/null
}
# A line of $work/deaths: the time, ms; how many were answered; what dies now.
note_death() { echo "$(now_ms) $(asked) $*" | sed 's/WINDLASS_BIND=/coordinator/; s/WINDLASS_COORDINATOR=/worker/' >>"$work/deaths"; }
looks() { cat "$work"/state/*.log | grep -c '1 of .* lines are invalid requests'; }
begin() { # once more: another job, which goes on
    begins=$((begins + 1)) committed=$(commits)
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
# Until $work/over is there: the times without an answer, over 300 ms, in $work/pauses: START LENGTH, ms; and the largest memory of
# a worker, KiB, in $work/memory.
watch() {
    local size=0 next now since most=0 looked=0 pid kib
    since=$(now_ms)
    until [ -e "$work/over" ]; do
        now=$(now_ms) next=$(stat -c %s "$work/model.asked")
        if [ "$next" != "$size" ]; then
            if [ $((now - since)) -gt 300 ]; then echo "$since $((now - since))" >>"$work/pauses"; fi
            size=$next since=$now
        fi
        if [ $((now - looked)) -gt 2000 ]; then
            looked=$now
            for pid in $(pods WINDLASS_COORDINATOR=); do
                kib=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null)
                if [ "${kib:-0}" -gt "$most" ]; then most=$kib; fi
            done
            echo "$most" >"$work/memory"
        fi
        nap 0.1
    done
}
longest() { sort -k2n "$work/pauses" 2>/dev/null | awk 'END { print $2 + 0 }'; }
# Each pause of over a second: the deaths from two seconds before it to its end, and what the job's processes said meanwhile.
tell_pauses() {
    local start length
    while read -r start length; do
        [ "$length" -gt 1000 ] || continue
        echo "# $length ms without an answer"
        awk -v a="$start" -v n="$length" '$1 > a - 2000 && $1 < a + n { at = $1 - a; $1 = $2 = ""; print "#   " at " ms: death of" $0 }' "$work/deaths"
        cat "$work"/state/*.log | sort | awk -v a="$(date -u -d "@$((start / 1000))" +%FT%TZ)" \
            -v b="$(date -u -d "@$(((start + length) / 1000))" +%FT%TZ)" '$1 >= a && $1 <= b' | cut -c 1-160 | uniq | head -n 20 | sed 's/^/#   /'
    done <"$work/pauses"
}
# What was answered a second time after the deaths of each kind, until the next death.
tell_deaths() {
    awk 'NR == FNR { n++; at[n] = $2; $1 = $2 = ""; kind[n] = $0; next }
        { while (d < n && at[d + 1] < FNR) { d++ } if (seen[$0]++) { again[d]++ } }
        END { for (i = 1; i <= n; i++) { k = kind[i]; count[k]++; sum[k] += again[i]; if (again[i] > most[k]) { most[k] = again[i] } }
            for (k in count) { print "# death of" k ": " count[k] ", " sum[k] " answered again, at most " most[k] + 0 } }' \
        "$work/deaths" "$work/model.asked"
}
begins=0
: >"$work/deaths" >"$work/pauses"
begin
killed=0 bound=0
until_true_while "$job" 60 more_asked 0
watch &
watch=$!
for ((i = 0; i < kills; i++)); do
    until_true_while "$job" "$limit" more_asked $(($(asked) + apart / 2 + RANDOM % apart)) || break
    until_true_while "$job" 60 more_commits $((committed + 1)) # its claim, and results
    # Each slot has one request in flight; a worker has an eighth more of them.
    bound=$((bound + in_flight * 9 / 8 + 1))
    case $((i % 5)) in
    0) kill_coordinator ;;
    1)
        note_death model server
        kill -9 "$server_pid"
        wait "$server_pid" 2>/dev/null
        bound=$((bound + in_flight * 9 / 8 + 1)) # of the other worker
        start_server model latency=$latency spread=$latency "port=$port" || exit 3
        ;;
    2) kill_one WINDLASS_COORDINATOR= ;;
    3) kill_coordinator WINDLASS_COORDINATOR= ;;
    *)
        before=$(asked)
        sleep 1
        note_death windlass
        kill -9 "$(pgrep -P "$job")"
        ended=$?
        bound=$((bound + $(asked) - before + in_flight * 9 / 8 + 1)) # of the second worker
        wait "$job"
        until_true 60 is_gone # with all that it had started: a run of the same output is refused
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
check "only the first coordinator of each job has looked for such lines" [ "$(looks)" = $begins ]
again=$(asked_again "$work/model")
told=$(jq .requests.answers "$work/data/out/summary.json") answered=$(asked)
# (A worker reports each second, and what it has not reported when it dies is lost. Without earlier coordinators' it is half.)
check "summary.json counts most of the $answered answers, also those of the dead ($told)" [ $((told * 10)) -gt $((answered * 7)) -a "$told" -le "$answered" ]
check "$again of $count were answered again: what was in flight, or in a coordinator's last second ($bound)" [ "$again" -le "$bound" ]
echo "# at most $(longest) ms without an answer; $(cat "$work/memory") KiB in a worker; $again asked again after $killed deaths"
tell_deaths
tell_pauses
if [ -n "${SOAK_ROUNDS:-}" ]; then
    check "at most one in a hundred, with a death for each 50,000" [ $((again * 100)) -le $((count > kills * 50000 ? count : kills * 50000)) ]
    check "another takes over within 10 s" [ "$(longest)" -lt 10000 ]
fi
check "a worker takes less than 128 MiB" [ "$(cat "$work/memory")" -lt $((128 << 10)) ]
[ $failures -eq 0 ] || tail -qn 5 "$work/model.log" "$work/said" "$work"/state/*.log | sed 's/^/# /'
exit $((failures > 0))
