#!/usr/bin/env bash
# Sweeps by `windlass run`, of a stand-in program that reports its metric: the best of them, unpromising trials get a stop
# within 2 s of the report that decides it, a metric under another name, trials that fail, volumes and secrets of
# spec.trial, an end by Ctrl-C; sweep.html; `windlass status` of one, from a server that has its objects.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" "${BUILD:-build}/windlass-trainer" || { echo "not ok test_sweep: cannot be built"; exit 1; }
windlass=$build/windlass
work=$(mktemp -d)
server=
trap 'kill $server $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
unset WINDLASS_STORES_FOLDER

# Reports REPORTS numbers, one each PAUSE seconds: VALUE, and at the end a little more with each QUALITY. Its log has
# the times of the reports and of the stop.
cat >"$work/program.sh" <<'P'
# On a cluster by $WINDLASS_NOTICE; a run on this machine has no time for a notice: SIGTERM comes first.
told() { echo "told 0 $(date +%s%N)" >>"$log"; exit 0; }
trap told TERM
name=$1 log=$2/$PARAM_QUALITY reports=$3 pause=$4 value=0.9
[ "$PARAM_QUALITY" != 1 ] || value=0.1
for ((k = 1; k <= reports; k++)); do
    [ $k -lt "$reports" ] || value+=$PARAM_QUALITY
    echo "said $k $(date +%s%N)" >>"$log" # before the report, so that the measured time is not too short
    echo "$name: $value"
    for ((n = 0; n < pause; n++)); do
        [ ! -e "$WINDLASS_NOTICE" ] || told
        sleep 0.05
    done
done
echo "model $PARAM_QUALITY" >"$WINDLASS_OUTPUT_OUT/model.txt"
echo "ended 0 0 ${KEY:-}" >>"$log"
P
# manifest NAME METRIC REPORTS PAUSE [LINE OF TRIAL...]; lines of spec come on stdin.
manifest() {
    local name=$1
    mkdir -p "$work/$name/out"
    {
        cat <<Y
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: $name}
spec:
  objective: {metric: accuracy, goal: Maximize}
  parameters: [{name: QUALITY, choice: [1, 2, 3, 4]}]
  algorithm: {kind: Grid}
  maxTrials: 4
  maxConcurrentTrials: 4
Y
        sed 's/^/  /'
        cat <<Y
  trial:
    workers: 1
    image: registry.test/any:1
    launcher: None
    restart: {maxRestarts: 0}
    command: [bash, $work/program.sh, $2, \$(out), "$3", "$4"]
    volumes: [{name: out, hostPath: {path: $work/$name/out}}]
    outputs: [{id: OUT, path: out/models}]
Y
        shift 4
        [ $# -eq 0 ] || printf '    %s\n' "$@"
    } >"$work/$name/sweep.yaml"
}
run() { # NAME [OPTIONS]: its exit code is in $code
    timeout -k 5 120 "$windlass" run -f "$work/$1/sweep.yaml" --state "$work/$1/state" "${@:2}" >"$work/$1/said" 2>"$work/$1/told" </dev/null
    code=$?
}
says() { grep -qE -- "$2" "$work/$1/said" "$work/$1/told"; }
at() { sed -n "s/^$3 $4 \([0-9]*\).*/\1/p" "$work/$1/out/$2"; } # NAME QUALITY WHAT K
show() { [ "$failures" -eq 0 ] || { sed 's/^/# /' "$work/$1/said" "$work/$1/told"; tail -n 5 "$work/$1"/out/[0-9] | sed 's/^/# /'; } 2>/dev/null; }

