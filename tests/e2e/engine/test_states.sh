#!/usr/bin/env bash
# spec.scorer.onnx.inputs with a state: an item is a sequence, the network goes through it step by step, and what an output
# was is an input of the next step. Each item begins with zeros, whatever was scored before.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/engine/onnx_job.sh
mkdir -p "$work/data/"{arrays,rows}
PYTHONPATH=tests/data/models python3 - "$work" <<'P'
import json, random, struct, sys
from make import model, node, tensor, value
folder = sys.argv[1]
# h [2, 1, 4] -> hn = h / 2 + x, p = the sum of hn: what a step gives depends on all steps before it.
nodes = [node("Mul", ["h", "half"], ["faded"]), node("Add", ["faded", "x"], ["hn"]), node("Mul", ["hn", "k"], ["scaled"]),
         node("Reshape", ["scaled", "row"], ["flat"]), node("MatMul", ["flat", "ones"], ["p"])]
row = b"\x08\x02\x10\x07\x42\x03row\x4a\x10" + struct.pack("<qq", 1, 8)
open(f"{folder}/model/fading.onnx", "wb").write(model(
    nodes, [value("x", [1, 4]), value("h", [2, 1, 4]), value("k", [1])], [value("p", [1, 1]), value("hn", [2, 1, 4])],
    [tensor("half", [1], [0.5]), tensor("ones", [8, 1], [1] * 8), row]))
# The same state, without fixed sizes: steps of any length; p is the sum of hn.
nodes = [node("Mul", ["h", "half"], ["faded"]), node("ReduceSum", ["x", "axis"], ["sum"]), node("Add", ["faded", "sum"], ["hn"]),
         node("Identity", ["hn"], ["p"])]
axis = b"\x08\x01\x10\x07\x42\x04axis\x4a\x08" + struct.pack("<q", 1)
open(f"{folder}/model/free.onnx", "wb").write(model(
    nodes, [value("x", ["n", "s"]), value("h", ["n", 1])], [value("p", ["n", 1]), value("hn", ["n", 1])],
    [tensor("half", [1], [0.5]), axis]))
# Two inputs in steps and a constant for each item: hn = h / 2 + x * m * c.
nodes = [node("Mul", ["h", "half"], ["faded"]), node("Mul", ["x", "m"], ["xm"]), node("Mul", ["xm", "c"], ["xmc"]),
         node("Add", ["faded", "xmc"], ["hn"]), node("MatMul", ["hn", "ones"], ["p"])]
open(f"{folder}/model/two.onnx", "wb").write(model(
    nodes, [value("x", ["n", 4]), value("m", ["n", 1]), value("h", ["n", 4]), value("c", ["n", 4])],
    [value("p", ["n", 1]), value("hn", ["n", 4])], [tensor("half", [1], [0.5]), tensor("ones", [4, 1], [1] * 4)]))
draw = random.Random(19)
def npy(path, shape, values):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    open(path, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values))
items = [[draw.randrange(-64, 64) / 8 for _ in range(3 * 4)] for _ in range(40)]
npy(f"{folder}/data/arrays/a.npy", [40, 3, 4], [number for item in items for number in item])
lists = [[draw.randrange(-64, 64) / 8 for _ in range(4 * draw.randrange(1, 9))] for _ in range(60)]
with open(f"{folder}/data/rows/a.jsonl", "w") as file:
    for i, numbers in enumerate(lists):
        file.write(json.dumps({"id": i, "sound": {"samples": numbers}}) + "\n")
    file.write('{"id": 60, "sound": {"samples": [1, 2, 3]}}\n{"id": 61, "sound": {"samples": [1, 2, "x", 4]}}\n{"id": 62}\n')
json.dump([items, lists], open(f"{folder}/wanted.json", "w"))
P
# What the steps give, computed here, beside the rows of the job.
same() { # ROWS WHICH SCALE
    python3 - "$1" "$2" "$3" "$work/wanted.json" <<'P'
import json, sys
seen, items = [json.loads(line) for line in open(sys.argv[1])], json.load(open(sys.argv[4]))[int(sys.argv[2])]
if len(seen) != len(items):
    sys.exit(f"# {len(seen)} rows")
for row, item in zip(seen, items):
    state, wanted = [0.0] * 4, []
    for at in range(0, len(item), 4):
        state = [a / 2 + b for a, b in zip(state, item[at:at + 4])]
        wanted.append(2 * sum(state) * float(sys.argv[3]))
    if any(abs(a - b) > 1e-4 * max(1, abs(b)) for a, b in zip(row.get("values", [row.get("value")]), wanted, strict=True)):
        sys.exit(f"# {row} {wanted}")
P
}
holds() { jq -es "$1" "$2" >/dev/null; }
inputs='{name: h, state: hn}, {name: k, constant: [3]}'
network="path: model/fading.onnx, output: p, postprocess: {type: Values}"
size=7
onnx_job '{npy: {path: data/arrays}}' "$network, inputs: [$inputs]" 'mode: AppendRow'
check "a state along the steps of each slice" same "$work/data/out/rows.txt" 0 3
onnx_job '{npy: {path: data/arrays}}' "path: model/fading.onnx, postprocess: {type: Raw}, inputs: [$inputs]" 'mode: AppendRow'
check "Raw has each step of an output, and a state's last value" \
    holds 'length == 40 and all((.p | length == 3) and (.hn | length == 2 and .[0][0][0] == .[1][0][0]))' "$work/data/out/rows.txt"
