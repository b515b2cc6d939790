#!/usr/bin/env bash
# Each optimizer, clipping, factors of layers, accumulation and the average of the weights follow PyTorch's trainings of
# double precision over 100 steps, to 1e-5; with 2 and 4 ranks as with one; killed, they continue with the same bits.
# `make test` draws five of ten settings with one rank, two of four with two, and 2 or 4 ranks for the norms.
#   SOAK_ROUNDS: each optimizer with five more networks and data; SOAK_SEED: the first of them
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
trainer_begins optimizers 1 python3-torch
warm_python "$python" tests/e2e/train/optimizers.py numpy onnx torch torch.onnx
ask_python make "$data" >"$work/made" 2>&1 || { tail -3 "$work/made"; exit 3; }

# train NAME NETWORK EPOCHS BATCH RANKS FIELDS: FIELDS are JSON; the log is in $work/NAME.log
train() {
    local start=() samples=x labels=y
    [ "$2" = bn ] && samples=p labels=q
    [ "$5" -gt 1 ] && start=(mpirun --oversubscribe --bind-to none -np "$5")
    WINDLASS_SPEC="{\"trainer\": {\"model\": {\"path\": \"data/$2.onnx\"}, \"data\": {\"train\": {\"tensors\": {\"samples\": \"data/$samples.npy\",
        \"labels\": \"data/$labels.npy\"}}}, \"epochs\": $3, \"batchSize\": $4, \"output\": {\"path\": \"out/$1\"}, $6}}" \
        timeout -k 5 300 "${start[@]}" "$trainer" train >"$work/$1.log" 2>&1 || { tail -4 "$work/$1.log" | sed 's/^/# /'; return 1; }
}
# follows NAME RANKS FIELDS: 100 steps, each with all samples
follows() {
    train "$1" mlp 100 60 "$2" "$3" && ask_python curve "$data" "$out/$1/model.onnx" "{\"epochs\": 100, $3}"
}
declare -A fields=(
    [sgd]='"optimizer": {"kind": "SGD", "learningRate": "0.05", "momentum": "0.9", "weightDecay": "0.01"}'
    [nesterov]='"optimizer": {"kind": "SGD", "learningRate": "0.05", "momentum": "0.9", "nesterov": true, "clipNorm": "0.05"}'
    [adam]='"optimizer": {"kind": "Adam", "learningRate": "0.003", "weightDecay": "0.01", "noDecay": []}'
    [adamw]='"optimizer": {"kind": "AdamW", "learningRate": "0.003", "weightDecay": "0.1", "noDecay": ["*.bias"], "clipNorm": "0.02"}'
    [lamb]='"optimizer": {"kind": "LAMB", "learningRate": "0.003", "weightDecay": "0.02"}'
    [rmsprop]='"optimizer": {"kind": "RMSprop", "learningRate": "0.002", "weightDecay": "0.01", "epsilon": "1e-4"}'
    # (A rate of 0.02 is unstable here: rounding errors grow to 1e-4, by the processor.)
    [adagrad]='"optimizer": {"kind": "Adagrad", "learningRate": "0.005", "clipValue": "0.01"}'
    [layers]='"optimizer": {"kind": "SGD", "learningRate": "0.05", "layerRates": [{"weights": "body.0.*", "factor": "0.1"}, {"weights": "body.*", "factor": "2"}]}'
    [average]='"optimizer": {"kind": "Adam", "learningRate": "0.002"}, "ema": {"decay": "0.95"}'
    [parts]='"optimizer": {"kind": "AdamW", "learningRate": "0.002", "weightDecay": "0.1"}, "gradientAccumulationSteps": 7'
)
draw "settings" 5 sgd nesterov adam adamw lamb rmsprop adagrad layers average parts
for name in "${drawn[@]}"; do
    check "$name: 100 steps as PyTorch's" follows $name 1 "${fields[$name]}"
done
draw "settings with 2 ranks" 2 adamw lamb parts average
for name in "${drawn[@]}"; do
    check "$name: with 2 ranks" follows $name-2 2 "${fields[$name]}"
done
check "clipped, 4 ranks: the norm is that of the whole batch" follows adamw-4 4 "${fields[adamw]}"