##### the best of them ############################################################################
manifest small accuracy 3 4 'secrets: [{name: KEY, secretName: wandb, key: api.key}]' <<<''
run small
check "a Secret that is not there is named by its field" says small 'sweep.yaml: spec.trial.secrets\[0\]: .*--secrets DIR, with the file DIR/wandb/api.key$'
check "and is the user's to give" [ $code -eq 2 ]
mkdir -p "$work/secrets/wandb"
echo hush-hush >"$work/secrets/wandb/api.key"
run small --secrets "$work/secrets" --workers 2
best() {
    [ $code -eq 0 ] && says small '^small succeeded in .* s: the best of 4 trials is small-0003 with accuracy 0.94: QUALITY=4$' &&
        says small '^\* +small-0003 +Completed +############ +3 +0.94 +QUALITY=4$' && [ "$(grep -cE '^ +small-000[0-2] +Completed ' "$work/small/said")" -eq 3 ]
}
check "all points of a grid are tried, and the best is reported, with a table" best
check "secrets and volumes of spec.trial are there" [ "$(cat "$work/small/out"/[1-4] | grep -c '^ended 0 0 hush-hush$')" -eq 4 ]
# A trial runs from its first report until it reports its end.
at_once() { # the most at a time
    local quality
    for quality in 1 2 3 4; do echo "$(at small $quality said 1) 1"; echo "$(at small $quality said 3) -1"; done |
        sort -n | awk '{ now += $2; if (now > most) most = now } END { print most }'
}
check "no more run at once than --workers has room for ($(at_once))" [ "$(at_once)" -le 2 ]
check "and its progress is shown" says small '^small: Running: [0-4] of 4 trials \([0-9]+ %\), [12] runs?,'
check "sweep.html draws all of them" python3 tests/e2e/sweep/sweep_page.py "$work/small/state/sweep.html" 3 small-000{0,1,2,3}
show small

##### the best one's model is changed before it is registered #####################################
# The last trial, which is not the best, writes to the model of the first.
manifest edited accuracy 1 0 <<<'register: {path: out/registry}'
cat >"$work/edit.sh" <<'P'
echo "model $PARAM_QUALITY" >"$WINDLASS_OUTPUT_OUT/model.txt"
[ "$PARAM_QUALITY" != 4 ] || echo edited >>"$(dirname "$WINDLASS_OUTPUT_OUT")/0000/model.txt"
echo "accuracy: 0.$((9 - PARAM_QUALITY))"
P
sed -i "s/choice: .*/choice: [1, 4]}]/; s/maxTrials: .*/maxTrials: 2/; s/maxConcurrentTrials: .*/maxConcurrentTrials: 1/
    s|command: .*|command: [bash, $work/edit.sh]|" "$work/edited/sweep.yaml"
run edited
check "a model that was changed since its trial wrote it is not registered (code $code)" [ $code -eq 1 ]
check "and is named" says edited 'could not be registered: .*/0000/model.txt has changed since it was written'
check "no version is there" [ -z "$(find "$work/edited/out/registry" -name metadata.json -o -name latest)" ]
show edited
rm -r "$work/edited/out"

##### a trial's output without a result.json #######################################################
mkdir -p "$work/plain/trial" "$work/plain/registry"
echo weights >"$work/plain/trial/model.txt"
register() { # its message is where a pod's is
    plain=$work/plain WINDLASS_TERMINATION_LOG=$work/plain/last WINDLASS_FOLDER=$work/plain \
        WINDLASS_SPEC='{"from": "plain/trial", "to": "plain/registry", "name": "m", "version": "1", "metadata": {}}' \
        "$build/windlass-agent" register 2>"$work/plain/log"
}
register; code=$?
check "an output without a result.json is registered (code $code)" [ "$code $(cat "$work/plain/registry/m/latest")" = "0 1" ]
check "and that is said" grep -q registered "$work/plain/log"
rm -r "$work/plain/trial/model.txt"
register; code=$?
check "once more, when the trial's output is gone: it is there (code $code)" [ $code -eq 0 ]