size=1KB fields='  errorThreshold: -1'
onnx_job '{table: {path: data/rows, format: JSONLines}}' "$network, inputs: [{name: x, steps: /sound/samples}, $inputs]" \
    'mode: AppendRow, format: JSONLines, key: [id]'
check "lists of any length in a table" same "$work/data/out/rows.jsonl" 1 3
check "a list that does not end with a step is a failed item" [ "$(jq -r .cause "$work/data/out/failed.jsonl" 2>/dev/null |
    grep -c 'a multiple of 4\|is not a number of type float32\|not a list')" = 3 ]
free="path: model/free.onnx, output: p, postprocess: {type: Values}"
mkdir "$work/data/free"
printf '{"id": 0, "x": [1, 2, 4, 8, 16]}\n{"id": 1, "x": [32]}\n{"id": 2, "x": [1, 1, 2, 2]}\n' >"$work/data/free/a.jsonl"
onnx_job '{table: {path: data/free, format: JSONLines}}' "$free, inputs: [{name: x, steps: x, size: 2, pad: true}, {name: h, state: hn}]" \
    'mode: AppendRow, format: JSONLines, key: [id]'
check "steps of a size that the network leaves free, the last one filled up" \
    holds 'map([(.id | tonumber), (.values // [.value])]) | sort == [[0, [3, 13.5, 22.75]], [1, [32]], [2, [2, 5]]]' "$work/data/out/rows.jsonl"
onnx_job '{table: {path: data/free, format: JSONLines}}' "$free, inputs: [{name: x, steps: x, size: 2}, {name: h, state: hn}]" \
    'mode: AppendRow, format: JSONLines, key: [id]'
check "without pad lists that do not end with a step fail" \
    [ "$(grep -c 'a multiple of 2 (pad: true fills up the last step)' "$work/data/out/failed.jsonl")" = 2 ]
mkdir "$work/data/two"
cat >"$work/data/two/a.jsonl" <<L
{"id": 0, "x": [1, 2, 3, 4, 5, 6, 7, 8], "m": [1]}
{"id": 1, "x": [1, 2, 3, 4, 5, 6, 7, 8], "m": [1, 2]}
{"id": 2, "x": [1, 0, 0, 0], "m": [3]}
{"id": 3, "x": [1, 0, 0, 0], "m": [3, 1, 1]}
{"id": 4, "x": [0, 1, 0, 0], "m": [-1]}
L
onnx_job '{table: {path: data/two, format: JSONLines}}' "path: model/two.onnx, output: p, postprocess: {type: Values}, \
    inputs: [{name: x, steps: x}, {name: m, steps: m}, {name: h, state: hn}, {name: c, constant: [2]}]" \
    'mode: AppendRow, format: JSONLines, key: [id]'
check "two inputs in steps, and a constant of each item" \
    holds 'map([(.id | tonumber), (.values // [.value])]) | sort == [[1, [20, 114]], [2, [6]], [4, [-2]]]' "$work/data/out/rows.jsonl"
check "a row whose inputs have unequal steps fails alone" \
    holds 'map(.cause | match("input .*").string) | sort == ["input \"m\" has 1 steps, another one has 2",
        "input \"m\" has 3 steps, another one has 1"]' "$work/data/out/failed.jsonl"
fields=
wanted=2 size=auto
onnx_job '{table: {path: data/free, format: JSONLines}}' "$free, inputs: [{name: x, steps: x}, {name: h, state: hn}]" 'mode: AppendRow'
check "a free size without size" says 'does not say how many numbers a step has: an input of fixed sizes, or with one free axis and size'
onnx_job '{npy: {path: data/arrays}}' "$network, inputs: [{name: h, state: hx}, {name: k, constant: [3]}]" 'mode: AppendRow'
check "a state of no output" says 'spec.scorer.onnx.inputs[0].state: the network has no output "hx"'
onnx_job '{npy: {path: data/arrays}}' "$network, inputs: [{name: h, state: p}, {name: k, constant: [3]}]" 'mode: AppendRow'
check "an output that is not as its state" says 'the output "p" is float32 1x1, its state "h" is float32 2x1x4'
onnx_job '{table: {path: data/rows, format: JSONLines}}' "$network, inputs: [{name: x, columns: [id]}, $inputs]" 'mode: AppendRow'
check "columns beside a state" says 'beside a state each input takes one step of one item'
onnx_job '{table: {path: data/rows, format: JSONLines}}' \
    "$network, inputs: [{name: x, steps: /sound/samples}, {name: h, constant: [0]}, {name: k, constant: [3]}]" 'mode: AppendRow'
check "steps without a state" says 'step by step only with a state beside it'
exit $((failures > 0))
