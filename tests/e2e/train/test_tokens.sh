#!/usr/bin/env bash
# Networks of tokens: an LSTM learns which of two tokens came first (PyTorch: 99.6 % with the same network, data and
# steps), and, with one class per token, where the last do not count, which tokens have it before them. Then the losses of numbers.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
trainer_begins tokens 2 python3-torch
/usr/bin/python3 tests/e2e/train/tokens.py make "$data" >"$work/made" 2>&1 || { tail -3 "$work/made"; exit 3; }

# train NETWORK SAMPLES LABELS EPOCHS RATE [MORE FIELDS]: the log is in $work/NETWORK.log
train() {
    WINDLASS_SPEC=$(printf '{"trainer": {"model": {"path": "data/%s.onnx"}, "data": {"train": {"tensors": {"samples": "data/%s.npy", "labels": "data/%s.npy"}},
        "test": {"tensors": {"samples": "data/%st.npy", "labels": "data/%st.npy"}}}, "epochs": %s, "batchSize": 64, "output": {"path": "out/%s"},
        "optimizer": {"kind": "Adam", "learningRate": "%s"}%s}}' "$1" "$2" "$3" "$2" "$3" "$4" "$1" "$5" "${6:-}") \
        timeout 300 "$trainer" train >"$work/$1.log" 2>&1 || { tail -4 "$work/$1.log" | sed 's/^/# /'; return 1; }
}
export WINDLASS_SPEC
# at_least NETWORK COLUMN VALUE; at_most: the last epoch's number in metrics.csv
last() { awk -F, -v name="$2" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) at = i} END {print $at}' "$out/$1/metrics.csv"; }
at_least() { awk -v is="$(last "$1" "$2")" -v low="$3" 'BEGIN {print "# " is; exit !(is >= low)}'; }
at_most() { awk -v is="$(last "$1" "$2")" -v high="$3" 'BEGIN {print "# " is; exit !(is <= high)}'; }

check "an LSTM of int32 tokens: trained" train first x y 3 0.01
check "and knows which of two tokens came first" at_least first test_accuracy 0.99
sixteen() { # the same in bfloat16: products are rounded, the recurrent kernels and their gradients are float32
    cp "$data/first.onnx" "$data/first16.onnx" && train first16 x y 3 0.01 ', "precision": "BF16"' && at_least first16 test_accuracy 0.98 &&
        ! cmp -s "$out/first16/model.onnx" "$out/first/model.onnx"
}
check "the same LSTM in bfloat16 knows it, too, with other weights" sixteen
check "a class for each token (int64): trained" train tags x tags 2 0.01
check "and right where places count" at_least tags test_accuracy 0.99
# One batch over three ranks: the texts of each have another number of places that count.
ranks() { # NAME COMMAND ...
    out=$work/ranks-$1 && export out && mkdir -p "$out" || return 1
    WINDLASS_SPEC='{"trainer": {"model": {"path": "data/tags.onnx"}, "data": {"train": {"tensors": {"samples": "data/x.npy", "labels": "data/tags.npy"}}},
        "epochs": 1, "batchSize": 500, "output": {"path": "out/tags"}, "optimizer": {"learningRate": "0.5"}}}' \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 300 "${@:2}" "$trainer" train >"$work/ranks.log" 2>&1 || { tail -3 "$work/ranks.log" | sed 's/^/# /'; return 1; }
}
alike() {
    ranks one env && local one && one=$(last tags loss) && ranks three mpirun --oversubscribe --bind-to none -np 3 &&
        awk -v a="$one" -v b="$(last tags loss)" 'BEGIN {print "# " a ", " b; exit !(a > 0 && (a - b) ^ 2 < (1e-5 * a) ^ 2)}'
}
check "three ranks have the loss of one, though their texts differ in length" alike
out=$work/out
check "several labels, binary cross entropy: trained" train bits v bits 8 0.02 ', "loss": "BinaryCrossEntropy"'
check "with a small loss" at_most bits test_loss 0.15
alike_bits() { awk -v a="$(last bits "$1")" -v b="$(last shares "$1")" 'BEGIN {print "# " a ", " b; exit !(a > 0 && (a - b) ^ 2 < (1e-4 * a) ^ 2)}'; }
check "the same network with a sigmoid at its end: trained" train shares v bits 8 0.02 ', "loss": "BinaryCrossEntropy"'
check "with the loss of the one without" alike_bits loss
check "and that of the test data" alike_bits test_loss
check "outliers, Huber's loss: trained" train sums v sums 8 0.05 ', "loss": "Huber"'
check "which does not follow them" at_most sums test_loss 0.02
check "one number a sample, without an axis of 1: trained" train line v line 8 0.05 ', "loss": "Huber"'
check "alike" at_most line test_loss 0.02
check "a picture for a picture: trained" train clean noisy clean 3 0.02 ', "loss": "MeanSquared"'
check "and it is learned" at_most clean test_loss 0.01
grown() { train wild v bits 2 500 ', "loss": "MeanSquared"' && grep -qE '^the loss has not fallen: [0-9]+\.[0-9]{4} at the first step, [0-9]{2,}\.[0-9]{4} in the last epoch. Lower' "$work/wild.log"; }
check "the log says that a loss has grown" grown
check "only where it has" eval '! grep -q "the loss has not fallen" "$work/bits.log" "$work/first.log"'

