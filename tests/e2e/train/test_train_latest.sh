#!/usr/bin/env bash
# A training that begins with `latest` of a registry: the version that it began with is that of all its rounds and, of a
# Sweep, of all its trials, whatever is registered meanwhile; applied again it says what has moved.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass-trainer" "${BUILD:-build}/windlass" || { echo "not ok test_train_latest: cannot be built"; exit 1; }
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
resting_ranks "$work/bin" || exit 3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# registry NAME: versions 7 and 8; `latest` is 7.
registry() {
    mkdir -p "$work/$1/models/net/7" "$work/$1/models/net/8" "$work/$1/out"
    for version in 7 8; do
        "$build/windlass-agent" model new cnn --classes 6 --shape 2x12x12 --seed $version -o "$work/$1/models/net/$version/model.onnx" >/dev/null
    done
    point "$1" 7
}
point() { echo "$2" >"$work/$1/models/net/new" && mv "$work/$1/models/net/new" "$work/$1/models/net/latest"; }
trial() { # EPOCHS: the spec of a training
    cat <<Y
workers: 1
trainer:
  model: {path: models/net/latest/model.onnx}
  data:
    train: {synthetic: {count: 250, classes: 6, shape: [2, 12, 12]}}
    test: {synthetic: {count: 90, classes: 6, shape: [2, 12, 12]}}
  epochs: $1
  batchSize: 64
  optimizer: {kind: SGD, learningRate: "${2:-0.01}"}
  checkpoint: {everySeconds: 1, keep: 2}
  output: {path: out/trained}
volumes:
  - {name: models, persistentVolumeClaim: {claimName: models}}
  - {name: out, persistentVolumeClaim: {claimName: out}}
Y
}
manifest() { # NAME KIND: the spec comes on stdin
    { printf 'apiVersion: windlass.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n' "$2" "$1"; sed 's/^/  /'; } >"$work/$1/job.yaml"
}
launch() { timeout 120 "$work/bin/windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" "${@:2}" >"$work/$1/said" 2>&1 </dev/null & run=$!; }
runs() {
    rm -rf "$work/$1/state"
    launch "$@"
    wait $run
    code=$?
}
until_there() { local end=$((SECONDS + 60)); until compgen -G "$1" >/dev/null || [ $SECONDS -ge $end ]; do nap 0.05; done; }
began_with() { cat "$@" | jq -rs '[.[].paths["models/net/latest/model.onnx"]] | unique | join(" ")'; }
says() { grep -qF -- "$2" "$work/$1/said" "$work/$1"/state/*.log; }
show() { [ $failures -eq "${shown:-0}" ] || { shown=$failures; tail -qn 8 "$work/$1/said" "$work/$1"/state/*.log | sed 's/^/# /'; }; }

##### a round that follows ########################################################################
registry again
trial 300 | manifest again DistTrain
launch again
until_there "$work/again/out/trained/.windlass/*/checkpoint/*"
point again 8
for file in $(grep -lsF "out=$work/again/out" /proc/[0-9]*/environ); do
    grep -qsz '^train$' "${file%environ}cmdline" && file=${file#/proc/} && kill -9 "${file%/environ}" # its rank
done
wait $run
code=$?
check "a training goes on with what it began with (code $code)" [ "$code $(began_with "$work"/again/out/trained/.windlass/*/paths.json)" = "0 models/net/7/model.onnx" ]
check "in another round" says again "this training goes on with what it began with"
check "from its checkpoint" says again "continues from the checkpoint of step"
check "result.json says which" [ "$(began_with "$work/again/out/trained/result.json")" = models/net/7/model.onnx ]
show again
runs again
check "applied again it says what has moved (code $code)" says again "models/net/latest/model.onnx: latest is now 8, was 7 since this training came to its end: rerun with --restart"
check "and changes nothing" [ "$(began_with "$work"/again/out/trained/.windlass/*/paths.json)" = models/net/7/model.onnx ]
runs again --restart
check "--restart takes the newer one" [ "$code $(began_with "$work"/again/out/trained/.windlass/*/paths.json)" = "0 models/net/8/model.onnx" ]
show again

##### the trials of a Sweep #######################################################################
registry sweep
{
    cat <<Y
objective: {metric: accuracy, goal: Maximize}
parameters: [{name: RATE, choice: ["0.01", "0.02", "0.03"]}]
algorithm: {kind: Grid}
maxTrials: 3
maxConcurrentTrials: 1
trial:
Y
    trial 2 '$(RATE)' | sed 's/^/  /'
} | manifest sweep Sweep
launch sweep
until_there "$work/sweep/out/trained/sweep-*/0000/.windlass/*/paths.json"
point sweep 8
wait $run
code=$?
check "all trials begin with one version (code $code)" [ "$code $(ls -d "$work"/sweep/out/trained/sweep-*/000? | wc -l) $(began_with "$work"/sweep/out/trained/sweep-*/000?/.windlass/*/paths.json)" = "0 3 models/net/7/model.onnx" ]
show sweep

##### data that changes between the trials of a Sweep ##############################################
registry data
mkdir -p "$work/data/files"
{ printf '\0\0\010\003\0\0\0\200\0\0\0\014\0\0\0\014'; head -c $((128 * 144)) /dev/urandom; } >"$work/data/files/images"
{ printf '\0\0\010\001\0\0\0\200'; head -c 128 /dev/zero | tr '\0' '\1'; } >"$work/data/files/labels"
{
    cat <<Y
objective: {metric: accuracy, goal: Maximize}
parameters: [{name: RATE, choice: ["0.01", "0.02", "0.03"]}]
algorithm: {kind: Grid}
maxTrials: 3
maxConcurrentTrials: 1
trial:
  volumes:
    - {name: files, persistentVolumeClaim: {claimName: files}}
    - {name: out, persistentVolumeClaim: {claimName: out}}
  workers: 1
  trainer:
    model: {new: MLP, classes: 2, shape: [1, 12, 12]}
    data: {train: {idx: {images: files/images, labels: files/labels}}, test: {idx: {images: files/images, labels: files/labels}}}
    epochs: 2
    batchSize: 64
    optimizer: {kind: SGD, learningRate: "\$(RATE)"}
    output: {path: out/trained}
Y
} | manifest data Sweep
launch data
until_there "$work/data/out/trained/data-*/0000/result.json"
{ head -c 8 "$work/data/files/labels"; head -c 128 /dev/zero; } >"$work/data/files/other" && mv "$work/data/files/other" "$work/data/files/labels"
wait $run
code=$?
check "trials that train with other data than the first one say so (code $code)" says data "data.train: files are others than when the first trial of this Sweep began"
check "the Sweep ends with it" grep -q "the best of 3 trials .*; data-.*: files of trainer.data (train test) are others" "$work/data/said"
check "a result says which data" [ "$code $(jq -r .input.changed "$work"/data/out/trained/data-*/0002/result.json)" = "0 train test" ]
check "the first one had none" [ "$(jq -r .input.changed "$work"/data/out/trained/data-*/0000/result.json)" = null ]
show data
exit $((failures > 0))
