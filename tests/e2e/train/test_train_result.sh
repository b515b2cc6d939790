#!/usr/bin/env bash
# What a DistTrain that has succeeded leaves, by `windlass run`: result.json of a training and of a user's command, with
# each rank's exit, every file of the outputs, signed with spec.signingKey; windlass verify finds what is changed. The
# result of an earlier training is gone when the next one begins, and one of an older start does not hold. A program's
# own result.json is kept.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" "${BUILD:-build}/windlass-trainer" || { echo "not ok test_train_result: cannot be built"; exit 1; }
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "skip test_train_result: Open MPI is not here"; exit 0; }
windlass=$build/windlass
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
unset WINDLASS_STORES_FOLDER OMPI_COMM_WORLD_SIZE PMIX_RANK PMIX_NAMESPACE
mkdir -p "$work/secrets/results" "$work/out"
openssl genpkey -algorithm ed25519 -out "$work/secrets/results/key.pem" 2>/dev/null
openssl pkey -in "$work/secrets/results/key.pem" -pubout -out "$work/public.pem"
openssl genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:1024 -out "$work/secrets/results/rsa.pem" 2>/dev/null
signs='signingKey: {secretName: results, key: key.pem}'

# manifest NAME <FIELDS
manifest() {
    {
        printf 'apiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: %s}\nspec:\n  workers: 2\n' "$1"
        printf '  volumes: [{name: out, hostPath: {path: %s}}]\n' "$work/out"
        sed 's/^/  /'
    } >"$work/$1.yaml"
}
run() { # NAME [OPTION...]: its exit code is in $code
    local name=$1
    shift
    timeout -k 5 120 "$windlass" run -f "$work/$name.yaml" --state "$work/state-$name" --secrets "$work/secrets" "$@" >"$work/$name.log" 2>&1 </dev/null
    code=$?
}
command_job() { # NAME LAUNCHER SCRIPT [FIELDS]: the script has its output in $1
    {
        jq -nc --arg script "$3" --arg name "$1" '["bash", "-c", $script, "bash", "$(out)/" + $name]' | sed 's/^/command: /'
        printf 'image: registry.test/any:1\nlauncher: %s\nrestart: {maxRestarts: %s}\noutputs: [{id: MODEL, path: out/%s}]\n%s\n' "$2" "${restarts:-0}" "$1" "${4:-}"
    } | manifest "$1"
    run "$1"
}
result() { jq -r "$2" "$work/out/$1/result.json"; }
verify() { "$windlass" verify "$work/out/$1" "${@:2}" >"$work/verified" 2>&1; }

##### a training ###################################################################################
training() { # NAME EPOCHS [FIELDS]
    manifest "$1" <<M
slotsPerWorker: 2
trainer:
  model: {new: CNN, classes: 4, shape: [1, 8, 8]}
  data: {train: {synthetic: {count: 64, classes: 4, shape: [1, 8, 8]}}}
  epochs: $2
  batchSize: 32
  optimizer: {learningRate: "0.01"}
  output: {path: out/$1}
${3:-}
M
}
training trained 2 "$signs"
run trained
check "a training succeeds and is verified with its key" eval '[ $code -eq 0 ] && verify trained --key "$work/public.pem"'
check "its result names each rank's exit" eval '[ "$(result trained "[.proof.by, .proof.count, ([.proof.exits[] | [.rank, .worker[0:8], .exitCode]] | sort)] | tostring")" = \
    "[\"Ranks\",4,[[0,\"trained-\",0],[1,\"trained-\",0],[2,\"trained-\",0],[3,\"trained-\",0]]]" ]'
check "and the hash of the manifest that it has" eval '[ "$(jq -cjS .manifest "$work/out/trained/result.json" | sha256sum | cut -d" " -f1)" = "$(result trained .manifestSHA256)" ]'
check "the key is in no file of the job" eval '! grep -rlE "PRIVATE KEY|SIGNING_KEY=" "$work/out" "$work/state-trained" | grep .'
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out "$work/other.pem"
check "another key does not verify it" eval '! verify trained --key "$work/other.pem"'

