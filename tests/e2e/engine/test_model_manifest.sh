#!/usr/bin/env bash
# `windlass-agent model check` prints the lines of a manifest that feed a network and deliver its outputs: jobs of just these
# lines run, for detectors, texts, rows and readers of lines.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
agent=$(realpath "${BUILD:-build}/windlass-agent")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/model" "$work/data/photos" "$work/data/texts" "$work/data/rows"
python3 tests/data/models/make_detectors.py "$work/model"
python3 tests/data/models/make_texts.py "$work/model"
python3 tests/data/models/make.py "$work/model"
PYTHONPATH=tests/data/models python3 - "$work" <<'P'
import struct, sys, zlib
from make import model, node, tensor, value
folder = sys.argv[1]
# Pictures of any width and 48 pixels high -> [N, width / 8, 12], as a reader of lines has them.
nodes = [node("AveragePool", ["x"], ["p"], kernel_shape=[48, 8], strides=[48, 8]), node("Conv", ["p", "w"], ["c"], kernel_shape=[1, 1]),
         node("Squeeze", ["c", "axis"], ["s"]), node("Transpose", ["s"], ["y"], perm=[0, 2, 1])]
axis = b"\x08\x01\x10\x07\x42\x04axis\x4a\x08" + struct.pack("<q", 2)
weights = tensor("w", [12, 3, 1, 1], [k / 12 - c for k in range(12) for c in range(3)])
open(f"{folder}/model/reader.onnx", "wb").write(model(nodes, [value("x", ["N", 3, 48, "W"])], [value("y", ["N", "T", 12])], [axis, weights]))
# Rows of boxes for all pictures of a run, each with its picture's number.
wide = [v for k in range(4) for v in (k, 1, 2, 5 + k, 6, 3, 0.9)]
open(f"{folder}/model/ends.onnx", "wb").write(model(
    [node("ReduceMean", ["x"], ["m"], axes=[0, 1, 2, 3]), node("Mul", ["m", "zero"], ["z"]), node("Add", ["z", "rows"], ["y"])],
    [value("x", ["N", 3, 32, 32])], [value("y", ["K", 7])], [tensor("zero", [1, 1], [0.0]), tensor("rows", [4, 7], wide)]))
# Three sensors in 128 steps, of any number of items.
open(f"{folder}/model/sensors.onnx", "wb").write(model(
    [node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=0)], [value("x", ["N", 128, 3])], [value("y", ["N", 3])]))
# Sound of any length above that of its window.
ones = b"\x08\x01\x10\x07\x42\x03one\x4a\x08" + struct.pack("<q", 1)
open(f"{folder}/model/sound.onnx", "wb").write(model(
    [node("Unsqueeze", ["x", "one"], ["u"]), node("AveragePool", ["u"], ["y"], kernel_shape=[400], strides=[160])],
    [value("x", ["N", "L"])], [value("y", ["N", 1, "T"])], [ones]))
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(4):
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 60 + 20 * i, 50, 8, 2, 0, 0, 0))
    png += chunk(b"IDAT", zlib.compress((b"\0" + bytes((12 * i, 9, 90)) * (60 + 20 * i)) * 50)) + chunk(b"IEND", b"")
    open(f"{folder}/data/photos/p{i}.png", "wb").write(png)
open(f"{folder}/data/texts/a.csv", "w").write("text\nthe cat\nthe dog ran\n")
open(f"{folder}/data/rows/a.csv", "w").write("a,b\n1,2\n3,4\n")
open(f"{folder}/model/characters.txt", "w").write("".join(f"{c}\n" for c in "abcdefghijk"))
open(f"{folder}/model/sums.onnx", "wb").write(model(
    [node("Add", ["a", "b"], ["sum"]), node("Mul", ["sum", "k"], ["y"])], [value("a", ["N", 1]), value("b", ["N", 1]), value("k", [1])],
    [value("y", ["N", 1])]))
# Sound step by step, with a state that has the shape of a picture of one channel.
open(f"{folder}/model/steps.onnx", "wb").write(model(
    [node("Add", ["mix", "mix"], ["enh"]), node("Identity", ["cache"], ["cache_out"])], [value("mix", [1, 5, 1, 2]), value("cache", [2, 1, 3, 4])],
    [value("enh", [1, 5, 1, 2]), value("cache_out", [2, 1, 3, 4])]))
