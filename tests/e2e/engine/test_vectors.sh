#!/usr/bin/env bash
# Embedding, Raw and several heads of Classes, in whole jobs by `windlass run`: vectors of texts are pooled over their own
# tokens, whatever padding they got; every number is that of a computation in Python; what is of no use is named.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/engine/onnx_job.sh
mkdir -p "$work/data/texts" "$work/data/files" "$work/data/rows" "$work/data/bad"
python3 tests/data/models/make_texts.py "$work/model"
PYTHONPATH=tests/data/models python3 - "$work" <<'P'
import csv, json, random, sys
from make import field, model, node, value
random.seed(11)
words = ["the", "cat", "sat", "dog", "ran", "Zebra", "quick", "."]
texts = [" ".join(random.choices(words, k=random.randint(0, 40))) for _ in range(400)]
with open(f"{sys.argv[1]}/data/texts/a.csv", "w", newline="") as file:
    csv.writer(file).writerows([["text"]] + [[text] for text in texts])
with open(f"{sys.argv[1]}/texts.json", "w") as file:
    file.writelines(json.dumps(text) + "\n" for text in texts)
for i in range(5):
    open(f"{sys.argv[1]}/data/files/t{i}.txt", "w").write(texts[i])
with open(f"{sys.argv[1]}/data/rows/a.csv", "w") as file:
    file.write("a,b,c\n" + "".join(f"{i},{i / 8 - 20},{-i}\n" for i in range(500)))
open(f"{sys.argv[1]}/data/bad/a.csv", "w").write("a,b,c\n1,2,3\n4,,6\n7,8,9\n")
# x [N, 3] -> twice = 2 x [N, 3], grid [N, 1, 3], sum [N], whole (int64 [N, 3]), all [3], without an axis of the rows
to_grid = field(1, 3) + field(2, 7) + field(8, "grid_shape") + b"".join(field(7, d) for d in (-1, 1, 3))
nodes = [node("Add", ["x", "x"], ["twice"]), node("Reshape", ["x", "grid_shape"], ["grid"]),
         node("ReduceMean", ["x"], ["mean"], axes=[1], keepdims=0), node("Cast", ["x"], ["whole"], to=7),
         node("ReduceMax", ["x"], ["all"], axes=[0], keepdims=0)]
outputs = [value("twice", ["N", 3]), value("grid", ["N", 1, 3]), value("mean", ["N"]), value("whole", ["N", 3], 7), value("all", [3])]
fixed = [value("twice", [341, 3]), value("grid", [341, 1, 3])]
open(f"{sys.argv[1]}/model/fixed.onnx", "wb").write(model(nodes[:2], [value("x", [341, 3])], fixed, [to_grid]))
open(f"{sys.argv[1]}/model/rows.onnx", "wb").write(model(nodes, [value("x", ["N", 3])], outputs, [to_grid]))
P
job() { onnx_job "$1" "$2" "mode: ${3:-AppendRow}"; } # INPUT ONNX-FIELDS [MODE]
texts='{table: {path: data/texts}}'
rows='{table: {path: data/rows}}'
states='path: model/states.onnx, tokenizer: {path: model/tokenizer.json, columns: [text]}'
"$agent" model tokenize "$work/model/tokenizer.json" --json <"$work/texts.json" >"$work/tokens"

# Each row's embedding is EXPRESSION of v, the list of its tokens' vectors, within 1e-6.
vectors() { # EXPRESSION
    PYTHONPATH=tests/data/models python3 - "$work/data/out/rows.txt" "$work/tokens" "$1" <<'P'
import json, math, sys
from make_texts import vector
def mean(v): return [sum(column) / len(v) for column in zip(*v)]
def unit(v):
    length = math.sqrt(sum(x * x for x in v))
    return [x / length for x in v] if length else v
def flat(v): return [x for y in v for x in flat(y)] if isinstance(v, list) else [v]
side = [0.0] * 4, [1.0, 0.5, 0.25, -1.0]
seen = [json.loads(line) for line in open(sys.argv[1])]
tokens = [json.loads(line) for line in open(sys.argv[2])]
if len(seen) != len(tokens):
    sys.exit(f"# {len(seen)} rows of {len(tokens)}")
for i, (row, told) in enumerate(zip(seen, tokens)):
    v = [[x + s for x, s in zip(vector(t), side[k])] for t, k in zip(told["ids"], told["types"])]
    wanted = flat(eval(sys.argv[3]))
    if len(flat(row["embedding"])) != len(wanted) or any(abs(a - b) > 1e-6 for a, b in zip(flat(row["embedding"]), wanted)):
        sys.exit(f"# row {i}: {row}, not {wanted}")
P
}

