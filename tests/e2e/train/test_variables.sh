#!/usr/bin/env bash
# What is trained of networks that PyTorch exports: a vision transformer with class token and positions, GroupNorm,
# weight_norm, BatchNorm (equal tensors written once), tied weights, LSTM, buffers. Each parameter has PyTorch's gradient of double
# precision; after a training each has other bits, and nothing else has; or the network is refused by the weights' names,
# and trains with what the message says.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
trainer_begins variables 2 python3-torch
warm_python "$python" tests/e2e/train/variables.py numpy onnx torch torch.onnx
ask_python make "$data" >"$work/made" 2>&1 || { tail -3 "$work/made"; exit 3; }

gradients() { # NAME
    mkdir -p "$data/$1.out"
    "$build/windlass-agent" model gradients "$data/$1.onnx" --input "$data/$1.x.pb" --target "$data/$1.y.pb" \
        --output-dir "$data/$1.out" >"$work/log" 2>&1 && ask_python gradients "$data" "$1"
}
# train NAME MODEL OUT [FREEZE]: the log is in $work/log.
train() {
    WINDLASS_SPEC=$(printf '{"trainer": {"model": {"path": "%s"%s}, "data": {"train": {"tensors": {"samples": "data/%s.x.npy",
        "labels": "data/%s.y.npy"}}}, "epochs": 2, "batchSize": 16, "output": {"path": "out/%s"},
        "optimizer": {"learningRate": "0.01", "momentum": "0"}}}' "$2" "${4:+, \"freeze\": $4}" "$1" "$1" "$3") timeout 60 "$trainer" train >"$work/log" 2>&1
}
export WINDLASS_SPEC
moved() { # NAME OUT [KEPT ...]
    ask_python moved "$data/$1.onnx" "$out/$2/model.onnx" "${@:3}"
}
said() { grep -qxF "$1" "$work/log" || { grep -m 3 trained "$work/log" | sed 's/^/# /'; return 1; }; }

for name in vision groups weights batches tied recurrent folded fused held; do
    check "$name: each parameter has PyTorch's gradient" gradients $name || tail -3 "$work/log" | sed 's/^/# /'
done
declare -A all=([vision]="20 of 20 tensors, 3011" [groups]="6 of 6 tensors, 195" [weights]="5 of 5 tensors, 187" [tied]="4 of 4 tensors, 83812" [recurrent]="6 of 6 tensors, 1115")
for name in "${!all[@]}"; do
    check "$name: trained" train $name data/$name.onnx $name || tail -3 "$work/log" | sed 's/^/# /'
    check "$name: the log says all" said "${all[$name]} of ${all[$name]##* } parameters are trained; frozen: none"
    check "$name: and every weight has moved, no constant has" moved $name $name
    check "$name: nothing looks like a buffer" eval '! grep -q "look like buffers" "$work/log"'
