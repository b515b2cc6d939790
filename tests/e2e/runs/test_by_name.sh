#!/usr/bin/env bash
# Runs of this machine by their names: list, status, logs, wait, top, diff, suspend, cancel, resume, rerun, delete; runs
# that were killed; several documents; completion; suggestions. No cluster is there.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/xdg KUBECONFIG=$work/none
export PATH=$build:$PATH
registry=$XDG_STATE_HOME/windlass/runs
mkdir -p "$work/job/data/texts" "$work/job/code"
for i in 1 2 3 4; do echo "text $i" >"$work/job/data/texts/$i.txt"; done
cat >"$work/job/job.yaml" <<'YAML'
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: texts}
spec:
  input: {files: {path: data/texts, pattern: "*.txt"}}
  scorer:
    command:
      image: example.com/none
      command: [python3, $(code)/score.py]
  output: {path: data/out, mode: AppendRow, appendRowFileName: rows.jsonl}
  miniBatchSize: 1
  workers: {min: 1, max: 1}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
YAML
# The program scores the first file at once, and the others when data/go is there.
cat >"$work/job/code/score.py" <<'PY'
import os, sys, time
import windlass

def run(paths):
    print("the program begins", file=sys.stderr, flush=True)
    for path in paths:
        while not str(path).endswith("1.txt") and not os.path.exists(os.environ["data"] + "/go"):
            time.sleep(0.05)
    return [{"file": os.path.basename(str(path))} for path in paths]

windlass.serve(run=run)
PY
job=$work/job/job.yaml
out=$work/out err=$work/err
# w WORDS...: windlass; $code, $out and $err are what it left.
w() { windlass "$@" >"$out" 2>"$err" </dev/null; code=$?; }
said() { grep -qF -- "$1" "$out" "$err"; }
state() { windlass list --local | awk 'NR == 2 {print $3}'; }
has_done() { [ "$(windlass status texts -o json 2>/dev/null | jq -r '.status.items.done // 0')" -ge "$1" ] 2>/dev/null; }
start() { (cd "$work/job" && exec windlass run -f job.yaml >"$work/run.out" 2>&1) & run=$!; }

w list
check "nothing ran yet: list says so" [ "$code$(cat "$out")" = 0 ]
w status texts
check "no such run and no cluster: code 2 and where was looked" [ $code -eq 2 -a -n "$(grep 'no run of this machine is named texts' "$err")" ]

w status
check "status without a name or a cluster: the runs here, code 0" [ "$code$(grep -c 'no cluster is configured' "$err")" = 01 ]
w logs texts
check "logs of no such run: one line, code 2" [ "$code $(cat "$err")" = "2 windlass logs: no run of this machine is named texts (windlass list shows them), and no cluster is configured" ]
w events texts
check "events are a cluster's: code 2" [ $code -eq 2 -a -n "$(grep "only a cluster has events" "$err")" ]

start
check "a run is seen while it runs, with its counts" until_true_while $run 60 has_done 1
check "list shows it running" [ "$(state)" = Running ]
check "list -o name" [ "$(windlass list -o name)" = batchscore/texts ]
w status texts -o yaml
check "status -o yaml can be read back as a manifest" [ "$(windlass check -f "$out" >/dev/null 2>&1; echo $?)" = 0 ]
w top texts
check "top shows its pods" grep -qE '^texts-worker-0 +[0-9.]+ +[0-9]+Mi +[1-9]' "$out"
windlass logs texts -f >"$work/followed" 2>&1 &
follower=$!
check "logs -f prints what is there" until_true 60 grep -q 'worker-0.*the program begins' "$work/followed"
w rerun texts
check "a run that runs is not started again: code 2" [ $code -eq 2 ]
w suspend texts --dry-run
check "--dry-run suspends nothing" [ "$code$(state)" = 0Running ]
w suspend texts
check "suspend ends it" [ $code -eq 0 ]
wait $run
check "as Ctrl-C would" [ $? -eq 130 ]
check "which says the command that goes on" grep -q 'next: windlass resume texts goes on' "$work/run.out"
check "and its state is Suspended" [ "$(state)" = Suspended ]
wait $follower
check "logs -f ends with the run" [ $? -eq 0 ]
w wait texts
check "wait: a run that was suspended has not succeeded: code 1" [ $code -eq 1 ]
w cancel texts
check "a suspended run can be cancelled" [ "$code$(state)" = 0Cancelled ]