##### vectors of texts ############################################################################
job "$texts" "$states, postprocess: {type: Embedding}"
check "the mean of a text's own tokens, by default" vectors "mean(v)"
job "$texts" "$states, postprocess: {type: Embedding, pooling: Max, normalize: true}"
check "their maximum, of length 1" vectors "unit([max(column) for column in zip(*v)])"
job "$texts" "$states, postprocess: {type: Embedding, pooling: CLS}"
check "the first" vectors "v[0]"
job "$texts" "$states, postprocess: {type: Embedding, pooling: Last}"
check "the last" vectors "v[-1]"
job "$texts" "$states, postprocess: {type: Embedding, pooling: None}"
check "all of them" vectors "v"
job "$texts" "$states, output: pooler_output, postprocess: {type: Embedding, normalize: true, dtype: int8}"
check "an output that has one vector for each text, in 8 bits" vectors "[round(127 * x) for x in unit(mean(v))]"
job '{files: {path: data/files}}' 'path: model/states.onnx, tokenizer: {path: model/tokenizer.json}, postprocess: {type: Embedding}' PerFile
cat "$work"/data/out/t?.txt.json >"$work/files"
check "one file for each text" python3 -c '
import json, sys
seen = [json.loads(line) for line in open(sys.argv[1])]
sys.exit([row["file"] for row in seen] != [f"t{i}.txt" for i in range(5)] or any(len(row["embedding"]) != 4 for row in seen))' "$work/files"

##### outputs as they are #########################################################################
same() { # EXPRESSION of i: each row without its name
    python3 - "$work/data/out/rows.txt" "$1" <<'P'
import json, sys
seen = [json.loads(line) for line in open(sys.argv[1])]
names = [row.pop("file") for row in seen]
wanted = [eval(sys.argv[2]) for i in range(500)]
bad = [(a, b) for a, b in zip(seen, wanted) if a != b]
sys.exit(f"# {bad[:1]} {len(seen)}" if bad or len(seen) != 500 or len(set(names)) != 500 else 0)
P
}
columns='path: model/rows.onnx, columns: [a, b, c]'
job "$rows" "$columns, outputs: [whole, twice, grid], postprocess: {type: Raw}"
check "Raw: outputs of any type and shape, under their names" \
    same '{"whole": [i, int(i / 8 - 20), -i], "twice": [2 * i, i / 4 - 40, -2 * i], "grid": [[i, i / 8 - 20, -i]]}'
job "$rows" "${columns/rows/fixed}, output: grid, postprocess: {type: Raw}"
check "only one, of a network that takes exactly 341 rows" same '{"grid": [[i, i / 8 - 20, -i]]}'
job "$rows" "$columns, outputs: [twice, mean], postprocess: {type: Values}"
check "heads of numbers" python3 -c '
import json, sys
for i, line in enumerate(open(sys.argv[1])):
    row = json.loads(line)
    if row["twice"] != [2 * i, i / 4 - 40, -2 * i] or abs(row["mean"][0] - (i / 8 - 20) / 3) > 1e-4:
        sys.exit(f"# {row}")' "$work/data/out/rows.txt"
job "$rows" "$columns, output: twice, postprocess: {type: Classes, scores: Softmax, top: 1}"
check "probabilities of classes" python3 -c '
import json, math, sys
for i, line in enumerate(open(sys.argv[1])):
    values = [2 * i, i / 4 - 40, -2 * i]
    weights = [math.exp(v - max(values)) for v in values]
    best = json.loads(line)["classes"]
    if len(best) != 1 or best[0]["index"] != weights.index(max(weights)) or abs(best[0]["score"] - 1 / sum(weights)) > 1e-6:
        sys.exit(f"# {best}")' "$work/data/out/rows.txt"

##### what does not fit ###########################################################################
wanted=2
job "$rows" "$columns, postprocess: {type: Raw}"
check "an output without an axis of the rows, before any worker starts" \
    says 'the network'"'"'s output "all" is float32 3 for 2 items, the first axis must be that of the items: name others, or set spec.miniBatchSize: 1'
job "$rows" "$columns, outputs: [grid, size], postprocess: {type: Raw}"
check "no such output" says 'spec.scorer.onnx.outputs[1]: the network has no output "size", it has "twice", "grid", "mean", "whole", "all"'
job "$rows" "$columns, outputs: [twice, whole], postprocess: {type: Classes}"
check "a head that does not fit" says 'spec.scorer.onnx.outputs: the network'"'"'s output "whole" is int64 2x3 for 2 items, float32 [n, c] is expected'
wanted=1
job '{table: {path: data/bad}}' "$columns, output: twice, postprocess: {type: Embedding}"
check "a vector with a NaN: the row and the output are named" says 'a.csv:12: output "twice": value 1 of the vector is not a finite number'
exit $((failures > 0))