# .windlass is deleted by hand: result.json still says whose results are there.
training lost 1
run lost
sed -i.kept 's/"kind": "DistTrain"/"kind": "BatchScore"/' "$work/out/lost/result.json"
run lost --restart
check "a BatchScore's result is not for a training to replace, with .windlass (code $code)" eval '[ $code -ne 0 ] && grep -qF "out/lost holds the result of BatchScore lost (result.json): choose another output" "$work/lost.log"'
mv "$work/out/lost/result.json.kept" "$work/out/lost/result.json"
rm -r "$work/out/lost/.windlass"
training lost 2
run lost
check "without .windlass another training is refused (code $code)" eval '[ $code -ne 0 ] && verify lost'
check "by name" grep -qF "out/lost holds the results of job lost (result.json), started with a different spec, and .windlass is gone: rerun with --restart" "$work/lost.log"
sed -i.kept 's/"kind": "DistTrain"/"kind": "BatchScore"/' "$work/out/lost/result.json"
run lost --restart
check "and a BatchScore's result is not for a training to replace (code $code)" eval '[ $code -ne 0 ] && grep -qF "out/lost holds the result of BatchScore lost (result.json): choose another output" "$work/lost.log"'
mv "$work/out/lost/result.json.kept" "$work/out/lost/result.json"
run lost --restart
check "--restart trains anew (code $code)" eval '[ $code -eq 0 ] && [ "$(result lost .counts.epochs)" = 2 ] && verify lost'
rm -r "$work/out/lost/.windlass"
run lost
check "and the same training trains once more (code $code)" eval '[ $code -eq 0 ] && verify lost'
# A restart that ends before it has a model leaves none: the one that was there is another training's.
rm -r "$work/out/lost/.windlass"
training lost 2
sed -i 's/"0.01"/"1e6"/; s/new: CNN/new: MLP/; s/epochs: 2/epochs: 40/' "$work/lost.yaml" # without norms it diverges
run lost --restart
check "a restart that diverges leaves nothing of the training before (code $code)" eval '[ $code -eq 1 ] && ! compgen -G "$work/out/lost/model.onnx" && ! compgen -G "$work/out/lost/result.*"'
# What is larger than any result.json of ours is none.
rm -r "$work/out/lost/.windlass"
head -c 5000000 /dev/zero >"$work/out/lost/result.json"
training lost 1
run lost
check "a file of that name that is too large counts as none (code $code)" eval '[ $code -eq 0 ] && verify lost'

# A command's files would be among the training's, and neither would be whole.
command_job lost None 'echo x >"$1/x"'
check "a training's result is not for a command to replace (code $code)" eval '[ $code -ne 0 ] && [ ! -e "$work/out/lost/x" ] && verify lost'
check "in words" grep -qF "out/lost holds the result of DistTrain lost, made by its trainer (result.json): choose another output" "$work/lost.log"

# An older start that another one has overtaken wrote its result last.
folder=$work/out/trained/.windlass/$(result trained .run)/claim
newer=$(printf %012d $(($(result trained .generation) + 1)))
echo stranger >"$folder/$newer"
check "the result of an overtaken start does not hold" eval '! verify trained && grep -q "^a newer start .*claim/$newer$" "$work/verified"'
rm "$folder/$newer"
check "and it holds without the newer one" verify trained
cp -r "$work/out/trained" "$work/copied" && rm -r "$work/copied/.windlass"
check "of a copy it says that newer starts cannot be known" eval '"$windlass" verify "$work/copied" | grep -q "^not checked .*started again since"'
rm -r "$work/copied"