done
check "a tied weight that the exporter has written transposed: trained as one" train folded data/folded.onnx folded
check "and the log says so" grep -q "^tied weights, each trained as one .* (1): rows.weight; " "$work/log"
check "numbers that the exporter has computed from parameters: trained" train sharp data/sharp.onnx sharp
check "whole" said "4 of 4 tensors, 869 of 869 parameters are trained; frozen: none"
check "the log names them" grep -q "^the exporter has computed these, .* (2): onnx::Mul_[0-9]*, onnx::Mul_[0-9]*; " "$work/log"
check "and both have moved, the formula's own number has not" moved sharp sharp
check "frozen numbers of the exporter" train sharp data/sharp.onnx frozen '["onnx::Mul_*"]'
check "are not called trained" eval '! grep -q "^the exporter has computed these" "$work/log"'
whole() { said "26 of 26 tensors, 6683 of 6683 parameters are trained; frozen: none"; }
check "copied layers of the recipe's export, with a transformer's dropout: trained" train copies data/copies.apart.onnx apart
check "each of them apart" whole
check "none is called tied" eval '! grep -q "^tied weights" "$work/log"'
check "of the default export: the exporter has tied them" train copies data/copies.onnx copies
check "and the log says so, with the way out" grep -q "^tied weights, each trained as one .* copies of one.*TrainingMode.TRAINING" "$work/log"
check "fused attention: trained" train fused data/fused.onnx fused
fused() { said "5 of 5 tensors, 1803 of 1803 parameters are trained; frozen: none"; }
check "whole" fused
again() { # its result, read back
    "$build/windlass-agent" model run "$out/fused/model.onnx" --input "x=$data/fused.x.pb" --output-dir "$work/scores" >/dev/null &&
        train fused out/fused/model.onnx fused-further && fused
}
check "its result is run, and trained further" again
check "operators of three domains: trained" train domains data/domains.onnx domains || tail -3 "$work/log"
check "whole" said "4 of 4 tensors, 83 of 83 parameters are trained; frozen: none"
check "the result declares each domain, and every weight has moved" moved domains domains
check "it is trained further" train domains out/domains/model.onnx domains-further
runs() {
    cp "$out/domains/model.onnx" "$data/domains.run" && node tests/e2e/engine/runtime.cjs "$runtime" "$data" domains.run &&
        "$build/windlass-agent" model run "$out/domains/model.onnx" --input "x=$data/domains.x.pb" --output-dir "$work/domains" >/dev/null &&
        ask_python agrees "$data/domains.run" "$work/domains" || { head -c 300 "$data/domains.run/ort.json" | sed 's/^/# /'; return 1; }
}
if runtime=$(tests/onnxruntime.sh); then check "and ONNX Runtime gives the same scores" runs; else echo "skip ONNX Runtime: npm could not get it"; fi
further() { train groups out/groups/model.onnx further && said "6 of 6 tensors, 195 of 195 parameters are trained; frozen: none"; }
check "the result is trained further: what was a constant is not one of its weights" further
check "BatchNorm with tensors written once: trained" train batches data/batches.onnx batches
check "all ten" said "10 of 10 tensors, 795 of 795 parameters are trained; frozen: none"
check "the log names the four statistics that are not" grep -q "^not trained, 4 statistics of norms.* (32 numbers): .*bn.running_mean" "$work/log"
check "a norm that was frozen in a network in train(), and spectral norms: trained" train held data/held.onnx held
held() { said "13 of 13 tensors, 931 of 931 parameters are trained; frozen: none"; }
check "whole" held
kept() { said "norms that keep their statistics (1): /an/part/BatchNormalization; they were in eval() when others were in train(): to have these averaged, too, export with all of them in train()"; }
check "the log names the norm" kept
buffers=(an.part.running_mean an.part.running_var middle.part.parametrizations.weight.0._u middle.part.parametrizations.weight.0._v
    old.part.weight_u old.part.weight_v)
check "its statistics and other buffers keep their bits" moved held held "${buffers[@]}"
check "and when the result is trained further" train held out/held/model.onnx held-further
check "also whole" held
check "with the same buffers" moved held held-further "${buffers[@]}"
like="these look like buffers, by name or because a formula can have made their numbers, and they are trained as weights"
way="a file does not say which tensors the module trains: name the others in model.freeze (docs/training/buffers.md prints them)"
check "buffers of a module: trained" train tables data/tables.onnx tables
check "the log names those that look like buffers, and no parameter" said "$like (3): pe, pixel_mean, places; $way"
check "with what that page prints" train tables data/tables.onnx tables-frozen "$(tr "'" '"' <"$data/tables.freeze" | sed 's/^freeze: //')"
frozen() {
    said "7 of 12 tensors, 1035 of 2213 parameters are trained; frozen: fixed, pe, pixel_mean, places, drawn" &&
        moved tables tables-frozen pe pixel_mean places drawn fixed && ! grep -q "look like buffers" "$work/log"
}
check "they keep their bits, all others learn, and the log has no such line" frozen

