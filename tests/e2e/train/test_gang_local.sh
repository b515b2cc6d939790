#!/usr/bin/env bash
# `windlass run` of DistTrains, unchanged, on this machine: Open MPI's mpirun over two workers, PyTorch's DDP over gloo
# (python3-torch), variables, restarts; exit codes of ranks, a prepare that fails, a missing command; a worker that is
# killed; SIGTERM leaves no process; a training from its manifest, one whose rank is killed, one that gets a signal to
# end and is run again, one whose loss is NaN; check and logs. (`make test` draws one of the trainings that are interrupted.)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" "${BUILD:-build}/windlass-trainer" || { echo "not ok test_gang_local: cannot be built"; exit 1; }
work=$(mktemp -d)
resting_ranks "$work/bin" || exit 3
windlass=$work/bin/windlass
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
unset WINDLASS_STORES_FOLDER OMPI_COMM_WORLD_SIZE PMIX_RANK

# manifest NAME WORKERS [FIELDS]: command and more come on stdin.
manifest() {
    mkdir -p "$work/$1/out"
    {
        printf 'apiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: %s}\nspec:\n' "$1"
        printf '  workers: %s\n  image: registry.test/any:1\n  volumes: [{name: out, hostPath: {path: %s}}]\n' "$2" "$work/$1/out"
        printf '  outputs: [{id: MODEL, path: out/models}]\n'
        sed 's/^/  /'
    } >"$work/$1/job.yaml"
}
# run NAME [OPTIONS]: its exit code is in $code, its output in NAME/said.
run() {
    timeout -k 5 "${patience:-300}" "$windlass" run -f "$work/$1/job.yaml" --state "${state:-$work/$1/state}" "${@:2}" >"$work/$1/said" 2>&1
    code=$?
}
says() { grep -qE -- "$2" "$work/$1/said"; }
log() { cat "$work/$1/state/$1-$2.log"; }
show() { [ "$failures" -eq 0 ] || { sed 's/^/# /' "$work/$1/said"; tail -n 5 "$work/$1"/state/*.log | sed 's/^/# /'; } 2>/dev/null; }

##### ends well ###################################################################################
# Its state folder is so deep that a socket's path would be too long.
mpi() {
    local state code
    state=$work/hello/$(printf 'a-folder-of-the-users/%.0s' 1 2 3 4 5 6)state
    manifest hello 2 <<Y
slotsPerWorker: 2
command: [mpirun, -np, "4", $work/sum]
Y
    ln -s "$state" "$work/hello/state"
    run hello
    [ $code -eq 0 ] && says hello '^hello succeeded in .* s: 2 workers$' && says hello "^  output   $work/hello/out/models$" &&
        [ "$(log hello 0 | grep -cE '^rank [0-3] of 4 in pod .*: 6 ')" -eq 4 ] && [ -d "$work/hello/out/models" ]
}
mpi_code() {
    local code
    manifest seven 2 <<Y
slotsPerWorker: 2
command: [mpirun, -np, "4", $work/sum, fail]
restart: {maxRestarts: 0}
Y
    run seven
    [ $code -eq 1 ] && says seven '^windlass: seven failed: worker 0, rank 2 ended with exit code 7: rank 2 of 4 in pod .*: 6' && says seven "^  log: $work/seven/state/seven-0.log, which ends with$"
}
mpi_words() {
    local code
    manifest words 1 <<'Y'
command: [mpirun, -np, "1", cp, /etc/hostname, "${WINDLASS_OUTPUT_MODEL}/$WINDLASS_JOB.txt"]
Y
    run words
    [ $code -eq 0 ] && [ "$(ls "$work/words/out/models" | grep -v "^result[.]")" = words.txt ]
}
mpi_words_unknown() {
    local code
    manifest unknown 1 <<'Y'
command: [mpirun, -np, "1", touch, $WINDLASS_OUTPUT_OTHER]
Y
    run unknown
    [ $code -eq 2 ] && says unknown 'spec.command\[4\]: \$WINDLASS_OUTPUT_OTHER is not replaced there'
}
ddp() {
    local code
    manifest ddp 2 <<Y
launcher: Torchrun
command: [/usr/bin/python3, $PWD/tests/e2e/train/ddp.py]
Y
    run ddp
    [ $code -eq 0 ] && log ddp 0 | grep -qx 'rank 0 of 2 agrees' && log ddp 1 | grep -qx 'rank 1 of 2 agrees'
}
# $VAR of our variables in the user's variables, in arguments and in those of a single process; a shell's variables are
# left to it.
variables() {
    local code
    manifest variables 2 <<'Y'
launcher: None
environment: {WHERE: "$AZ_BATCHAI_OUTPUT_MODEL/of-$WINDLASS_INDEX", FOLDER: "$(out)/models"}
prepare: [sh, -c, 'echo "$WINDLASS_INDEX" >"$1/prepared-$WINDLASS_INDEX"', sh, $FOLDER]
command: [sh, -c, 'n=1; ls "$1"/prepared-* | wc -l >"$WHERE"; cat "$AZ_BATCHAI_MPI_HOST_FILE" >>"$WHERE"; env >"$1/env-$WINDLASS_RANK"; exit $((n - 1))', sh, $(out)/models]
Y
    run variables
    local models=$work/variables/out/models
    [ $code -eq 0 ] && [ "$(cat "$models"/of-{0,1} | xargs)" = "2 127.0.0.1 slots=2 2 127.0.0.1 slots=2" ] &&
        grep -qx "WHERE=$models/of-1" "$models/env-1" && grep -qx 'AZ_BATCHAI_TASK_INDEX=1' "$models/env-1" && ! grep -qE 'WINDLASS_(TOKEN|SPEC)|PRIVATE KEY' "$models"/env-*
}
again() {
    local code
    manifest again 2 <<'Y'
launcher: None
restart: {maxRestarts: 1, backoffSeconds: 0}
command: [bash, -c, 'echo "$WINDLASS_ROUND" >>"$1/rounds-$WINDLASS_RANK"; [ $WINDLASS_RANK = 0 ] || [ -e "$1/failed" ] || { touch "$1/failed"; kill -9 $BASHPID; }; sleep 0.5', sh, $AZ_BATCHAI_OUTPUT_MODEL]
Y
    run again
    [ $code -eq 0 ] && says again '^again succeeded in .*, started again 1 time$' && [ "$(xargs <"$work/again/out/models/rounds-1")" = "1048577 1048578" ]
}

##### ends badly ##################################################################################
rank_code() {
    local code
    manifest code 2 <<'Y'
launcher: None
restart: {maxRestarts: 0}
command: [sh, -c, 'echo one; echo "last words"; exit $((7 * WINDLASS_RANK))']
Y
    run code
    [ $code -eq 1 ] && says code '^windlass: code failed: worker 1, rank 1 ended with exit code 7: one \| last words' &&
        says code "^  log: $work/code/state/code-1.log, which ends with$" && says code '^    \| .*last words'
}
prepare_fails() {
    local code
    manifest prepare 2 <<'Y'
launcher: None
prepare: [sh, -c, 'echo no such wheel; exit $((4 * WINDLASS_INDEX))']
command: [touch, $AZ_BATCHAI_OUTPUT_MODEL/ran]
Y
    run prepare
    [ $code -eq 1 ] && says prepare '^windlass: prepare failed: worker 1.*spec.prepare ended with 4: no such wheel' && [ ! -e "$work/prepare/out/models/ran" ]
}
# Wrong arguments under mpirun, alone, and a script that is not there: one round each, whatever maxRestarts says.
wrong_words() {
    local code each ok=0
    cat >"$work/words.py" <<'P'
import argparse
a = argparse.ArgumentParser()
a.add_argument("--data", required=True)
a.parse_args()
P
    manifest usage-mpi 2 <<<"command: [mpirun, -np, \"2\", python3, $work/words.py, --dat]"
    # As on a busy machine: its words come over some seconds.
    cat >"$work/slow_words.py" <<'P'
import sys, time
for line in "usage: slow_words.py", "  [-h]", "  --data DATA", "slow_words.py: error: the following arguments are required: --data":
    print(line, file=sys.stderr, flush=True)
    time.sleep(2.5)
sys.exit(2)
P
    manifest usage-slow 1 <<<"{launcher: None, command: [python3, $work/slow_words.py]}"
    manifest usage-one 2 <<<"{launcher: None, command: [python3, $work/words.py]}"
    manifest usage-lost 1 <<<"{launcher: None, command: [python3, $work/wrods.py]}"
    sed -i 's/^  {launcher: None, \(.*\)}$/  launcher: None\n  \1/' "$work"/usage-*/job.yaml
    for each in mpi one lost slow; do
        run usage-$each
        [ $code -eq 1 ] && says usage-$each 'ended with exit code 2, and would again: ' || ok=1
        [ "$(log usage-$each 0 | grep -c 'prepare to start')" -eq 1 ] || ok=1
    done
    says usage-one 'error: the following arguments are required: --data' && says usage-lost "can't open file" && return $ok
}
# A program that ends with 2 after it has done something is started again; so is one without words about arguments.
other_twos() {
    local code ok=0
    manifest two-quiet 1 <<'Y'
launcher: None
restart: {maxRestarts: 1, backoffSeconds: 1}
command: [sh, -c, 'n=1; [ ! -e $1/again ] || exit 0; touch $1/again; exit 2', sh, $(out)]
Y
    manifest two-late 1 <<'Y'
launcher: None
restart: {maxRestarts: 1, backoffSeconds: 1}
command: [sh, -c, '[ ! -e $1/again ] || exit 0; touch $1/again; for i in 1 2 3 4 5 6 7 8; do echo epoch $i; sleep 1; done; echo "usage: it FILE" >&2; exit 2', sh, $(out)]
Y
    for each in quiet late; do run two-$each; [ $code -eq 0 ] || ok=1; done
    return $ok
}
not_found() {
    local code
    manifest nothing 2 <<<'command: [no-such-mpirun, -np, "2"]'
    run nothing
    [ $code -eq 1 ] && says nothing 'failed: worker 0.*no-such-mpirun' && says nothing 'next: correct spec.command'
}
# This machine has no Secrets: files with their values replace them, and nothing else has these values.
secret() {
    local code missing='job.yaml: spec.secrets\[1\]: ' models=$work/secret/out/models
    manifest secret 2 <<'Y'
launcher: None
secrets: [{name: KEY, secretName: wandb, key: api.key}, {name: OTHER, secretName: wandb, key: other}]
command: [sh, -c, 'echo "$KEY $OTHER" >"$1/key-$WINDLASS_RANK"', sh, $AZ_BATCHAI_OUTPUT_MODEL]
Y
    run secret
    [ $code -eq 2 ] && says secret 'job.yaml: spec.secrets\[0\]: .*give --secrets DIR, with the file DIR/wandb/api.key$' || return 1
    mkdir -p "$work/secrets/wandb"
    echo hush-hush >"$work/secrets/wandb/api.key"
    run secret --secrets "$work/secrets"
    [ $code -eq 2 ] && says secret "$missing.*secrets/wandb/other: No such file" || return 1
    printf 'a\000b' >"$work/secrets/wandb/other"
    run secret --secrets "$work/secrets"
    [ $code -eq 2 ] && says secret "$missing.*is not UTF-8 text" && ! compgen -G "$work/secret/state/*.log" >/dev/null || return 1
    printf 'two words' >"$work/secrets/wandb/other"
    run secret --secrets "$work/secrets" --keep
    [ $code -eq 0 ] && [ "$(sort -u "$models"/key-{0,1})" = "hush-hush two words" ] && ! grep -rqF -e hush-hush "$work/secret/state" "$work/secret/said"
}
restarted_command() {
    local code
    manifest restart 1 <<<'command: ["true"]'
    mkdir -p "$work/restart/out/models"
    echo earlier >"$work/restart/out/models/old"
    run restart --restart
    [ $code -eq 0 ] && says restart '^restart succeeded' && [ -s "$work/restart/out/models/old" ] &&
        says restart '--restart: it begins anew; what earlier runs have made stays$'
}

##### what a job is tuned for ###################################################################
# Lines and the command's reports come by two ways, whose order is not promised: hence it waits until its log has the
# lines.
tuned() {
    local code
    manifest tuned 2 <<Y
launcher: None
metrics: {objective: loss, goal: Minimize}
command: [bash, -c, 'echo "loss: 3"; echo "loss: 2.5"; until grep -q "loss: 2.5" "\$1-\$WINDLASS_RANK.log"; do sleep 0.1; done; windlass-agent metric loss 1 --step 7', sh, $work/tuned/state/tuned]
Y
    run tuned --keep
    [ $code -eq 0 ] && says tuned '^  best     loss 1 of 3 reports$' && jq -e '.objective.at == "1::3:3 2::2.5:2.75 3:7:1:2.16666667" and .lastLine == "loss: 2.5"' "$work/tuned/state/pods/tuned-0/termination-log" >/dev/null
}
# Under mpirun, whose ranks get the variables from their agent.
posted() {
    local code
    manifest posted 1 <<Y
slotsPerWorker: 2
metrics: {objective: eval_loss, goal: Minimize}
environment: {https_proxy: "http://127.0.0.1:1"}
command: [mpirun, -np, "2", python3, -B, $PWD/tests/e2e/train/posts.py, "4"]
Y
    run posted --keep
    [ $code -eq 0 ] && says posted '^  best     eval_loss 0.5 of 2 reports$' && [ "$(log posted 0 | grep -c '^posted 200$')" -eq 6 ] &&
        jq -e '.percent == 100 and .step == 4 and .epoch == 2 and .metrics.grad_norm == "0.5"' "$work/posted/state/pods/posted-0/termination-log" >/dev/null
}
misspelt() {
    local code
    manifest misspelt 1 <<'Y'
launcher: None
metrics: {objective: accuracy, goal: Maximize}
command: [bash, -c, 'echo "acc: 3"; echo "loss=1"']
Y
    run misspelt
    [ $code -eq 0 ] && says misspelt '^  best     no report of accuracy; there are: acc, loss$'
}
stopped() {
    local code
    manifest stopped 1 <<'Y'
launcher: None
stop: of no use
command: [touch, $AZ_BATCHAI_OUTPUT_MODEL/ran]
Y
    run stopped
    [ $code -eq 1 ] && says stopped '^windlass: stopped failed: of no use$' && says stopped 'next: remove spec.stop' && [ ! -e "$work/stopped/out/models/ran" ]
}
check "metrics by line and by windlass-agent metric" tuned; show tuned
check "Hugging Face's posts under mpirun, with a proxy" posted; show posted
check "if a metric is never reported, the other metrics are named" misspelt; show misspelt
check "spec.stop" stopped; show stopped

##### trainings ###################################################################################
# trainer EPOCHS [RATE]: a trainer with a small generated data set that can be learned, four steps an epoch.
trainer() {
    cat <<Y
trainer:
  model: {new: CNN, classes: 6, shape: [2, 12, 12]}
  data:
    train: {synthetic: {count: 250, classes: 6, shape: [2, 12, 12]}}
    test: {synthetic: {count: 90, classes: 6, shape: [2, 12, 12]}}
  epochs: $1
  batchSize: 64
  optimizer: {kind: SGD, learningRate: "${2:-0.05}", momentum: "0.9"}
  checkpoint: {everySeconds: 1, keep: 2}
  output: {path: out/trained}
Y
}
training() { # NAME WORKERS: like manifest, without the fields of a command
    manifest "$@"
    sed -i '/^  image:/d; /^  outputs:/d' "$work/$1/job.yaml"
}
trains() {
    local code out=$work/trains/out
    { trainer 25; echo 'logs: {path: out/logs}'; echo 'metrics: {objective: accuracy, goal: Maximize}'; } | training trains 2
    run trains
    [ $code -eq 0 ] && says trains '^  best     accuracy (0\.9.*|1) of 25 reports$' && says trains "^trains succeeded in .* s: 2 workers, accuracy (0\\.9|1)" && says trains "^  model    $out/trained/model.onnx$" &&
        log trains 0 | grep -q '^epoch 25 of 25, step 100: ' && [ -s "$out/trained/model.onnx" ] && [ "$(grep -c ',0.05,' "$out/trained/metrics.csv")" -ge 25 ] &&
        cat "$out/logs/rank.000/stdout"/* | grep -q '^epoch 25 of 25'
}
# The record names the result as it is; another run says so and writes nothing, and writes again what was changed.
finished() { # the newest record
    local records=("$work/trains/out/trained/.windlass"/*/finished/*)
    jq -r "$1" "${records[-1]}"
}
is_recorded() { # GENERATION
    local out=$work/trains/out/trained
    [ "$(finished '"\(.generation) \(.step) \(.epochs) \(.objects[0].name) \(.objects[0].size) \(.objects[0].sha256) \(.objects[1].sha256)"')" = \
        "$1 100 25 model.onnx $(stat -c %s "$out/model.onnx") $(sha256sum "$out/model.onnx" | cut -d' ' -f1) $(sha256sum "$out/metrics.csv" | cut -d' ' -f1)" ]
}
trains_again() {
    local code model=$work/trains/out/trained/model.onnx before
    is_recorded 1 || return 1
    before=$(stat -c %i "$model")
    run trains
    [ $code -eq 0 ] && log trains 0 | grep -q '^this training came to its end at 20.*: out/trained/model.onnx (SHA-256' && is_recorded 2 &&
        [ "$(stat -c %i "$model")" = "$before" ] && echo other >"$model" || return 1
    run trains
    [ $code -eq 0 ] && log trains 0 | grep -q 'model.onnx is not what the training wrote: .*; the result is written again' && is_recorded 3 &&
        "$windlass" verify "$work/trains/out/trained" && echo x >"$work/trains/out/trained/stale" &&
        ! "$windlass" verify "$work/trains/out/trained" && rm "$work/trains/out/trained/stale"
}
# Other settings are refused in one line that says which; --restart trains anew and leaves nothing of before.
trains_anew() {
    local code out=$work/trains/out/trained old
    old=$(sha256sum <"$out/model.onnx")
    sed -i 's/learningRate: "0.05"/learningRate: "0.04"/' "$work/trains/job.yaml"
    run trains
    [ $code -eq 1 ] && says trains '^windlass: trains failed: worker [01], rank [01]: windlass-trainer train: rank [01] of 2: out/trained holds the results of job trains, .*spec.trainer.optimizer.learningRate: .*0.05.*0.04.*--restart' && [ "$(sha256sum <"$out/model.onnx")" = "$old" ] || return 1
    run trains --restart
    [ $code -eq 0 ] && says trains '--restart: what earlier runs have made in its output is thrown away$' && [ "$(sha256sum <"$out/model.onnx")" != "$old" ] && log trains 0 | grep -q '^epoch 25 of 25, step 100: ' &&
        [ "$(grep -c ',0.04,' "$out/metrics.csv")" -ge 25 ] && ! grep -q ',0.05,' "$out/metrics.csv" && "$windlass" verify "$out" || return 1
    run trains
    [ $code -eq 0 ] && log trains 0 | grep -q '^this training came to its end at 20'
}
rank_of() { # NAME: a rank of that training
    local pid
    for pid in $(pgrep -f "^$build/windlass-trainer train"); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "WINDLASS_JOB=$1" && echo "$pid" && return
    done
    return 1
}
is_kept() { compgen -G "$work/$1/out/trained/.windlass/*/checkpoint/*" >/dev/null; }
rank_killed() {
    local run_pid result pid
    { trainer 300; echo 'restart: {maxRestarts: 1, backoffSeconds: 0}'; } | training shot 2
    "$windlass" run -f "$work/shot/job.yaml" --state "$work/shot/state" >"$work/shot/said" 2>&1 &
    run_pid=$!
    # (It stands still until there is a line of progress, each 5 s: so it need not be a long one on a fast machine.)
    until_true 60 is_kept shot && pid=$(rank_of shot) && kill -STOP "$pid" && until_true 60 says shot 'Running: step' && kill -9 "$pid"
    result=$?
    wait $run_pid || result=1
    [ $result -eq 0 ] && says shot 'started again 1 time' && says shot 'Running: step [0-9]+, epoch [0-9]+, loss [0-9.]+(, accuracy [0-9.]+)?, [0-9.]+ samples/s' &&
        log shot 0 | grep -q '^continues from the checkpoint of step' && log shot 0 | grep -q '^epoch 300 of 300, step 1200: ' &&
        cat "$work/shot/out/trained/logs/rank.000/stdout"/* | grep -q '^epoch 300 of 300'
}
left_and_again() {
    local run_pid code patience=900
    trainer 300 | training left 2
    "$windlass" run -f "$work/left/job.yaml" --state "$work/left/state" >"$work/left/said" 2>&1 &
    run_pid=$!
    until_true 60 is_kept left && kill -TERM $run_pid
    wait $run_pid
    code=$?
    [ $code -eq 130 ] && ! rank_of left && mv "$work/left/state/left-0.log" "$work/left/first" && run left && [ $code -eq 0 ] &&
        grep -q 'stopped on request; the checkpoint of step [0-9]* is written' "$work/left/first" && log left 0 | grep -q '^continues from the checkpoint of step'
}
no_number() { # fails at once, without a restart
    local code
    { trainer 400 1e6; echo 'restart: {maxRestarts: 3, backoffSeconds: 0}'; } | sed 's/new: CNN/new: MLP/; s/^  checkpoint.*/  schedule: {scaling: Linear, baseBatchSize: 1}/' | training number 2
    run number
    [ $code -eq 1 ] && says number 'failed: worker 0, rank [01]: .*nan though all numbers of its samples are finite: the training diverges at a learning rate of 6.4e\+07' && [ "$(log number 0 | grep -c 'all start')" -eq 1 ]
}

##### kills and signals ##########################################################################
starts() { cat "$work/$1"/out/models/starts-* 2>/dev/null | wc -l; }
have_started() { [ "$(starts "$1")" -ge "$2" ]; }
waits="command: [bash, -c, 'setsid sleep \$(cat \"\$1/nap\") & echo \$BASHPID >>\"\$1/starts-\$WINDLASS_RANK\"; for i in \$(seq 600); do [ ! -e \"\$1/end\" ] || exit 0; sleep 0.1; done; exit 9', sh, \$AZ_BATCHAI_OUTPUT_MODEL]"
agent_of() { # NAME INDEX: that worker's agent
    local pid
    for pid in $(pgrep -P "$run_pid" windlass-agent); do
        tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "WINDLASS_INDEX=$2" && echo "$pid"
    done
}
# The processes of a killed agent end before all restart, and nothing is left at the end.
killed() {
    local run_pid result nap=87$((RANDOM % 1000 + 1000))
    manifest killed 2 <<Y
launcher: None
restart: {maxRestarts: 2, backoffSeconds: 0}
$waits
Y
    mkdir -p "$work/killed/out/models"
    echo "$nap" >"$work/killed/out/models/nap"
    "$windlass" run -f "$work/killed/job.yaml" --state "$work/killed/state" >"$work/killed/said" 2>&1 &
    run_pid=$!
    until_true 60 have_started killed 2 && kill -9 "$(agent_of killed 1)" && until_true 60 have_started killed 4 &&
        [ "$(pgrep -fc "^sleep $nap")" = 2 ]
    result=$?
    touch "$work/killed/out/models/end"
    wait $run_pid || result=1
    [ $result -eq 0 ] && says killed 'started again 1 time' && [ -s "$work/killed/state/killed-1-2.log" ] && ! pgrep -f "^sleep $nap"
}
twice() {
    local run_pid nap=88$((RANDOM % 1000 + 1000)) code
    manifest twice 2 <<Y
launcher: None
command: [bash, -c, 'trap "" TERM; echo >"\$1/starts-\$WINDLASS_RANK"; setsid sleep $nap; sleep $nap', sh, \$AZ_BATCHAI_OUTPUT_MODEL]
Y
    "$windlass" run -f "$work/twice/job.yaml" --state "$work/twice/state" >"$work/twice/said" 2>&1 &
    run_pid=$!
    until_true 60 have_started twice 2 && until_true 60 pgrep -f "^sleep $nap" >/dev/null || return 1
    kill -INT $run_pid
    sleep 0.3
    kill -INT $run_pid
    wait $run_pid
    code=$?
    [ $code -eq 130 ] && ! pgrep -f "^sleep $nap"
}
# The second has a child in a separate session that ignores the signal; afterwards none of these processes is left.
told() {
    local run_pid nap=86$((RANDOM % 1000 + 1000)) code
    manifest told 2 <<Y
launcher: None
command: [bash, -c, 'trap "echo heard >\\"\$1/heard-\$WINDLASS_RANK\\"; exit 0" TERM; setsid sh -c "trap : TERM; sleep $nap; sleep $nap" & echo \$BASHPID >"\$1/starts-\$WINDLASS_RANK"; wait; wait', sh, \$AZ_BATCHAI_OUTPUT_MODEL]
Y
    "$windlass" run -f "$work/told/job.yaml" --state "$work/told/state" >"$work/told/said" 2>&1 &
    run_pid=$!
    until_true 60 have_started told 2 && until_true 60 pgrep -f "sleep $nap" >/dev/null || return 1
    kill -TERM $run_pid
    wait $run_pid
    code=$?
    [ $code -eq 130 ] && [ "$(cat "$work"/told/out/models/heard-{0,1} | xargs)" = "heard heard" ] && says told 'told interrupted' && ! pgrep -f "sleep $nap" >/dev/null
}
# A prepare that does not end gets the signal, too.
told_early() {
    local run_pid code
    manifest early 2 <<'Y'
launcher: None
prepare: [bash, -c, 'trap "sleep 0.5; echo heard >\"$1/heard-$WINDLASS_INDEX\"; exit 0" TERM; echo >"$1/starts-$WINDLASS_INDEX"; sleep 600 & wait', sh, $AZ_BATCHAI_OUTPUT_MODEL]
command: ["true"]
Y
    "$windlass" run -f "$work/early/job.yaml" --state "$work/early/state" >"$work/early/said" 2>&1 &
    run_pid=$!
    until_true 60 have_started early 2 || return 1
    kill -TERM $run_pid
    wait $run_pid
    code=$?
    [ $code -eq 130 ] && [ "$(cat "$work"/early/out/models/heard-{0,1} | xargs)" = "heard heard" ]
}
logs() {
    [ "$("$windlass" logs --state "$work/again/state" | grep -c '^\[[01]\] ')" -gt 3 ] && "$windlass" logs code --state "$work/code/state" --worker 1 | grep -qx '\[1\] last words' &&
        ! "$windlass" logs code --state "$work/code/state" --worker 0 | grep -q '^\[1\]'
}

mpi_too() {
    if mpicc -o "$work/sum" tests/e2e/train/sum.c 2>/dev/null && mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
        check "mpirun over two workers of this machine" mpi; show hello
        check "and a rank's code comes through" mpi_code; show seven
        check "a command's \$WINDLASS_ names have their values" mpi_words; show words
        check "one without a value ends the job by name" mpi_words_unknown; show unknown
    else
        echo "skip Open MPI: it is not here"
    fi
}
trainings() {
    mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "skip trainings: Open MPI is not here"; return; }
    check "a training, its metrics, its model, its log" trains; show trains
    check "its record; run again it is not trained, and what was changed is written again" trains_again; show trains
    check "a changed rate is refused by name; --restart trains anew" trains_anew; show trains
    check "a loss that is not a number ends it at once" no_number; show number
}
has_mpirun() { mpirun --version 2>/dev/null | grep -q 'Open MPI'; }
training_killed() {
    has_mpirun || return
    check "kill -9 of one of its ranks: it continues from its checkpoint" rank_killed; show shot
}
training_left() {
    has_mpirun || return
    check "SIGTERM: its step is saved, and the next run continues from it" left_and_again; show left
}
torch_too() {
    /usr/bin/python3 -c 'import torch' 2>/dev/null || { echo "skip DDP: python3-torch is not here"; return; }
    check "PyTorch's DDP over gloo" ddp; show ddp
}
well() {
    check "variables, prepare, outputs, hostfile" variables; show variables
    check "kill -9 of a rank: all start again" again; show again
}
badly() {
    check "a rank's exit code and the end of its output" rank_code; show code
    check "prepare that fails" prepare_fails; show prepare
    check "a command that is not there" not_found; show nothing
    check "wrong arguments end the job at once" wrong_words; show usage-mpi; show usage-one; show usage-lost; show usage-slow
    check "another exit 2 does not" other_twos; show two-quiet; show two-late
    check "secrets, of files" secret; show secret
    check "--restart of a command: it runs, and its files stay" restarted_command; show restart
}
ends() {
    check "kill -9 of a worker: a successor comes, all start again" killed; show killed
    check "SIGTERM: programs receive it, and none is left" told; show told
    check "two signals: none is left either" twice; show twice
    check "and so does a prepare" told_early; show early
}
draw "how a training is interrupted" 1 training_killed training_left
side_by_side trainings "${drawn[@]}" mpi_too torch_too well badly ends
check "logs of a gang" logs
exit $((failures > 0))