start
is() { [ "$(state)" = "$1" ]; }
check "another run of that name" until_true_while $run 60 is Running
kill -9 $run
wait $run 2>/dev/null
check "kill -9 leaves a run that does not live: Killed" until_true 60 is Killed
w cancel texts
check "it cannot be cancelled, and the message says its state" said "does not run: it is Killed"
touch "$work/job/data/go"
(cd / && windlass resume texts >"$out" 2>&1)
check "resume goes on, from any folder" [ $? -eq 0 ]
check "and it has all rows" [ "$(wc -l <"$work/job/data/out/rows.jsonl")" = 4 ]
check "list shows the newest of that name" [ "$(windlass list --local | wc -l)" = 2 ]
check "list -a shows all three" [ "$(windlass list --local -a | wc -l)" = 4 ]
w resume texts
check "what has succeeded is not resumed, and rerun is named" said "windlass rerun texts"
w wait texts
check "wait: it succeeded" [ $code -eq 0 ]
cp -p "$work/job/data/out/rows.jsonl" "$work/rows"
w rerun texts
check "rerun runs it from the beginning" [ $code -eq 0 ]
check "and says what it does" said "thrown away"
w diff -f "$job"
check "diff: nothing differs" [ "$code$(cat "$out")" = 0 ]
sed 's/miniBatchSize: 1/miniBatchSize: 3/; s/max: 1/max: 2/' "$job" >"$work/job/other.yaml"
w diff -f "$work/job/other.yaml"
check "diff: code 1 and the fields" [ "$code $(xargs <"$out")" = "1 - spec.miniBatchSize: 1 + spec.miniBatchSize: 3 - spec.workers.max: 1 + spec.workers.max: 2" ]

##### where a run is known ##########################################################################
windlass run -f - --volume "code=$work/job/code" --volume "data=$work/job/data" --state "$work/own" \
    <"$job" >"$out" 2>&1