# The next start of the same training fails: what it found is not its result.
cp "$work/trained.yaml" "$work/again.yaml"
run trained --restart
check "made anew it is verified" eval '[ $code -eq 0 ] && verify trained --key "$work/public.pem"'
mv "$work/out/trained/model.onnx" "$work/kept.onnx"
mkdir -p "$work/out/trained/model.onnx/in-the-way"
run trained
check "a later training that fails leaves no result" eval '[ $code -ne 0 ] && [ ! -e "$work/out/trained/result.json" ] && [ ! -e "$work/out/trained/result.intoto.jsonl" ]'
verify trained
check "and verify says so" eval '[ $? -ne 0 ] && ! verify trained; grep -q "has no result.json: job trained is still running there or has not succeeded" "$work/verified"'
rm -rf "$work/out/trained"

training rsa 1 'signingKey: {secretName: results, key: rsa.pem}'
run rsa
check "a key of another algorithm ends it before anything starts" eval '[ $code -eq 2 ] && [ ! -e "$work/out/rsa/model.onnx" ]'
grep -q "spec.signingKey: a key of another algorithm, expected an ed25519" "$work/rsa.log" "$work"/state-rsa/*.log
check "and it says what is expected" [ $? -eq 0 ]

##### an output that is absent when a training ends ################################################
# Moved away once it has begun; again and three times as long, where the training was faster.
mkdir "$work/far"
training far 200
sed -i "s|path: $work/out}|path: $work/far}|; s/count: 64/count: 1024/; s/CNN/MLP/; s/slotsPerWorker: 2/slotsPerWorker: 1/; s/workers: 2/workers: 1/" "$work/far.yaml"
waits() { grep -q '^far: Running: step .*; waits for the output.s storage: out/far: volume "out", folder .*/far: No such file' "$work/far.log"; }
for ((try = 1; try <= 5; try++)); do
    run far --restart &
    until_true_while $! 60 compgen -G "$work/far/far/.windlass/*/claim/*" >/dev/null
    mv "$work/far" "$work/away"
    until_true_while $! 60 waits
    seen=$?
    mv "$work/away" "$work/far"
    wait $!
    [ $seen -ne 0 ] || break
    rm -rf "$work"/far/far # with the claim of this try
    epochs=$((3 * ${epochs:-200}))
    sed -i "s/epochs: .*/epochs: $epochs/" "$work/far.yaml"
done
tail -n 3 "$work/far.log" | sed 's/^/# /'
check "a training that cannot store its result says what it waits for (try $try)" [ $seen -eq 0 ]
check "and ends whole when its output is there again" eval 'grep -q "^far succeeded" "$work/far.log" && "$windlass" verify "$work/far/far" >/dev/null'

##### a command ####################################################################################
script='mkdir -p "$1/sub" "$1/.hidden" && mpirun -np 3 bash -c "echo \$OMPI_COMM_WORLD_RANK >$1/sub/rank.\$OMPI_COMM_WORLD_RANK" && echo model >"$1/model.bin"'
# The program looks for the key in the variables of all processes of this machine.
sed -n 2p "$work/secrets/results/key.pem" >"$work/out/needle"
script+=' && { grep -lasF -f "$1/../needle" /proc/[0-9]*/environ >"$1/seen"; true; }'
command_job ranks MPI "$script" "$signs
slotsPerWorker: 2
logs: {path: out/ranks/logs}"
check "a command's result holds, and is signed" eval '[ $code -eq 0 ] && verify ranks --key "$work/public.pem"'
check "it names each rank's exit" eval '[ "$(result ranks "[.kind, .proof.by, .proof.count, ([.proof.exits[].rank] | sort), (.proof.exits | map(.exitCode) | add)] | tostring")" = "[\"DistTrain\",\"Ranks\",3,[0,1,2],0]" ]'
check "and all files" eval '[ "$(jq -r ".[0]" "$work/out/ranks/result.outputs.jsonl" | paste -sd" ")" = "model.bin seen sub/rank.0 sub/rank.1 sub/rank.2" ]'
check "no program has seen the key" [ -e "$work/out/ranks/seen" -a ! -s "$work/out/ranks/seen" ]
echo other >"$work/out/ranks/model.bin"
check "a changed file is found" eval '! verify ranks && grep -q "^changed  *model.bin" "$work/verified"'
command_job ranks MPI 'exit 3' "$signs"
check "a later run that fails leaves no result" eval '[ $code -eq 1 ] && [ ! -e "$work/out/ranks/result.json" ] && [ ! -e "$work/out/ranks/result.outputs.jsonl" ] && [ -e "$work/out/ranks/model.bin" ]'