refused() { # NAME TEXT [FREEZE]
    train "$1" "data/$1.onnx" "bad-$1" "${3:-}"
    [ $? -eq 2 ] && grep -qF "$2" "$work/log" && [ ! -e "$out/bad-$1/model.onnx" ] || { tail -3 "$work/log" | sed 's/^/# /'; return 1; }
}
inner='"inner.weight", "inner.bias"'
check "an operator without a gradient is refused, the weights before it by name" refused determinant "this operator has no gradient, so 2 weights before it"
check "with the node's name" grep -q 'Det node "/Det' "$work/log"
check "with the way out" grep -qF "spec.trainer.model.freeze: [" "$work/log"
cured() {
    train determinant data/determinant.onnx determinant "$1" && said "2 of 4 tensors, 27 of 9275 parameters are trained; frozen: inner.weight, inner.bias" &&
        moved determinant determinant inner.weight inner.bias
}
check "which trains the rest, and keeps their bits" cured "[$inner]"
check "a pattern that matches nothing is refused" refused vision 'model.freeze: no weight of the network is named as "positionz"' '["positionz"]'
check "noise in the network is refused by name" refused noise "operators not supported (opset 14): RandomNormalLike"

# checkEvery: a machine that computes wrong. One bit (of weight enough to move a weight) is flipped in what an MPI_Allreduce
# gives one of three ranks: a gradient, or, at the end of an epoch, a norm's average. The rank is named within checkEvery steps.
if mpicc -shared -fPIC -x c -o "$work/flip.so" - 2>/dev/null <<'C'
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    static int calls;
    int rank, result = PMPI_Allreduce(from, to, count, type, op, comm);
    PMPI_Comm_rank(comm, &rank);
    if (type == MPI_FLOAT && count >= 64 && ++calls == atoi(getenv("FLIP_CALL")) && rank == 1) {
        ((uint32_t *)to)[0] ^= 1u << 22;
    }
    return result;
}
C
then
    sed "s#LD_PRELOAD=[^ ]*#&:$work/flip.so#" "$trainer" >"$work/flipping"
    chmod +x "$work/flipping"
    ranks() { # PROGRAM OUT CHECK-EVERY FLIP: three ranks, four steps an epoch, three epochs
        WINDLASS_SPEC='{"trainer": {"model": {"new": "CNN"}, "data": {"train": {"synthetic": {"count": 250, "classes": 6, "shape": [2, 12, 12]}}},
            "epochs": 3, "batchSize": 64, "checkEvery": '$3', "output": {"path": "out/'$2'"}}}' \
            timeout -k 5 120 mpirun --oversubscribe --bind-to none -x FLIP_CALL="$4" -np 3 "$1" train >"$work/log" 2>&1
    }
    named() { grep -q "rank [0-2] of 3: step $1: rank 1 on $(hostname) has other $2 than 2 of the 3 ranks: its machine computes or sends wrong numbers\$" "$work/log"; }
    ranks "$trainer" alike 1 0
    check "checkEvery: ranks that are alike come to their end" [ $? -eq 0 ]
    ranks "$work/flipping" flipped 2 3
    check "checkEvery: a flipped bit of a gradient ends the round, to try again (exit 3)" [ $? -eq 3 ]
    check "checkEvery: the rank, and its weight, are named within 2 steps" named 4 "weights of [a-z0-9.]*"
    ranks "$work/flipping" flipped 100 5
    check "checkEvery: a flipped bit of an average, too" [ $? -eq 3 ]
    check "checkEvery: with its rank" named 4 "averages of bn[0-9].running_[a-z]*"
    ranks "$trainer" flipped 1 0
    check "checkEvery: the next round comes to the end of one undisturbed" cmp "$out/alike/model.onnx" "$out/flipped/model.onnx"
    ranks "$work/flipping" unchecked 0 3
    check "checkEvery: 0 compares nothing" [ $? -eq 0 ]
else
    echo "skip checkEvery: mpicc is not here"
fi
exit $((failures > 0))