# Two heads, beside a constant of any length.
open(f"{folder}/model/heads.onnx", "wb").write(model(
    [node("Add", ["x", "k"], ["u"]), node("Mul", ["x", "k"], ["v"])], [value("x", ["N", 2]), value("k", ["K"])],
    [value("u", ["N", 2]), value("v", ["N", 2])]))
P
lines() { "$agent" model check "$work/model/$1.onnx" | sed -n '/^manifest/,$p'; }
# The job of the printed lines; MORE edits them, as their remarks say.
job() { # MODEL INPUT [MORE: a sed program]; its exit code is in $code
    {
        printf 'apiVersion: windlass.dev/v1alpha1\nkind: BatchScore\nmetadata: {name: printed}\nspec:\n  input: %s\n' "$2"
        lines "$1" | sed "s/^manifest   /  /; s/VOLUME/model/; ${3:-}"
        printf '  output: {path: data/out, mode: AppendRow}\n  volumes:\n'
        printf '    - {name: %s, persistentVolumeClaim: {claimName: %s}}\n' data data model model
    } >"$work/job.yaml"
    discard "$work/data/out" "$work/state"
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
    [ $code -eq 0 ] || { tail -n 5 "$work/log"; cat "$work/job.yaml"; } | sed 's/^/# /'
}
rows() { [ $code -eq 0 ] && jq -es "$1" "$work/data/out/rows.txt" >/dev/null; }
photos='{files: {path: data/photos}}'
job yolov8 "$photos"
check "a detector" rows 'length == 4 and all(.boxes | length > 0)'
job yolov10 "$photos" 's/Boxes}/Boxes, form: YOLOv10}/'
check "one whose form must be named" rows 'length == 4 and all(.boxes | length > 0)'
check "and the forms are named" [ "$(lines yolov10 | grep -c '{type: Boxes}  # form: YOLOv5 or YOLOv10')" = 1 ]
job ends "$photos" 's/# or \(.*\)columns: .*\]}.*/\1columns: [Item, Left, Top, Right, Bottom, Class, Score], maxBoxes: 9}/; /type: Raw/d'
check "one of another form, whose columns must be named" rows 'length == 4 and all(.boxes | length <= 1) and ([.[].boxes[]] | length > 0 and all(.class == 3))'
job states '{table: {path: data/texts}}'
check "a network of texts" rows 'length == 2 and all(.embedding | length == 4)'
check "of outputs with known names the one that is taken" [ "$(lines states | grep -c '{type: Embedding}  # of last_hidden_state$')" = 1 ]
check "one number for each row" [ "$(lines sums | grep -m1 -o 'postprocess: {type: [A-Za-z]*')" = "postprocess: {type: Values" ]
check "how the pictures of a detector's form are" [ "$(lines yunet | grep -c 'preprocess: {range: Byte, color: BGR}')" = 1 ]
check "how many columns a table must have" [ "$(lines joined | grep -c '# columns: \[...\]  # of input.table: 3 names, in order')" = 1 ]
job sums '{table: {path: data/rows}}' 's/constant: \[0\]/constant: [2]/'
check "columns beside a constant" rows '[.[].values[0]] == [6, 14]'
check "a state is not taken for a picture" [ "$(lines steps | grep -c '{name: "cache", state: "cache_out"}')" = 1 ]
check "also beside a constant of any length" [ "$(lines heads | grep -c '# columns: \[...\]  # of input.table: 2 names')" = 1 ]
job heads '{table: {path: data/rows}}' 's/# columns: \[...\]/columns: [a, b]/; s/constant: \[0\]/constant: [2]/'
check "two outputs that fit, under their names" rows 'length == 2 and all(has("u") and has("v"))'
job classes "$photos"
check "classes of pictures" rows 'length == 4 and all(.classes | length == 3)'
check "a reader of lines is not taken for a detector" [ "$(lines reader | grep -m1 -o 'postprocess: {type: [A-Za-z]*')" = "postprocess: {type: Text" ]
job reader "$photos"
check "a reader of lines, whose height is fixed" rows 'length == 4 and all(has("text"))'
check "and its number of characters is named" [ "$(lines reader | grep -c 'if it was trained by CTC with 12 classes')" = 1 ]
check "slices of steps are not taken for pictures" [ "$(lines sensors | grep -c '# of input.npy: one slice for each item')" = 1 ]
check "a network with a window is tried on longer inputs" [ "$(lines sound | grep -c 'postprocess: {type:')" -ge 1 ]
exit $((failures > 0))