apart() { ask_python apart "$out/$1/model.onnx" "$out/$2/model.onnx" "${@:3}"; }
# The last batch of an epoch has 12 samples, so some ranks have parts of one sample, and some fewer parts.
partial() {
    local own='"optimizer": {"kind": "AdamW", "learningRate": "0.01"}'
    train whole mlp 10 16 1 "$own" && train partial mlp 10 16 4 "$own, \"gradientAccumulationSteps\": 3" && apart whole partial
}
check "parts of a short last batch over 4 ranks: the weights of one" partial

# BatchNorm on samples of very different spread; batches of 16, the last of 12 (or 1: some ranks then have no sample).
norms() { # NAME BATCH RANKS FIELDS
    train "$1" bn 5 "$2" "$3" "\"optimizer\": {\"kind\": \"SGD\", \"learningRate\": \"0.02\"}$4"
}
said_of_ranks() { grep -q '^1 batch normalization uses the statistics of each rank.s own samples: the result depends on the number of ranks, here 2; with syncBatchNorm: true it does not$' "$work/$1.log"; }
sync=', "syncBatchNorm": true'
check "BatchNorm, 1 worker" norms bn-1 16 1 "$sync"
check "2 workers, each with its own statistics: other weights" norms bn-own 16 2 ""
check "by more than 1e-3" apart bn-1 bn-own 1e-3
check "and the log says so" said_of_ranks bn-own
draw "ranks with norms" 1 2 4
for ranks in "${drawn[@]}"; do
    check "syncBatchNorm, $ranks workers: the weights of one" norms bn-$ranks 16 $ranks "$sync"
    check "to 1e-5" apart bn-1 bn-$ranks
    check "and the log has no such line" test -z "$(grep "own samples" "$work/bn-$ranks.log")"
done
few() { norms few-1 19 1 "$sync" && norms few-4 19 4 "$sync" && apart few-1 few-4; }
check "syncBatchNorm, a last batch of 3 samples over 4 workers" few

# kill_first NAME EPOCHS FIELDS: kill -9 once there is a checkpoint; 1: the training had ended before; 2: no checkpoint.
kill_first() {
    local pid code=2
    (WINDLASS_RUN=00000000000000bb train "$1" mlp "$2" 2 1 "$3") &
    pid=$!
    for ((i = 0; i < 1200; i++)); do
        compgen -G "$out/$1/.windlass/*/checkpoint/*" >/dev/null && code=0 && break
        kill -0 $pid 2>/dev/null || { code=1 && break; }
        nap 0.05
    done
    pkill -9 -P "$(pgrep -P $pid -x timeout)" 2>/dev/null
    wait $pid && [ $code = 0 ] && code=1
    return $code
}
# killed NAME FIELDS: kill -9 in the middle of a training, and another start: the bits of the undisturbed one. A training
# that ends before the kill was too short for this machine: again, with four times the epochs.
killed() {
    local more="$2, \"checkpoint\": {\"everySeconds\": 1, \"keep\": 2}" epochs=400 code
    until kill_first "killed-$1" $epochs "$more"; do
        code=$? epochs=$((epochs * 4))
        { [ $code = 1 ] && [ $epochs -le 102400 ]; } || { echo "# no checkpoint within 60 s, or always ended before"; return 1; }
        discard "${out:?}/killed-$1"
    done
    train "quiet-$1" mlp $epochs 2 1 "$more" && WINDLASS_RUN=00000000000000bb train "killed-$1" mlp $epochs 2 1 "$more" &&
        grep -q '^continues from the checkpoint' "$work/killed-$1.log" && cmp "$out/quiet-$1/model.onnx" "$out/killed-$1/model.onnx"
}
check "killed with moments, average, parts and a clipped norm: the same bits" killed all \
    '"optimizer": {"kind": "LAMB", "learningRate": "0.0005", "clipNorm": "0.1"}, "ema": {"decay": "0.99"}, "gradientAccumulationSteps": 2'
rounds=${SOAK_ROUNDS:+5}
for ((seed = ${SOAK_SEED:-1}; seed < ${SOAK_SEED:-1} + ${rounds:-0}; seed++)); do
    ask_python make "$data" $seed >"$work/made" 2>&1 || exit 3
    for name in "${!fields[@]}"; do
        check "$name, seed $seed: 100 steps as PyTorch's" follows "$name-of-$seed" 1 "${fields[$name]}"
    done
done
exit $((failures > 0))
