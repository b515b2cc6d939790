#!/usr/bin/env bash
# Losses in whole trainings against PyTorch's: CTC (letters of lines, of which the places are not known) and classes with
# weights; by one and by three ranks. What does not fit is refused by name.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
trainer_begins losses 2 python3-torch
export AGENT="$build/windlass-agent" WINDLASS_SPEC OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
warm_python /usr/bin/python3 tests/e2e/losses/losses.py numpy onnx torch
python() { ask_python "$@" >"$work/errors" || { tail -3 "$work/errors" | sed 's/^/# /'; return 1; }; }
python make "$data" || exit 3

# train NETWORK SAMPLES LABELS FIELDS OUT [COMMAND ...]: the log is in $work/log
train() {
    WINDLASS_SPEC=$(printf '{"trainer": {"model": {"path": "data/%s.onnx"}, "data": {"train": {"tensors": {"samples": "data/%s.npy", "labels": "data/%s.npy"}},
        "test": {"tensors": {"samples": "data/%st.npy", "labels": "data/%st.npy"}}}, "output": {"path": "out/%s"}, %s}}' \
        "$1" "$2" "$3" "$2" "$3" "$5" "$4") timeout -k 5 300 "${@:6}" "$trainer" train >"$work/log" 2>&1 || { tail -3 "$work/log" | sed 's/^/# /'; return 1; }
}
last() { awk -F, -v name="$2" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) at = i} END {print $at}' "$out/$1/metrics.csv"; }
alike() { awk -v a="$(last "$1" "$3")" -v b="$(last "$2" "$3")" 'BEGIN {print "# " a ", " b; exit !(a > 0 && (a - b) ^ 2 < (2e-4 * a) ^ 2)}'; }
three=(mpirun --oversubscribe --bind-to none -np 3)

ctc='"loss": "CTC", "blankLabel": 4, "batchSize": 50, "epochs": 8, "optimizer": {"kind": "Adam", "learningRate": "0.01"}'
check "CTC: trained" train lines lines letters "$ctc" lines
right() { awk -v is="$(last lines test_accuracy)" 'BEGIN {print "# " is; exit !(is >= 0.95)}'; }
check "19 of 20 lines are read whole" right
check "its loss is CTCLoss's" python lines "$data" "$out/lines/model.onnx" "$(last lines test_loss)"
short='"loss": "CTC", "blankLabel": 4, "batchSize": 50, "epochs": 1, "optimizer": {"learningRate": "0.1"}'
ranks() { # NAME FIELDS NETWORK SAMPLES LABELS
    train "${@:3}" "$2" "$1-1" && train "${@:3}" "$2" "$1-3" "${three[@]}" && alike "$1-1" "$1-3" loss && alike "$1-1" "$1-3" test_loss
}
check "three ranks have the losses of one" ranks ctc "$short" lines lines letters

weights='"classWeights": ["0.25", "3", "1.5"], "batchSize": 1200, "epochs": 20, "optimizer": {"learningRate": "0.5", "momentum": "0"}'
check "classes with weights: trained" train rare v y "$weights" rare
check "to PyTorch's weights, with its loss and accuracy" python rare "$data" "$out/rare/model.onnx" "$(last rare test_loss)" 20 "$(last rare accuracy)"
check "three ranks have the losses of one, though each has other labels" ranks weights "${weights/1200/100}" rare v y
check "and its accuracy" alike weights-1 weights-3 accuracy
weightless() {
    WINDLASS_SPEC='{"trainer": {"model": {"path": "data/rare.onnx"}, "data": {"train": {"tensors": {"samples": "data/v.npy", "labels": "data/z.npy"}}},
        "classWeights": ["0", "3", "1.5"], "labelSmoothing": "0.1", "batchSize": 400, "epochs": 2, "optimizer": {"learningRate": "0.5"}, "output": {"path": "out/zero"}}}' \
        timeout -k 5 300 "$trainer" train >"$work/log" 2>&1 || { tail -3 "$work/log" | sed 's/^/# /'; return 1; }
}
check "samples of weight 0 are trained" weightless
check "and change no weight, though labels are smoothed" python untrained "$data" "$out/zero/model.onnx"
check "their loss is not known" grep -qE 'epoch 2 of 2, step 6: loss unknown, accuracy 0\.[0-9]+, learning rate' "$work/log"

refused() { # TEXT NETWORK SAMPLES LABELS FIELDS
    train "$2" "$3" "$4" "\"batchSize\": 50, \"epochs\": 1, \"optimizer\": {\"learningRate\": \"0.1\"}, $5" refused >/dev/null
    [ $? -eq 1 ] && grep -qF "$1" "$work/log" || { tail -2 "$work/log" | sed 's/^/# /'; return 1; }
}
check "a blank beyond the classes of the network is refused" refused "blankLabel 5: 0 to 4 are the network's classes" lines lines letters '"loss": "CTC", "blankLabel": 5'
check "as is a label that is the blank" refused "labels data/letters.npy: sample 80: label 3 is the blank (loss.blankLabel)" lines lines letters '"loss": "CTC", "blankLabel": 3'
check "scores that are not steps" refused "CTC needs scores [samples, steps, classes] and labels [samples, labels]" rare v y '"loss": "CTC"'
check "a weight too many" refused "classWeights: there are 4, and 3 classes" rare v y '"classWeights": ["1", "1", "1", "1"]'
check "weights for another loss" refused "classWeights: belongs to loss: CrossEntropy" lines lines letters '"loss": "CTC", "blankLabel": 4, "classWeights": ["1", "1", "1", "1", "1"]'
exit $((failures > 0))
