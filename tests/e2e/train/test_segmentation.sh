#!/usr/bin/env bash
# Pictures with a class per pixel: masks as PNG files, of grey and of a palette, moved with the pictures by crops, flips and
# padding; by one rank and by three; evaluated as PyTorch does; what does not fit is named by file and pixel.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
trainer_begins segmentation 2 python3-torch python3-pil
export WINDLASS_SPEC AGENT="$build/windlass-agent" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
warm_python /usr/bin/python3 tests/e2e/train/segmentation.py numpy onnx torch
python() { ask_python "$@" >"$work/errors" || { tail -3 "$work/errors" | sed 's/^/# /'; return 1; }; }
python make "$data" || exit 3

# train NAME DATA [COMMAND ...]: the log is in $work/log
train() {
    WINDLASS_SPEC=$(printf '{"trainer": {"model": {"path": "data/net.onnx"}, "data": {%s}, "epochs": %s, "batchSize": 16, "ignoreLabel": 255,
        "optimizer": {"kind": "Adam", "learningRate": "0.03"}, "output": {"path": "out/%s"}}}' "$2" "${epochs:-40}" "$1") \
        timeout -k 5 300 "${@:3}" "$trainer" train >"$work/log" 2>&1 || { tail -3 "$work/log" | sed 's/^/# /'; return 1; }
}
last() { awk -F, -v name="$2" 'NR == 1 {for (i = 1; i <= NF; i++) if ($i == name) at = i} END {print $at}' "$out/$1/metrics.csv"; }
set_of() { printf '"%s": {"masks": {"images": "data/%s", "masks": "data/%s", "classes": 3}}' "$1" "$2" "$3"; }
moved='"augment": {"size": 16, "crop": "RandomResized", "flip": true, "pad": 2}'
both="$(set_of train photos classes), $(set_of test photost classest)"

check "masks of grey, with crops, flips and padding: trained" train grey "$moved, $both"
right() { awk -v is="$(last grey test_accuracy)" 'BEGIN {print "# " is; exit !(is >= 0.9)}'; }
check "nine of ten pixels are right" right
check "loss and accuracy are PyTorch's, over the pixels that count" python evaluate "$data" "$out/grey/model.onnx" "$(last grey test_loss)" "$(last grey test_accuracy)"
same() { train palette "$moved, $(set_of train photos palette), $(set_of test photost classest)" && cmp "$out/grey/model.onnx" "$out/palette/model.onnx"; }
check "masks of a palette give the same bits" same
three() {
    epochs=1 train one "$moved, $both" && epochs=1 train three "$moved, $both" mpirun --oversubscribe --bind-to none -np 3 &&
        awk -v a="$(last one loss)" -v b="$(last three loss)" 'BEGIN {print "# " a ", " b; exit !(a > 0 && (a - b) ^ 2 < (1e-3 * a) ^ 2)}'
}
check "three ranks have the loss of one" three
arrays='"augment": {"flip": true}, "train": {"tensors": {"samples": "data/x.npy", "labels": "data/y.npy"}}, "test": {"tensors": {"samples": "data/xt.npy", "labels": "data/yt.npy"}}'
flipped() { train arrays "$arrays" && awk -v is="$(last arrays test_accuracy)" 'BEGIN {print "# " is; exit !(is >= 0.9)}'; }
check "labels of pixels in arrays are flipped with the pictures, too" flipped
counted() {
    grep -q "^data.train: 4 files are left out: " "$work/strays" && grep -qF "2 pictures without a mask (such as 00.png)" "$work/strays" &&
        grep -qF "1 masks without a picture (such as alone.png)" "$work/strays"
}
epochs=1 train strays "\"augment\": {\"size\": 16}, $(set_of train photos-more classes-more)" && cp "$work/log" "$work/strays"
check "files without a partner are counted" counted || head -3 "$work/strays" | sed "s/^/# /"

refused() { # TEXT DATA
    ! train refused "\"augment\": {\"size\": 16}, $2" >/dev/null && grep -qF "$1" "$work/log" || { tail -2 "$work/log" | sed 's/^/# /'; return 1; }
}
check "a number beyond the classes is named by file and pixel" refused "data/wrong/00.png: pixel 3, 2 is 9: 0 to 2 are classes, and 255 does not count (spec.trainer.ignoreLabel)" "$(set_of train photos wrong)"
check "so is a mask of another size" refused "data/small/00.png is 8 x 8 pixels, and its picture 24 x 24" "$(set_of train photos small)"
check "and one of colours" refused "a mask is a PNG of grey or palette with up to 8 bits, this one has 3 channels of 8 bits" "$(set_of train photos photos)"
check "labels of another shape than the pixels are not flipped" refused "augment: crop, size, pad and flip would have to move the labels with the pixels" '"augment": {"flip": true}, "train": {"tensors": {"samples": "data/x.npy", "labels": "data/few.npy"}}'
exit $((failures > 0))
