#!/usr/bin/env bash
# Jobs that make runs (trigger, schedule, rerun: OnChange): by `windlass run` with real files, and by `windlass
# controller` on a real API server, killed in between, two at once, with a stepped clock (clock.c).
# SOAK_ROUNDS: a hundredth as many rounds of kills, instead of two. SOAK_SEED: chooses their moments.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
namespace=trigger
. tests/e2e/cluster/jobs.sh
RANDOM=${SOAK_SEED:=$RANDOM}
echo "# SOAK_SEED=$SOAK_SEED"
gcc -O1 -shared -fPIC -o "$work/clock.so" tests/e2e/cluster/clock.c || exit 3
export CLOCK_FILE=$work/clock
stepped() { LD_PRELOAD=$work/clock.so "$@"; }
# at TIME: sets the clock.
at() { echo $(($(date -u -d "$1" +%s) - $(date +%s))) >"$CLOCK_FILE.new" && mv "$CLOCK_FILE.new" "$CLOCK_FILE"; }

##### on this machine, while the rest goes on a cluster #########################################
on_this_machine() {
    CLOCK_FILE=$work/clock-here
    here=$work/here
    mkdir -p "$here/code" "$here/data/monday" "$here/data/tuesday"
    cat >"$here/code/score.py" <<'PYTHON'
import json, os, sys
for line in sys.stdin:
    ask = json.loads(line)
    if "init" in ask:
        print('{"ready": true}', flush=True)
    else:
        print(json.dumps({"id": ask["id"], "results": [os.path.basename(i) for i in ask["items"]]}), flush=True)
PYTHON
    # manifest NAME "SPEC LINE"
    manifest() {
        cat >"$here/$1.yaml" <<YAML
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {files: {path: ${3:-data/monday}}}
  scorer: {command: {command: [python3, \$(code)/score.py]}}
  output: {path: data/out-$1, mode: AppendRow}
  workers: {max: 1}
  $2
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
YAML
    }
    # start NAME [COMMAND...]: windlass run in the background; its process in ${runs[NAME]}.
    declare -A runs=()
    start() {
        local name=$1
        shift
        "$@" "$windlass" run -f "$here/$name.yaml" --state "$here/state-$name" >"$here/$name.log" 2>&1 </dev/null &
        runs[$name]=$!
    }
    folders() { ls -d "$here/data/out-$1/runs/"* 2>/dev/null; }
    rows() { cat "$(folders "$1" | sed -n "$2p")/rows.txt" 2>/dev/null | paste -sd' '; }
    has_rows() { [ "$(rows "$1" "$2")" = "$3" ]; }
    logged() { grep -qF -- "$2" "$here/$1.log"; }
    show() { [ $failures -eq "${shown:-0}" ] || { shown=$failures; tail -n 6 "$here/$1.log" "$here/state-$1"/*.log | sed 's/^/# /'; }; }
    touch "$here/data/monday/"{a,b} "$here/data/tuesday/c"

    manifest ready 'trigger: {path: data/READY}'
    manifest fresh 'rerun: OnChange' data/fresh
    manifest nightly 'schedule: {cron: "0 3 * * *", timeZone: Europe/Berlin}'
    mkdir "$here/data/fresh"
    at "2026-03-29 00:59:48" # 03:00 in Berlin comes an hour early: at 01:00 UTC
    start ready
    start fresh
    start nightly stepped
    check "run, schedule: says when the next run is due" within 60 logged nightly "Scheduled: the next run is due at 2026-03-29T01:00:00Z"
    check "run, trigger: says what it waits for" within 60 logged ready "Armed: waits until data/READY is there"
    one_waits() { [ "$(pgrep -cP "${runs[ready]}") $(folders ready | wc -l)" = "1 0" ]; }
    check "run, trigger: one process waits, and nothing is written" within 60 one_waits
    check "run, rerun: an empty input is waited for" within 60 logged fresh "Armed: waits until there is something in the input"
    printf 'data/tuesday\n' >"$here/data/READY.new" && mv "$here/data/READY.new" "$here/data/READY"
    touch "$here/data/fresh/x"
    check "run, schedule: the run comes at its time, into its own folder" within 60 has_rows nightly 1 "a b"
    check "run, schedule: which is named by it" grep -q /20260329T010000Z- <<<"$(folders nightly)"
    check "run, trigger: the text of the trigger names the input" within 60 has_rows ready 1 c
    check "run, trigger: then it waits for another one" within 60 logged ready "Armed: waits until data/READY is written again"
    check "run, rerun: what is there is scored" within 60 has_rows fresh 1 x
    # (Killed before that it would leave a summary of a success without one.)
    is_whole() { [ -e "$(folders nightly)/result.json" ]; }
    check "run, schedule: which is whole" within 60 is_whole
    # shellcheck disable=SC2046 # the shell that waits for it, and itself
    kill -9 "${runs[nightly]}" $(pgrep -P "${runs[nightly]}")
    wait "${runs[nightly]}" 2>/dev/null
    at "2026-03-31 12:00:00"
    : >"$here/data/READY"
    touch "$here/data/fresh/y"
    check "run, trigger: written again, without text: the manifest's input" within 60 has_rows ready 2 "a b"
    printf 'data/../../etc\n' >"$here/data/READY"
    check "run, trigger: a text that leaves the volume starts nothing, and says so" within 60 logged ready "a part . or .."
    echo home/me >"$here/data/READY"
    check "run, trigger: nor one in another volume" within 60 logged ready "is neither in a volume of spec.volumes"
    check "run, rerun: what has changed is scored anew, in another folder" within 60 has_rows fresh 2 "x y"
    check "run, rerun: the results of before stay" has_rows fresh 1 x
    for name in ready fresh; do
        kill -INT "${runs[$name]}"
        wait "${runs[$name]}"
        check "run: Ctrl-C ends it ($name), code 130" [ $? -eq 130 ]
    done
    check "run: of the refused there is no folder" [ "$(folders ready | wc -l)" = 2 ]
    timeout 30 "$windlass" run --once -f "$here/ready.yaml" --state "$here/state-once" >"$here/once.log" 2>&1
    check "run --once: one run, now, and its code" [ "$? $(folders ready | wc -l) $(rows ready 3)" = "0 3 a b" ]
    show ready; show fresh; show nightly
    return $failures
}
on_this_machine >"$work/here.out" 2>&1 & laptop=$!

##### what is waited for in Blob Storage, beside it, too #########################################
on_azurite() {
    local azurite=$work/azurite variables mark
    variables=$(tests/azurite/start.sh start "$azurite" $$) || { echo "not ok azurite starts"; return 1; }
    # shellcheck disable=SC2086,SC2163 # NAME=VALUE lines
    export $variables WINDLASS_STORES='[{"account":"films","readOnly":true}]' WINDLASS_TERMINATION_LOG=$azurite/words
    put() { python3 tests/azurite/az.py "$azurite" put films "tests/$1" "$2" >/dev/null; }
    watch() { # SECONDS MARK SPEC: prints what was seen
        rm -f "$azurite/words"
        WINDLASS_MARK=$2 WINDLASS_SPEC=$3 timeout "$1" "${windlass}-agent" watch 2>>"$azurite/watch.log"
        cat "$azurite/words" 2>/dev/null
    }
    local trigger='{"trigger":{"path":"az://films/tests/go/READY"}}'
    local input
    input=$(batchscore_spec '{"input":{"files":{"path":"az://films/tests/in","pattern":"*.jpg","order":"Name"}},"output":{"path":"az://films/tests/out"}}')
    check "az://: a trigger that is not there" [ -z "$(watch 2 "" "$trigger")" ]
    put go/READY az://films/tests/in/monday
    check "az://: a trigger names the input" says '"input":"az://films/tests/in/monday"' "$(watch 20 "" "$trigger")"
    put in/a.jpg 1
    mark=$(watch 30 "" "$input" | jq -r .mark)
    check "az://: an input that is there" [ "${#mark}" -eq 16 ]
    put in/b.txt 2
    check "az://: objects that do not match change nothing" [ -z "$(watch 7 "$mark" "$input")" ]
    put in/sub/c.jpg 3
    check "az://: what does is one" says '"mark":' "$(watch 30 "$mark" "$input")"
    [ $failures -eq 0 ] || tail -n 5 "$azurite/watch.log" | sed 's/^/# /'
    return $failures
}
on_azurite >"$work/azurite.out" 2>&1 & blobs=$!

##### on a cluster ###############################################################################
python3 tests/cluster/kubelet.py "$api" 0.2 &
series() { # NAME "SPEC LINE"
    job "$1" | sed "s|^  miniBatchSize.*|&\n  $2|" | "$kubectl" apply -f - >/dev/null
}
line() { field "$1" ".status.runs[?(@.number==$2)].$3"; }
is_over() { [ -n "$(line "$1" "$2" seconds)" ]; }
state_is() { [ "$(condition "$1" reason)" = "$2" ]; }
runs_of() { "$kubectl" get bs -l "windlass.dev/job=$1" -o name | wc -l; }
at "2026-11-21 02:30:00"
stepped controller one --no-leader-election
series tick 'schedule: {cron: "0 3 * * *"}'
series bell 'trigger: {path: data/READY}'
check "cluster: a schedule says when it is due" within 60 state_is tick Scheduled
check "cluster: a trigger is armed" within 60 state_is bell Armed
check "cluster: with one pod and nothing else" [ "$(count pods bell) $(count services bell) $(count pods tick)" = "1 0 0" ]
check "cluster: kubectl get bs -o wide tells the time" says T03:00:00Z "$("$kubectl" get bs tick -o wide)"
at "2026-11-21 02:59:59"
"$kubectl" annotate --overwrite bs tick round=0 >/dev/null
# sight JSON: what a pod that waits for `bell` sees, whole.
sight() { echo "$1" >"$api/sight.new" && mv "$api/sight.new" "$api/sight-bell"; }
sight '{"mark": "0011223344556677", "input": "data/today.mp4"}'
check "cluster: the schedule's run comes and ends" within 60 is_over tick 1
check "cluster: the trigger's, too" within 60 is_over bell 1
check "cluster: with the trigger's input" [ "$(field bell-1 .spec.input.video.path)" = data/today.mp4 ]
check "cluster: the line says all of it" [ "$(line tick 1 state) $(line tick 1 time) $(line tick 1 items.done)" = "Completed 2026-11-21T03:00:00Z 8" ]
check "cluster: windlass status has the run" grep -qE '^ *tick-1 +Completed +2026-11-21T03:00:00Z +8/8 ' <("$windlass" status tick)
check "cluster: in a folder of its own" says data/out/runs/20261121T030000Z- "$(line tick 1 output)"
##### a controller that is killed: each fire time once, each sight once
rounds=$((${SOAK_ROUNDS:-200} / 100))
for ((round = 1; round <= rounds; round++)); do
    at "2026-11-21 02:59:58 UTC $round days"
    sight "{\"mark\": \"00112233445566$((10 + round % 80))\"}"
    "$kubectl" annotate --overwrite bs tick bell round=$round >/dev/null
    sleep "$((RANDOM % 3)).$((RANDOM % 10))"
    kill -9 $pid
    wait $pid 2>/dev/null
    stepped controller "one-$round" --no-leader-election
    check "cluster: round $round: the schedule's run is there, whichever process was killed" within 60 is_over tick $((round + 1))
    check "cluster: round $round: the trigger's, too" within 60 is_over bell $((round + 1))
done
check "cluster: no pod was made twice, no role had two ($(cat "$api/violations" 2>/dev/null | paste -sd';'))" [ ! -s "$api/violations" ]
##### two controllers that both lead: what makes a run lets only one of them
stepped controller two --no-leader-election
at "2028-03-05 12:00:00"
"$kubectl" annotate --overwrite bs tick later=1 >/dev/null
check "cluster: of all times that were missed there is one run" within 60 is_over tick $((rounds + 2))
check "cluster: and only one, of two controllers ($(field tick .status.runs[*].number))" [ "$(line tick $((rounds + 3)) number)" = "" ]
check "cluster: with the latest of them" [ "$(line tick $((rounds + 2)) time)" = 2028-03-05T03:00:00Z ]
at "2028-03-05 02:59:59"
"$kubectl" annotate --overwrite bs tick later=2 >/dev/null
"$kubectl" patch bs bell --type merge -p '{"spec": {"suspend": true}}' >/dev/null
sleep 3
check "cluster: a clock that goes back fires nothing twice" [ "$(line tick $((rounds + 3)) number)$(runs_of tick)" = $((rounds + 2 < 10 ? rounds + 2 : 10)) ]
check "cluster: suspended, no pod waits" [ "$(condition bell reason) $(count pods bell)" = "Suspended 0" ]
"$kubectl" delete bs tick bell --wait=false >/dev/null
is_empty() { [ -z "$("$kubectl" get bs,pods,services -o name | grep -v service/kubernetes)" ]; }
check "cluster: with the series go its runs" within 60 is_empty
[ $failures -eq 0 ] || tail -n 5 "$work"/*.log | sed 's/^/# /'
wait $laptop || failures=$((failures + 1))
cat "$work/here.out"
wait $blobs || failures=$((failures + 1))
cat "$work/azurite.out"
exit $((failures > 0))
