#!/usr/bin/env bash
# spec.scorer.onnx.inputs in whole jobs, by `windlass run`: pictures for a network that takes [n, h, w, 3], a picture
# beside a constant, and columns for two inputs; what does not fit is refused before any worker starts.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/engine/onnx_job.sh
mkdir -p "$work/data/photos" "$work/data/rows"
python3 tests/data/models/make.py "$work/model"
python3 - "$work/data" <<'P'
import struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(40):  # of one colour each
    row = b"\0" + bytes((5 * i, 250 - 3 * i, 7 * i % 251)) * (30 + i)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 30 + i, 20, 8, 2, 0, 0, 0))
    png += chunk(b"IDAT", zlib.compress(row * 20)) + chunk(b"IEND", b"")
    open(f"{sys.argv[1]}/photos/p{i:02}.png", "wb").write(png)
with open(f"{sys.argv[1]}/rows/a.csv", "w") as file:
    file.write("age,height,weight\n")
    for i in range(3000):
        file.write(f"{i},{i / 2},{-i}\n")
P
photos='{files: {path: data/photos, pattern: "*.png"}}'
rows='{table: {path: data/rows}}'
fields='  retry: {maxTries: 2, timeoutSeconds: 30}'
job() { # INPUT MODEL [FIELDS-OF-ONNX]
    size=4KB
    [ "$1" != "$photos" ] || size=7
    onnx_job "$1" "path: model/$2.onnx, postprocess: {type: Values}${3:+, $3}" 'mode: AppendRow'
}
# Coordinator and workers check the same, at once: on a busy machine a worker may be first, and ends the job with 1.
says() {
    { [ $code -eq 2 ] || { [ $code -eq 1 ] && grep -q "correct what the worker reports" "$work/log"; }; } &&
        grep -qF -- "$1" "$work/log"
}
# Each picture once, in order, with its colours as the expression makes them of (red, green, blue).
colours() { # PYTHON-EXPRESSION
    python3 - "$work/data/out/rows.txt" "$1" <<'P'
import json, sys
seen = [json.loads(line) for line in open(sys.argv[1])]
if [row["file"] for row in seen] != [f"p{i:02}.png" for i in range(40)]:
    sys.exit(f"# {len(seen)} rows, or in another order")
for i, row in enumerate(seen):
    red, green, blue = 5 * i, 250 - 3 * i, 7 * i % 251
    wanted = eval(sys.argv[2])
    if any(abs(a - b) > 2e-3 * max(1, abs(b)) for a, b in zip(row["values"], wanted, strict=True)):
        sys.exit(f"# {row} {wanted}")
P
}

job "$photos" nhwc
check "a network that takes [n, h, w, 3]" colours "(red, green, blue)"
job "$photos" nhwc 'preprocess: {color: BGR, mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375]}'
check "with a mean and a std for each channel, in its order" \
    colours "((blue - 103.53) / 57.375, (green - 116.28) / 57.12, (red - 123.675) / 58.395)"
job "$photos" nhwc 'preprocess: {width: 64, height: 64, fit: Pad, padValue: 255}'
check "Pad: the margins count" [ "$code $(jq -s length "$work/data/out/rows.txt")" = "0 40" ]
check "with their value" python3 -c '
import json, sys
rows = [json.loads(line)["values"] for line in open(sys.argv[1])]
share = 43 / 64  # of a picture of 30x20 in 64x64
sys.exit(any(abs(a - (share * b + (1 - share) * 255)) > 0.5 for a, b in zip(rows[0], (0, 250, 0))))' "$work/data/out/rows.txt"
job "$photos" scaled 'inputs: [{name: k, constant: [0.5]}]'
check "a picture by default, beside a constant" colours "(red / 2, green / 2, blue / 2)"
job "$photos" scaled 'inputs: [{name: x, picture: {}}, {name: k, constant: [2]}], preprocess: {range: Unit}'
check "both by name" colours "(red / 127.5, green / 127.5, blue / 127.5)"
job "$photos" paired 'inputs: [{name: a, picture: {}}, {name: b, picture: {}}]'
check "the picture twice, without an axis for the items" colours "(2 * red, 2 * green, 2 * blue)"
job "$rows" joined 'inputs: [{name: b, columns: [weight, height]}, {name: a, columns: [age]}]'
check "columns for each of two inputs" python3 -c '
import json, sys
seen = [json.loads(line)["values"] for line in open(sys.argv[1])]
sys.exit(seen != [[i, -i, i / 2] for i in range(3000)])' "$work/data/out/rows.txt"

##### what does not fit ##########################################################################
wanted=2
job "$photos" scaled
check "an input that nothing feeds is named" says 'a picture feeds one of them, what feeds k? Name it in spec.scorer.onnx.inputs'
job "$photos" scaled 'inputs: [{name: q, constant: [1]}]'
check "an entry for no input" says 'spec.scorer.onnx.inputs[0].name: the network has no input "q"'
job "$photos" scaled 'inputs: [{name: k, columns: [age]}]'
check "columns of pictures" says 'spec.scorer.onnx.inputs[0].columns: the items of this input are not of that kind: picture or constant is expected'
job "$photos" scaled 'inputs: [{name: k, constant: [1, 2]}]'
check "a constant of another length" says "spec.scorer.onnx.inputs[0].constant: a list of one number"
job "$photos" scaled 'inputs: [{name: k, constant: [1], columns: [age]}]'
check "an entry with two sources" says 'spec.scorer.onnx.inputs[0]: exactly one of picture, columns, tokens, array, constant, steps and state must be given'
job "$rows" joined 'inputs: [{name: a, columns: [age]}, {name: b, columns: [age, size]}]'
check "a missing column, before any worker starts" says 'it has no column "size"'
job "$rows" joined 'inputs: [{name: a, columns: [age]}, {name: b, columns: [age]}]'
check "too few columns for an input, and not a list of its values" says 'column "age" is not a list of 2 values, which b takes'
exit $((failures > 0))