##### many short ones #############################################################################
# A program of about 0.1 s; 100 of them in a soak.
trials=$((${SOAK_SEED:+100} + 0))
[ $trials -gt 0 ] || trials=24
manifest short accuracy 1 0 <<<''
cat >"$work/short.sh" <<'P'
sleep 0.1
echo "accuracy: 0.$((10000 + PARAM_X))"
echo "$((10000 + PARAM_X))" >>"$1/tried"
P
sed -i "s/parameters: .*/parameters: [{name: X, randint: {upper: 10000}}]/; s/kind: Grid/kind: Random, seed: 7/; s/maxTrials: .*/maxTrials: $trials/
    s|command: .*|command: [bash, $work/short.sh, \$(out)]|" "$work/short/sweep.yaml"
began=$SECONDS
run short --workers 4
each_once() {
    [ $code -eq 0 ] && [ "$(wc -l <"$work/short/out/tried")" -eq $trials ] && [ "$(sort -u "$work/short/out/tried" | wc -l)" -eq $trials ] &&
        says short "the best of $trials trials is short-[0-9]{4} with accuracy 0.$(sort -n "$work/short/out/tried" | tail -n 1 | sed 's/0*$//'): "
}
check "of $trials trials of a short program each is run once, and the best is right" each_once
echo "# $trials trials in $((SECONDS - began)) s"
show short

##### what is unpromising ############################################################################
manifest median accuracy 60 2 <<<'earlyStopping: {median: {}}'
stopped() {
    [ $code -eq 0 ] && says median '^ +median-0000 +Stopped +#+\.+ +[0-9]+ +0.1 +QUALITY=1$' && says median 'the best of 4 trials is median-0003 with accuracy 0.94' &&
        [ -n "$(at median 1 told 0)" ] && [ -z "$(cat "$work/median/out"/[2-4] | grep ^told)" ]
}
in_time() { # from the last of the four first reports on all is known that decides it
    local last=0 quality said
    for quality in 1 2 3 4; do
        said=$(at median $quality said 1)
        [ -n "$said" ] || return 1
        [ "$said" -le $last ] || last=$said
    done
    [ -n "$(at median 1 told 0)" ] || return 1
    echo "# told to leave $((($(at median 1 told 0) - last) / 1000000)) ms after the report that decides it"
    [ $last -gt 0 ] && [ $(($(at median 1 told 0) - last)) -lt 2000000000 ]
}
# On a busy machine a trial may be late: three tries.
for try in 1 2 3; do
    discard "$work/median/out"/* "$work/median/state"
    run median --workers 4
    in_time && break
done
check "median stops what is unpromising in the first wave, and nothing else" stopped
check "within 2 s of the report that decides it" in_time
show median

##### ends badly ##################################################################################
manifest misspelt acc 2 1 <<<'maxFailedTrials: 4'
run misspelt --workers 4
missing() {
    [ $code -eq 1 ] && says misspelt '^windlass: misspelt failed: no trial reported a value of accuracy; the last one, misspelt-000[0-3]: no metric accuracy after 2 reports; there are: acc [(]objective.metric names it, trial.metrics.pattern finds it[)]$' &&
        says misspelt '^  next: set spec.objective.metric to a metric that the trials report$' && says misspelt '^ +misspelt-0000 +Failed '
}
check "of a metric that never comes, those that did are named" missing; show misspelt
manifest broken accuracy 2 1 <<<'maxFailedTrials: 0'
sed -i 's/command: .*/command: [bash, -c, "echo >>$0; echo no such column; exit 3", $(out)\/tried]/' "$work/broken/sweep.yaml"
run broken --workers 1
failing() {
    [ $code -eq 1 ] && says broken '^windlass: broken failed: 1 trials failed, more than maxFailedTrials 0; the last one, broken-0000: RankFailed: .*exit code 3: no such column' &&
        says broken "^  log: $work/broken/state/broken-0000-0.log, which ends with$"
}
check "a trial that fails is reported with its log" failing; show broken
run broken --workers 1 --restart
restarted() { # HOW OFTEN
    failing && says broken '--restart: it begins anew; what earlier runs have made stays$' &&
        [ "$(wc -l <"$work/broken/out/tried")" -eq "$1" ] && [ "$(find "$work/broken/out/models" -name 'broken-*' | wc -l)" -eq "$1" ]
}
check "--restart runs its trials again, and says that others' outputs stay" restarted 2; show broken
run broken --workers 1 --anew
old_name() { says broken '^windlass: --anew is deprecated' && restarted 3; }
check "--anew, its old name, works and says so" old_name; show broken
sed -i 's/QUALITY, choice: .*/QUALITY, uniform: {min: "0", max: "1"}}]/' "$work/broken/sweep.yaml"
run broken
refused() { [ $code -eq 2 ] && says broken 'sweep.yaml:[0-9]+: spec.algorithm.kind: Grid tries every combination'; }
check "a grid over a range is refused" refused; show broken