check "nor what says that the ranks of the one before had ended" eval '! compgen -G "$work/out/ranks/.windlass/*/ended/*" >/dev/null'

# Two jobs with one output: the second one begins while the first one works.
command_job two None 'touch "$1/begun"; until [ -e "$1/go" ]; do sleep 0.05; done' &
until_true 60 [ -e "$work/out/two/begun" ]
sed 's/{name: two}/{name: other}/; s/touch .*; done/echo x >$1\/y; touch $1\/go/' "$work/two.yaml" >"$work/other.yaml"
run other
wait $!
check "two jobs with one output: the first one succeeds, and says why it has no result" eval 'grep -q "^two succeeded" "$work/two.log" && grep -q "^  result   out/two: another job has begun to write there (uid " "$work/two.log"'
check "two jobs with one output: the result is the second one's" eval '[ "$code $(result two .name)" = "0 other" ] && verify two'

command_job none None 'echo "$WINDLASS_RANK" >"$1/$WINDLASS_RANK"; mkdir -p "$1/inner"; ln -sf /etc/passwd "$1/link"; echo x >"$1/inner/x"' "$signs
outputs: [{id: MODEL, path: out/none}, {id: INNER, path: out/none/inner}]"
sed -i '/outputs: \[{id: MODEL, path: out\/none}\]$/d' "$work/none.yaml"
run none
check "without MPI, with an output in another and a link out of it" eval '[ $code -eq 0 ] && verify none && verify none/inner --key "$work/public.pem"'
check "each process's exit is there" eval '[ "$(result none "[.proof.by, ([.proof.exits[] | [.rank, .worker]] | sort)] | tostring")" = "[\"Processes\",[[0,\"none-0\"],[1,\"none-1\"]]]" ]'

command_job empty None 'true'
check "a program that leaves nothing in its output succeeds, and the end says so" eval '[ $code -eq 0 ] && verify empty && grep -q "^  result   out/empty holds no file: the program has left nothing there$" "$work/empty.log"'

training empty 1
run empty --restart
check "and a command's result is not for a training to replace (code $code)" eval '[ $code -ne 0 ] && [ ! -e "$work/out/empty/model.onnx" ] && verify empty && grep -qF "out/empty holds the result of DistTrain empty, made by its command (result.json): choose another output" "$work/empty.log"'