check "a manifest of standard input runs" [ $? -eq 0 ]
w rerun texts
check "and runs again" [ $code -eq 0 ]
check "from a manifest in the registry" grep -qF "\"file\":\"$registry/" "$registry"/*.json
w delete texts
check "delete forgets all runs of that name" [ "$code$(ls -A "$registry")" = 0 ]
check "and the logs in folders of its own" [ "$(ls "$XDG_STATE_HOME/windlass")" = runs ]
check "but not those of --state" [ -s "$work/own/texts-coordinator-1.log" ] # a worker with nothing to do may write nothing
w delete texts
check "what no run is named is not looked for on a cluster: code 2" [ "$code$(grep -c 'add -n NAMESPACE' "$err")" = 21 ]
{ cat "$job"; echo '    - {name: scratch, emptyDir: {}}'; } >"$work/scratch.yaml"
windlass run -f - --volume "code=$work/job/code" --volume "data=$work/job/data" --state "$work/own" \
    <"$work/scratch.yaml" >"$out" 2>&1
w rerun texts
check "an emptyDir is the next run's own" [ "$code$(jq -r .folders.scratch "$registry"/*.json | sort -u | wc -l)" = 02 ]
w delete texts
mkdir -p "$work/own/pods/other"
w run -f "$job" --dry-run --state "$work/own"
check "run --dry-run leaves the pods of another run alone" [ "$code$(ls "$work/own/pods")" = 0other ]
rm -r "$work/own/pods"
mkdir -p "$work/linked/data" && cp -r "$work/job/data/texts" "$work/job/data/go" "$work/linked/data/"
ln -s ../job/code ../job/job.yaml "$work/linked/"
w run -f "$work/linked/job.yaml"
discard "$work/linked/data/out"
w rerun texts
check "a manifest that is a link: what is beside the link is its own" [ "$code$(wc -l <"$work/linked/data/out/rows.jsonl")" = 04 ]
w delete texts
windlass run -f "$job" --state "$work/gone" >"$out" 2>&1
rm -rf "$work/gone"
w list
check "a run whose logs were deleted is forgotten" [ "$(ls -A "$registry")" = "" ]
echo '{"name": ' >"$registry/broken.json"
w list
check "a broken record does not disturb" [ $code -eq 0 ]
rm "$registry/broken.json"
XDG_STATE_HOME=/proc/none windlass run -f "$job" --state "$work/own" >"$out" 2>&1
check "a run that cannot be recorded runs" [ $? -eq 0 ]
check "and says so" said "this run cannot be found by its name"
XDG_STATE_HOME=$job w list
check "where no run can be recorded there is none" [ "$code$(cat "$out")" = 0 ]
(unset HOME XDG_STATE_HOME; windlass wait texts >"$out" 2>&1)
check "nor without HOME: code 2, no such run" [ "$?$(grep -c 'no run of this machine' "$out")" = 21 ]
w diff -f "$job"
check "diff: what no run is named is new where no cluster is" [ "$code $(cat "$out")" = "1 + BatchScore texts of $job is new" ]
cat >"$work/away" <<'YAML'
apiVersion: v1
kind: Config
current-context: away
clusters: [{name: away, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: me, user: {token: t}}]
contexts: [{name: away, context: {cluster: away, user: me}}]
YAML
KUBECONFIG=$work/away w diff -f "$job"
check "diff: a cluster that cannot be asked: code 3" [ "$code$(cat "$out")" = 3 ]

##### several documents, --dry-run ###############################################################
mkdir "$work/job/both" && ln -s ../code ../data "$work/job/both/"
sed 's/name: texts/name: first/' "$job" >"$work/job/both/1.yaml"
sed 's/name: texts/name: second/' "$job" >"$work/job/both/2.yaml"
w run -f "$work/job/both" --dry-run
check "run --dry-run of a folder names each job and its folders" [ "$code$(grep -c 'would run here' "$out")$(grep -c 'volume   data is' "$out")" = 022 ]
check "and leaves nothing" [ "$(ls "$XDG_STATE_HOME/windlass")" = runs ]
w run -f "$work/job/both"
check "a folder runs one job after the other" [ "$code $(grep -o '^[a-z]* succeeded' "$out" | xargs)" = "0 first succeeded second succeeded" ]
{ cat "$work/job/both/1.yaml"; echo ---; cat "$work/job/both/2.yaml"; } >"$work/job/all.yaml"
w run -f "$work/job/all.yaml"
runs_of() { windlass list --local -a | grep -c "^$1 "; }
w rerun second
check "rerun of one job of a file runs that one" [ "$code$(runs_of first)$(runs_of second)" = 023 ]
sed -i 's/name: second/name: third/' "$work/job/all.yaml"
w rerun second
check "which is not in the file any more: code 2" [ "$code$(grep -c 'all.yaml has no job second any more' "$err")" = 21 ]
sed -i 's/miniBatchSize: 1/miniBatchSize: none/' "$work/job/both/2.yaml"
w run -f "$work/job/both"
check "none runs when one is refused: code 2" [ "$code$(cat "$out")" = 2 ]
check "and it is named" said "2.yaml:11: spec.miniBatchSize"

##### words ######################################################################################
w statsu
check "a misspelt command" said "did you mean status?"
w run -f "$job" --wokers 2
check "a misspelt option" said "did you mean --workers?"
bash_says() { # WORDS...: what bash would complete the last of them to
    bash -c 'source <(windlass completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _windlass; echo "${COMPREPLY[@]}"' - "$@"
}
check "bash completes commands" [ "$(bash_says windlass sus)" = suspend ]
check "bash completes options" [ "$(bash_says windlass run --wo)" = --workers ]
check "bash completes names" [ "$(bash_says windlass logs sec)" = second ]
check "zsh and fish have scripts" [ "$(windlass completion zsh | head -1)$(windlass completion fish | grep -c 'complete -c windlass')" = "#compdef windlass4" ]
w completion tcsh
check "another shell: code 2" [ $code -eq 2 ]
w list -o xml
check "another form: code 2" [ "$code$(grep -c 'json|yaml|wide|name' "$err")" = 21 ]
exit $((failures > 0))