##### Ctrl-C ######################################################################################
interrupted() {
    local run_pid end=$((SECONDS + 60))
    manifest left accuracy 600 2 <<<''
    "$windlass" run -f "$work/left/sweep.yaml" --state "$work/left/state" --workers 2 >"$work/left/said" 2>"$work/left/told" </dev/null &
    run_pid=$!
    until [ -s "$work/left/out/1" ] && [ -s "$work/left/out/2" ]; do [ $SECONDS -lt $end ] || return 1; nap 0.1; done
    kill -TERM $run_pid
    wait $run_pid
    [ $? -eq 130 ] && says left '; all processes have ended$' && ! pgrep -f "^bash $work/program.sh" && python3 tests/e2e/sweep/sweep_page.py "$work/left/state/sweep.html" 1 left-0000 left-0001
}
check "Ctrl-C leaves no process, and what was seen in sweep.html" interrupted; show left

##### windlass status #############################################################################
python3 - "$work" <<'P'
import json, sys
def condition(status, reason, message):
    return [{"type": "Succeeded", "status": status, "reason": reason, "message": message}]
spec = {"objective": {"metric": "accuracy", "goal": "Maximize"}, "parameters": [{"name": "QUALITY", "choice": [1, 2, 3]}],
        "algorithm": {"kind": "Grid", "seed": 0}, "maxTrials": 3, "maxConcurrentTrials": 3, "maxFailedTrials": 5, "maxAlikeFailures": 10, "suspend": False,
        "trial": {"image": "a/b:1", "command": ["x", "$(QUALITY)"]}}
meta = {"name": "small", "namespace": "default", "uid": "u-1", "creationTimestamp": "2026-11-22T08:00:00Z"}
sweep = {"apiVersion": "windlass.dev/v1alpha1", "kind": "Sweep", "metadata": meta, "spec": spec, "status": {
    "conditions": condition("Unknown", "Running", "2 of 3 trials have ended"), "startTime": "2026-11-22T08:00:01Z", "progress": "2/3",
    "next": 3, "trials": {"running": 1, "completed": 1, "stopped": 1, "failed": 0, "deleted": 0},
    "best": {"trial": "small-0001", "index": 1, "value": "0.8", "values": {"QUALITY": "2"}}}}
trials = []
ends = [("False", "Stopped", "worse than the median"), ("True", "Completed", "done"), ("Unknown", "Running", "")]
for index, (end, best, reports) in enumerate(zip(ends, (0.25, 0.8, 0.5), (1, 4, 2))):
    trials.insert(0, {"apiVersion": "windlass.dev/v1alpha1", "kind": "DistTrain", "metadata": {"name": f"small-{index:04}", "uid": f"t-{index}",
        "annotations": {"windlass.dev/trial": json.dumps({"index": index, "values": {"QUALITY": str(index + 1)}})}}, "spec": {},
        "status": {"conditions": condition(*end), "objective": {"reports": reports, "best": str(best), "at": f"{reports}::{best}:{best}"}}})
