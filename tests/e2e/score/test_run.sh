#!/usr/bin/env bash
# `windlass run` as a user sees it: usage, exit codes, bad machines, Ctrl-C, the terminal, and a small real job that
# loses a worker. For an agent that misbehaves, a copy of windlass is beside a shell script named windlass-agent.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/xdg
mkdir -p "$work/bin" "$work/job/data"
cp "$build/windlass" "$work/bin/"
windlass=$work/bin/windlass
job=$work/job/job.yaml
cat >"$job" <<'YAML'
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: small}
spec:
  input: {video: {path: data/in.mp4}}
  scorer:
    onnx:
      path: data/relu.onnx
      preprocess: {range: Byte}
      postprocess: {type: Image, range: Byte}
  output: {path: data/out}
  miniBatchSize: 2
  workers: {max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
YAML
# agent SCRIPT: makes SCRIPT the windlass-agent from now on.
agent() {
    printf '#!/bin/sh\n%s\n' "$1" >"$work/bin/windlass-agent"
    chmod +x "$work/bin/windlass-agent"
}
# run [ARGUMENTS]: runs windlass run; its exit code is in $code, its output in $work/out and $work/err.
run() {
    local start=$SECONDS
    "$windlass" run "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    took=$((SECONDS - start))
}
# Processes that are pods of this test; zombies have no environment.
children() { grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ 2>/dev/null | grep -c .; }
says() { grep -qF -- "$1" "$work/err" "$work/out"; }
# Lines that begin with a space show the manifest below an error.
one_line() { [ "$(grep -c '^[^ ]' "$work/err")" -eq 1 ]; }
# refuses NAME CODE TEXT ARGUMENTS...: exit code and one line that contains TEXT; its pods would sleep for longer than a minute.
refuses() {
    local name=$1 wanted=$2 text=$3
    shift 3
    run "$@"
    if [ $code -eq "$wanted" ] && says "$text" && one_line && [ $took -le 60 ]; then
        echo "ok $name"
    else
        check "$name (code $code, $took s: $(head -3 "$work/err"))" false
    fi
}
agent 'exec sleep 1000'

##### -f #########################################################################################
mkdir -p "$work/two"
cp "$job" "$work/two/a.yaml"
sed 's/miniBatchSize: 2/miniBatchSize: none/; s/name: small/name: wrong/' "$job" >"$work/two/b.yaml"
echo "not a manifest" >"$work/two/notes.txt"
checked() { "$windlass" check "$@" >"$work/out" 2>"$work/err"; } # its output in $work/out and $work/err
check "check: the first of two files is checked, too" [ "$(checked -f "$work/two/b.yaml" -f "$work/two/a.yaml"; echo $?)" = 2 ]
check "check: and named with its line" says 'b.yaml:12: spec.miniBatchSize'
check "check: and the other one is OK" says 'a.yaml: BatchScore small is OK'
check "check: nothing of the file goes to a pipe" [ "$(wc -l <"$work/err")" -eq 1 ]
on_terminal() { script -qec "$*" /dev/null </dev/null | tr -d '\r'; }
excerpt="\
    12 |   miniBatchSize: none
       |                  ^"
check "check: on a terminal with the line below, and a caret" [ "$(on_terminal "$windlass check -f $work/two/b.yaml" | sed 1d)" = "$excerpt" ]
check "check: a folder is checked file by file" [ "$(checked -f "$work/two"; echo $? "$(cat "$work/err" "$work/out" | grep -c '^[^ ]')")" = "2 2" ]
both() { cat "$work/two/a.yaml"; echo ---; cat "$work/two/b.yaml"; echo ---; cat "$work/two/a.yaml"; }
check "check: each document of standard input" [ "$(both | checked -f -; echo $?)" = 2 ]
check "check: and named with its line there" says 'standard input:28: spec.miniBatchSize'
check "check: and the documents behind it" [ "$(grep -c 'standard input: BatchScore small is OK' "$work/out")" = 2 ]
check "check: --show of several is a list" [ "$(checked -f "$job" -f "$job" --show; jq -r '.kind, (.items | length)' "$work/out" | xargs)" = "List 2" ]
refuses "run: a folder with one that is refused runs none" 2 "b.yaml:12: spec.miniBatchSize" -f "$work/two"
check "run: on a terminal with the line below" [ "$(on_terminal "$windlass run -f $work/two/b.yaml" | sed 1d)" = "$excerpt" ]
refuses "run: an address is refused" 2 "an address is not read here" -f https://example.com/job.yaml

##### usage ######################################################################################
"$windlass" --version >"$work/out"
check "--version" grep -qE '^windlass [0-9]+\.[0-9]+\.[0-9]+$' "$work/out"
"$windlass" --help >"$work/out"
check "--help names the commands and the exit codes" grep -q '130 interrupted' "$work/out"
"$windlass" >/dev/null 2>"$work/err"
check "without a word: usage, code 2" [ $? -eq 2 ]
"$windlass" runn 2>"$work/err"
check "an unknown command: code 2" [ $? -eq 2 ]
run --help
check "run --help explains every option" bash -c "[ $code -eq 0 ] && grep -q -- '--volume NAME=DIR' '$work/out' && grep -q -- --workers '$work/out'"
refuses "no manifest" 2 "-f FILE is missing"
refuses "an unknown option" 2 "--fast: unknown option" -f "$job" --fast
refuses "a word too many" 2 "unexpected argument more" -f "$job" more
refuses "no worker" 2 "--workers 0" -f "$job" --workers 0
refuses "a worker count that is not a number" 2 "'two' is not a whole number" -f "$job" --workers two

##### the manifest ###############################################################################
refuses "a manifest that is not there" 2 "$work/none.yaml" -f "$work/none.yaml"
printf 'a: [\n' >"$work/bad.yaml"
refuses "a manifest that is not YAML" 2 "bad.yaml:" -f "$work/bad.yaml"
sed 's/miniBatchSize/miniBatchSise/' "$job" >"$work/bad.yaml"
refuses "an unknown field" 2 "spec.miniBatchSise" -f "$work/bad.yaml"
sed 's/kind: BatchScore/kind: Deployment/' "$job" >"$work/bad.yaml"
refuses "another kind" 2 "Deployment" -f "$work/bad.yaml"

##### volumes and the state folder ###############################################################
sed 's/name: data,/name: lost,/; s/: data\//: lost\//' "$job" >"$work/lost.yaml"
refuses "a volume without a folder" 2 "volume lost has no folder on this machine: give --volume lost=DIR" \
    -f "$work/lost.yaml"
refuses "--volume with no folder" 2 "/no/such is not a folder" -f "$job" --volume data=/no/such
refuses "--volume of another name" 2 "no volume of that name" -f "$job" --volume date=/
check "nothing is left of what did not start" [ -z "$(ls -A "$XDG_STATE_HOME/windlass" 2>/dev/null)" ]
refuses "a state folder that cannot be made" 3 "/proc/none" -f "$job" --state /proc/none
mv "$work/bin/windlass-agent" "$work/bin/away"
refuses "no agent" 3 "$work/bin/windlass-agent" -f "$job"
mv "$work/bin/away" "$work/bin/windlass-agent"

##### agents that fail ###########################################################################
# fails NAME CODE SCRIPT TEXT: long before all its pods would end, with the cause and the log's path.
fails() {
    agent "$3"
    rm -rf "$work/state"
    run -f "$job" --state "$work/state"
    if [ $code -eq "$2" ] && says "$4" && says "$work/state/" && [ $took -le 60 ] && [ "$(children)" -eq 0 ]; then
        echo "ok $1"
    else
        check "$1 (code $code, $took s: $(cat "$work/err"))" false
    fi
}
fails "the coordinator refuses the input" 2 \
    '[ $1 = score ] && exec sleep 1000; echo "no such video" >$WINDLASS_TERMINATION_LOG; exit 2' "no such video"
fails "the coordinator gives up" 1 '[ $1 = score ] && exec sleep 1000; echo too many >&2; exit 1' "too many"
fails "a coordinator that dies again and again" 1 '[ $1 = score ] && exec sleep 1000; echo dying; kill -SEGV $$' "dying"
fails "workers that die again and again" 1 '[ $1 = coordinate ] && exec sleep 1000; echo bad model >&2; exit 2' "bad model"
check "its last lines are shown" grep -q '| bad model' "$work/err"
check "no working folder is left" [ ! -e "$work/state/pods" ]
agent '[ $1 = score ] && exec sleep 1000; exit 1'
run -f "$job" --state "$work/kept" --keep
check "--keep keeps the working folders" [ -d "$work/kept/pods/small-coordinator-1" ]

##### signals ####################################################################################
two_children() { [ "$(children)" -ge 2 ]; }
no_children() { [ "$(children)" -eq 0 ]; }
# interrupt SIGNAL TIMES: sends it to a run whose pods sleep; sets $code and $took (ms).
interrupt() {
    rm -rf "$work/state"
    "$windlass" run -f "$job" --state "$work/state" >"$work/out" 2>"$work/err" </dev/null &
    local pid=$! start i
    until_true 60 two_children
    start=$(date +%s%3N)
    for i in $(seq "$2"); do kill -"$1" $pid; sleep 0.2; done
    { wait $pid; } 2>/dev/null
    code=$? took=$(($(date +%s%3N) - start))
}
agent 'while :; do sleep 0.2; done'
interrupt TERM 1
check "SIGTERM ends all: code 130, at once" [ $code -eq 130 -a $took -lt 4500 -a "$(children)" -eq 0 ]
check "and says what was kept" grep -q "kept: the logs in $work/state" "$work/err"
agent 'trap "" TERM; while :; do sleep 0.2; done'
interrupt INT 2
check "a second signal kills at once" [ $code -eq 130 -a $took -lt 4500 -a "$(children)" -eq 0 ]
interrupt INT 1
check "who ignores SIGTERM is killed after 5 s" \
    [ $code -eq 130 -a $took -ge 4500 -a $took -lt 60000 -a "$(children)" -eq 0 ]
interrupt KILL 1 2>/dev/null
check "kill -9 of windlass leaves no process" until_true 60 no_children

##### the terminal ###############################################################################
agent '[ $1 = score ] && exec sleep 1000; sleep 1.5; echo too many >&2; exit 1'
script -qec "stty cols 60; $windlass run -f $job --state $work/state" /dev/null >"$work/tty" 2>&1 </dev/null
check "a terminal gets a line that is redrawn" grep -qF $'\rPending' "$work/tty"
check "and erased at the end" grep -qF $'\r\033[K'"windlass: small failed" "$work/tty"
check "the cursor is never hidden" bash -c "! grep -qF $'\033[?25l' '$work/tty'"
run -f "$job" --state "$work/state"
check "elsewhere come plain lines" bash -c "grep -q '^small: Pending' '$work/err' && ! grep -q $'[\r\033]' '$work/err'"

##### a real job that loses a worker #############################################################
cp "$build/windlass-agent" "$work/bin/windlass-agent"
# One Relu of any size: x [n, 3, h, w] -> y.
base64 -d >"$work/job/data/relu.onnx" <<'MODEL'
CAc6UQoMCgF4EgF5IgRSZWx1EgFnWh4KAXgSGQoXCAESEwoDEgFuCgIIAwoDEgFoCgMSAXdiHgoBeRIZChcIARITCgMSAW4KAggDCgMSAWgKAxIBd0ICEA0=
MODEL
ffmpeg -v error -f lavfi -i testsrc2=size=1280x720:rate=24 -frames:v 120 -c:v libx264 -preset ultrafast \
    "$work/job/data/in.mp4" || exit 3
rm -rf "$work/state"
"$windlass" run -f "$job" --state "$work/state" --workers 2 >"$work/out" 2>"$work/err" </dev/null &
pid=$!
until_true 60 grep -q 'Running: [1-9]' "$work/err"
victim=$(pgrep -f -x "windlass-agent score" -P $pid | head -1)
kill -9 "$victim"
wait $pid
check "it succeeds" [ $? -eq 0 ]
check "with every frame" [ "$(count_frames "$work/job/data/out/in.mp4")" = 120 ]
check "at the cost of a retry" [ "$(jq -r .miniBatches.retried "$work/job/data/out/summary.json")" -ge 1 ]
check "a new worker took its place" [ "$(ls "$work"/state/small-worker-?-2.log 2>/dev/null | grep -c .)" -ge 1 ]
check "no process is left" [ "$(children)" -eq 0 ]
check "mini_batches.csv has every mini-batch" [ "$(grep -c ',done,' "$work/job/data/out/mini_batches.csv")" = 60 ]
check "the last lines say where things are and how fast" bash -c "grep -q 'video .*out/in.mp4' '$work/out' &&
    grep -q 'summary .*out/summary.json' '$work/out' &&
    grep -q 'report .*out/report.html' '$work/out' && grep -q 'logs .*state' '$work/out' &&
    grep -qE '120 frames in [0-9.]+ s, [0-9.]+ frames/s' '$work/out' && grep -q 'kubectl apply -f $job' '$work/out'"
for again in finished emptied; do
    [ $again = finished ] || rm "$work/job/data/out/in.mp4"
    "$windlass" run -f "$job" --state "$work/$again" >"$work/out" 2>"$work/$again.err" </dev/null
    check "once more, $again: it succeeds" [ $? -eq 0 -a "$(count_frames "$work/job/data/out/in.mp4")" = 120 ]
    check "once more, $again: no rate is below zero" bash -c "! grep -q -- '-[0-9.]* frames/s' '$work/$again.err'"
    [ $again = emptied ] || check "once more: nothing to do, and how to have it done again" \
        bash -c "grep -q 'nothing to do' '$work/out' && grep -q 'again  *with --restart' '$work/out'"
done
check "once more, emptied: all frames were scored" grep -qE '120 frames in [0-9.]+ s' "$work/out"
##### windlass logs --state ######################################################################
victim=$(basename "$(ls "$work"/state/small-worker-?-2.log)" -2.log) # small-worker-N
echo "the first attempt's last words" >>"$work/state/$victim.log"
logs() { "$windlass" logs "$@" --state "$work/state" >"$work/logs" 2>"$work/logs.err"; }
logs
check "logs: of a local run, each line with its pod" [ $? -eq 0 -a "$(grep -vcE '^\[(coordinator-1|worker-[0-9]+(-2)?)\] ' "$work/logs")" = 0 -a -s "$work/logs" ]
# shellcheck disable=SC2012 # plain names
check "logs: of all pods that are the newest of their kind" [ "$(cut -d']' -f1 "$work/logs" | sort -u | wc -l)" = "$(ls "$work"/state/small-*.log | grep -cv "/$victim.log")" ]
check "logs: of a replaced one only with --previous" bash -c "! grep -q 'last words' '$work/logs'"
logs small --worker "${victim##*-}" --previous --tail 1
check "logs: --worker --previous --tail" [ "$(wc -l <"$work/logs") $(head -1 "$work/logs")" = "2 [${victim#small-}] the first attempt's last words" ]
printf 'x\033]0;title\007 \033[31mred\033[0m \342\200\256txt\n' >>"$work/state/$victim.log"
logs small --worker "${victim##*-}" --previous --tail 1
check "logs: control characters are shown, into a pipe too" grep -qxF "[${victim#small-}] x\\x1B]0;title\\x07 red \\u202Etxt" "$work/logs"
logs small --worker "${victim##*-}" --previous --tail 1 --raw
check "logs: --raw: as they are" grep -qF "$(printf 'x\033]0;title\007 \033[31mred')" "$work/logs"
logs other
check "logs: of a job that is not there: code 2, a sentence" [ $? -eq 2 -a "$(wc -l <"$work/logs.err")" -eq 1 ]
logs -f
check "logs: -f says what to do instead" [ $? -eq 2 -a "$(grep -c 'tail -f' "$work/logs.err")" -eq 1 ]

[ $failures -eq 0 ] || sed 's/^/# /' "$work/err" "$work/out"
exit $((failures > 0))