##### NAME-0 dies while it reads what they left ####################################################
# 1 GiB without a byte on disk takes a while to hash. The ranks must not start again: each start leaves a line.
agent_of() { # JOB INDEX
    local of_job
    of_job=$(pgrep windlass-agent | sed 's|.*|/proc/&/environ|' | xargs -r grep -lszx "WINDLASS_JOB=$1")
    # shellcheck disable=SC2086 # several files
    [ -n "$of_job" ] && grep -lszx "WINDLASS_INDEX=$2" $of_job | head -n 1 | cut -d/ -f3
}
is_stored() { compgen -G "$work/out/$1/.windlass/*/ended/00000$2" >/dev/null; }
kill_while_hashing() { # NAME: kills its NAME-0 as soon as it is stored that all have ended; true: the result was not there yet
    local pid='' name=$1 turn
    for turn in $(seq 1200); do
        pid=${pid:-$(agent_of "$name" 0)}
        [ ! -e "$work/out/$name/result.json" ] || return 1
        [ -z "$pid" ] || ! is_stored "$name" 1 || break
        nap 0.05
    done
    [ -n "$pid" ] && kill -9 "$pid" && [ ! -e "$work/out/$name/result.json" ]
}
ends() { # NAME LAUNCHER COMMAND: again under another name where the result was there before the killer
    local name try killed=1
    for ((try = 1; try <= 10 && killed != 0; try++)); do
        name=$1$try
        mkdir -p "$work/out/$name"
        truncate -s 1G "$work/out/$name/large"
        kill_while_hashing "$name" &
        local killer=$!
        command_job "$name" "$2" "$3" "prepare: [bash, -c, 'echo >>\$(out)/$name.prepared']
metrics: {objective: loss, goal: Minimize}"
        wait "$killer"
        killed=$?
    done
    check "$1: NAME-0 is killed before there is a result (try $((try - 1)))" [ $killed -eq 0 ]
    check "$1: the job succeeds" [ $code -eq 0 ]
    check "$1: and was started once" [ "$(grep -c "started again" "$work/$name.log")" = 0 ]
    check "$1: no rank has started again" [ "$(wc -l <"$work/out/$name/starts")" = "$(wc -l <"$work/out/$name.prepared")" ]
    check "$1: its second pod finds that all have ended" grep -rq "all ranks had ended with 0 under an earlier pod" "$work/state-$name"
    check "$1: the result has the exits of the first one's round" [ "$(result "$name" '[(.proof.round / 1048576 | floor), .proof.count, (.proof.exits | length)] | tostring')" = "[1,2,2]" ]
    check "$1: and holds" verify "$name"
    check "$1: no report is lost that its status had not got yet" grep -q '^  best     loss 1 of 3 reports$' "$work/$name.log"
}
restarts=0 # its end is not a restart of the work
ends hashed None 'echo >>"$1/starts"; seq -f "loss: %.0f" 3 -1 1'
restarts=2
ends hashedmpi MPI 'mpirun -np 2 bash -c "echo >>$1/starts; seq -f \"loss: %.0f\" 3 -1 1"'
restarts=0
rm -rf "$work"/out/hashed*

# Killed while the ranks run, it may not come back to start them.
kill_at_work() {
    local turn
    for turn in $(seq 1200); do
        [ "$(wc -l 2>/dev/null <"$work/out/early/starts")" != 2 ] || break
        nap 0.05
    done
    kill -9 "$(agent_of early 0)"
}
kill_at_work &
command_job early None 'echo >>"$1/starts"; sleep 100'
wait $!
check "killed earlier, with maxRestarts 0, the job fails" [ $code -eq 1 ]
check "no rank has started again" [ "$(wc -l <"$work/out/early/starts")" = 2 ]
check "it names the pod that ended" grep -q "early failed: .*; more is in the log of pod early-0$" "$work/early.log"
check "a second pod has looked" grep -rq "the ranks had not all ended with 0 under the pod before, and spec.restart.maxRestarts allows" "$work/state-early"
check "and there is no result" [ ! -e "$work/out/early/result.json" ]

command_job own None 'echo "{}" >"$1/result.json"; echo x >"$1/x"'
check "a program's own result.json is kept" eval '[ $code -eq 0 ] && [ "$(cat "$work/out/own/result.json")" = "{}" ]'
grep -hq "result.json is not written: out/own/result.json is a file of the program" "$work"/own.log "$work"/state-own/*
check "and the log says that there is no other" [ $? -eq 0 ]
command_job own None 'echo x >"$1/x"'
check "also by a later run" eval '[ $code -eq 0 ] && [ "$(cat "$work/out/own/result.json")" = "{}" ]'
rm -rf "$work/out/own" "$work/out/ranks"
exit "$((failures > 0))"