stranger = json.loads(json.dumps(trials[0]))
stranger["metadata"]["name"] = "stranger"
json.dump(sweep, open(sys.argv[1] + "/sweep.json", "w"))
json.dump(trials + [stranger], open(sys.argv[1] + "/trials.json", "w"))
P
python3 tests/e2e/sweep/sweep_page.py --serve "$work" >"$work/port" & server=$!
for ((n = 0; n < 100; n++)); do [ ! -s "$work/port" ] || break; nap 0.1; done
cat >"$work/kubeconfig" <<Y
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: "http://127.0.0.1:$(cat "$work/port")"}}]
users: [{name: test, user: {}}]
Y
status() { "$windlass" status --kubeconfig "$work/kubeconfig" "$@" >"$work/small/said" 2>"$work/small/told"; code=$?; }
status small
table() {
    [ $code -eq 0 ] && says small '^small: Running: 2 of 3 trials \(66 %\), 1 runs, 1 stopped, best 0.8 \(small-0001\), ' &&
        [ "$(sed -n '/TRIAL/,$p' "$work/small/said" | sed 's/ *$//; s/^\*/+/; s/  */ /g; s/^ //')" = "TRIAL STATE REPORTS accuracy VALUES
small-0000 Stopped ###......... 1 0.25 QUALITY=1
+ small-0001 Completed ############ 4 0.8 QUALITY=2
small-0002 Running ######...... 2 0.5 QUALITY=3" ]
}
check "windlass status of a Sweep: its trials by number, a bar for each, the best marked" table; show small
status small -o html
check "-o html writes the page" [ $code -eq 0 ]
check "with all trials in it" python3 tests/e2e/sweep/sweep_page.py "$work/small/said" 3 small-000{0,1,2}
status small -o pdf
check "another form is refused" says small 'windlass status: -o pdf: expected one of json[|]yaml[|]wide[|]name[|]html'
refusal() { echo "^windlass status: $1 are not shown: .*$2 is forbidden: .* cannot $3 resource"; }
denied() { # WHAT MAY NOT BE SEEN...
    echo "$@" >"$work/denied"
    status "${name[@]}"
}
name=(); denied batchscores sweeps
others() { [ $code -eq 0 ] && says small '^small-0001 ' && says small "$(refusal Sweeps sweeps.windlass.dev list)" && says small "$(refusal BatchScores batchscores.windlass.dev list)"; }
check "of the kinds that one may not list a line is said, the others are shown" others; show small
name=(); denied batchscores disttrains sweeps
check "who may list none is refused" says small '^windlass status: .*batchscores.* is forbidden' ; show small
followed() { # the list may be read first, and later not any more
    local end=$((SECONDS + 60)) pid
    rm "$work/denied"
    "$windlass" status -w --kubeconfig "$work/kubeconfig" >"$work/small/said" 2>"$work/small/told" & pid=$!
    until [ -s "$work/small/said" ] || [ $SECONDS -ge $end ]; do nap 0.1; done
    echo sweeps >"$work/denied"
    until says small "${1//shown/followed}" || [ $SECONDS -ge $end ]; do nap 0.1; done
    kill $pid; wait $pid
    says small "${1//shown/followed}" && [ "$(grep -c 'are not followed' "$work/small/told")" = 1 ]
}
check "status -w says once which kinds are not followed, and goes on with the others" followed "$(refusal Sweeps sweeps.windlass.dev list)"; show small
name=(small); denied batchscores pods disttrains
one() { [ $code -eq 0 ] && says small '^small: Running: 2 of 3' && says small "$(refusal Pods pods list)" && says small "$(refusal DistTrains disttrains.windlass.dev list)"; }
check "of one Sweep that is shown whose trials and pods may not be seen" one; show small
name=(small); denied sweeps
check "without the right to get a kind, the error says so" says small '^windlass status: .*sweeps.windlass.dev is forbidden: .* cannot get'; show small
rm "$work/denied"

exit $((failures > 0))