refused() { # TEXT NETWORK SAMPLES LABELS [MORE]
    ! train "$2" "$3" "$4" 1 0.01 "${5:-}" >/dev/null && grep -qF "$1" "$work/$2.log" || { tail -2 "$work/$2.log" | sed 's/^/# /'; return 1; }
}
check "integers for a network of floats are refused" refused "the network takes float32, and the samples are int64" bits x y
check "floats for a network of tokens, too" refused "the network takes int32, and the samples are float32" first v y
check "a label that is not a class is refused, with the field" refused "label -100 of sample 0 is not a class; labels that do not count are 255 (spec.trainer.ignoreLabel)" tags x tags ', "ignoreLabel": 255'
check "a label beyond the classes is named by its file and row" refused \
    "data.train: data/x.npy, labels data/beyond.npy: sample 1234: label 5, and the network has 2 classes: 0 to 1 are classes" first x beyond
check "so is a token beyond the vocabulary" refused 'data.train: data/strange.npy, labels data/y.npy: sample 777: Gather node "/embed/Gather": index 10 is out of range for 10 elements' first strange y
check "in the data to test with, too" refused 'data.test: data/latet.npy, labels data/yt.npy: sample 33: Gather node "/embed/Gather": index 10 is out of range for 10 elements' first late y
check "a negative token is not one that is counted from the end" refused 'data.train: data/negative.npy, labels data/y.npy: sample 555: Gather node "/embed/Gather": index -1 is out of range for 10 elements' first negative y
check "nor in the data to test with" refused 'data.test: data/belowt.npy, labels data/yt.npy: sample 33: Gather node "/embed/Gather": index -1 is out of range for 10 elements' first below y
check "nor behind a token that the network adds" refused 'sample 555: Gather node "/embed/Gather": index -1 is out of range for 10 elements' begun negative y
check "nor as a row of ones and zeros, which knows no token beyond the vocabulary" refused 'data.train: data/negative.npy, labels data/y.npy: sample 555: OneHot node "/OneHot": index -1 is out of range for 10 elements' ones negative y
check "either" refused 'data.train: data/strange.npy, labels data/y.npy: sample 777: OneHot node "/OneHot": index 10 is out of range for 10 elements' ones strange y
check "such rows train where all tokens are known" train ones x y 1 0.01
parts3() { # parts of a step on each of three ranks
    WINDLASS_SPEC='{"trainer": {"model": {"path": "data/first.onnx"}, "data": {"train": {"tensors": {"samples": "data/x.npy", "labels": "data/beyond.npy"}}},
        "epochs": 1, "batchSize": 500, "gradientAccumulationSteps": 4, "output": {"path": "out/parts"}, "optimizer": {"learningRate": "0.5"}}}' \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 300 mpirun --oversubscribe --bind-to none -np 3 "$trainer" train >"$work/parts.log" 2>&1
    [ $? -eq 2 ] && grep -qF "labels data/beyond.npy: sample 1234: label 5, and" "$work/parts.log" || { tail -3 "$work/parts.log" | sed 's/^/# /'; return 1; }
}
check "whatever rank and part of a step it is in" parts3
for loss in BinaryCrossEntropy Huber MeanSquared; do
    check "$loss: an output that would broadcast against the targets is refused, with both shapes" refused "the network's output has the shape 64, and the target 64x1" flat v sums ", \"loss\": \"$loss\""
done
check "a softmax before BinaryCrossEntropy is refused, with the way out" refused 'and BinaryCrossEntropy is of numbers that do not depend on each other: take CrossEntropy' halves v bits ', "loss": "BinaryCrossEntropy"'
check "means of probabilities, too" refused 'makes other numbers of the probabilities of Sigmoid node "/1/Sigmoid"' pooled v bits ', "loss": "BinaryCrossEntropy"'
axis() { # the log of a training names the axis taken for the classes only where the shape does not tell it
    train square x tags 1 0.01 && grep -qF 'the scores are 64x20x20: axis 1 and the last one both fit the labels; axis 1 is taken for the classes' "$work/square.log" &&
        ! grep -qF 'both fit the labels' "$work/tags.log"
}
check "as many classes as tokens: the log tells which axis is taken for the classes" axis
check "a class per token where the network has one per text, too" refused "cross entropy needs" first x tags
exit $((failures > 0))
