#!/usr/bin/env bash
# Pipelines over the columns of a table, one input each (floats, whole numbers, texts), as exporters write them
# (pipelines.py): BatchScores of CSV and JSON Lines give the results of sklearn, up to a threshold's rounding, and of
# ONNX Runtime if npm can install it; classes by the model's own names; columns by a list; a mismatch gives one line.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy python3-sklearn) || exit 3
windlass=$(realpath "${BUILD:-build}/windlass")
python=/usr/bin/python3 # Debian's python, which has these packages
seed=${SOAK_SEED:-1}
echo "# SOAK_SEED=$seed SOAK_ROUNDS=${SOAK_ROUNDS:-}"
runtime=$(tests/onnxruntime.sh) || { runtime=; echo "skip pipelines on onnxruntime-node: npm could not get it"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

job() { # FOLDER [SED]: the job that runs there
    sed "${2:-}" >"$1/job.yaml" <<'Y'
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: columns}
spec:
  input: {table: {path: data/rows, pattern: "*.csv"}}
  scorer: {onnx: {path: data/model.onnx, postprocess: {type: Classes, top: 9}}}
  output: {path: data/out}
  miniBatchSize: 4KB
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
Y
}
run() { # FOLDER: its code in $code
    discard "$1/data/out" "$1/state"
    timeout 300 "$windlass" run -f "$1/job.yaml" --state "$1/state" >"$1/log" 2>&1 </dev/null
    code=$?
}
says() { grep -qF -- "$2" "$1/log" || { tail -5 "$1/log" | sed 's/^/# /'; false; }; }
scored() { # FOLDER NAME
    job "$1/$2"
    run "$1/$2"
    [ "$code" -eq 0 ] || { tail -5 "$1/$2/log" | sed 's/^/# /'; return 1; }
    "$python" tests/e2e/score/pipelines.py compare "$1" "$2"
}

##### pipelines ####################################################################################
rounds=$((${SOAK_ROUNDS:-1} / 100)) # a seed takes ten seconds
for ((round = 0; round == 0 || round < rounds; round++)); do
    folder=$work/$round
    check "pipelines of seed $((seed + round)) are made" "$python" -W ignore tests/e2e/score/pipelines.py make "$folder" $((seed + round))
    mapfile -t names <"$folder/names"
    [ -z "$runtime" ] ||
        check "onnxruntime-node runs them" node tests/e2e/score/pipelines.cjs "$runtime" "$folder" "${names[@]}"
    for name in "${names[@]}"; do
        check "$name: a BatchScore says the same, of every row" scored "$folder" "$name"
    done
    [ "$round" -eq 0 ] || discard "$folder"
done

noted() { # the coordinator's log alone, and once
    cat "$work"/0/forest/state/*.log | grep -c 'data/model.onnx: output_probability: given as the tensor that ZipMap reads (columns: maybe, no, yes, sir); output_label: left out' |
        grep -qx 1
}
check "what is left out is said once, in the job's log" noted

##### the same rows otherwise ######################################################################
line=$work/0/line
"$python" - "$line/data/rows" <<'P'
import csv, glob, json, os, sys
for name in sorted(glob.glob(sys.argv[1] + "/*.csv")):
    with open(name, encoding="utf-8", newline="") as file, open(name[:-4] + ".jsonl", "w", encoding="utf-8") as lines:
        for row in csv.DictReader(file):
            for key in ("age", "fare"):
                row[key] = float(row[key]) if row[key] else None
            row["visits"] = int(row["visits"])
            row["town"] = 7 if row["town"] == "7" else row["town"]
            lines.write(json.dumps(row) + "\n")
P
job "$line" 's/"\*.csv"/"*.jsonl", format: JSONLines/'
run "$line"
check "rows of JSON Lines do as well" [ $code -eq 0 ]
check "with the same scores" "$python" tests/e2e/score/pipelines.py compare "$work/0" line

# Other names in the table: the list has them in the order of the inputs.
sed -i '1s/\btown\b/place/; 1s/\bage\b/years/' "$line"/data/rows/*.csv
job "$line" 's/onnx: {/onnx: {columns: [years, fare, visits, sex, place, size], /'
run "$line"
check "a list names the columns of all inputs" [ $code -eq 0 ]
check "again with the same scores" "$python" tests/e2e/score/pipelines.py compare "$work/0" line

##### what does not fit ############################################################################
# Coordinator (2) and workers (then 1) find the same fault in the model; the first to report it ends the job.
refused() { [ $code -eq 2 ] || [ $code -eq 1 ]; }
job "$line"
run "$line"
check "a column that the table lacks is refused" [ $code -eq 2 ]
check "by table, input and model" says "$line" 'spec.input.table.path: 0.csv:'
check "in one line" says "$line" 'it has no column "age", which is an input of data/model.onnx (spec.scorer.onnx.columns can name others)'
job "$line" 's/onnx: {/onnx: {columns: [years, fare], /'
run "$line"
check "a list of too few is refused" refused
check "with both numbers" says "$line" "names 2 columns, the network's 6 inputs take 6"
job "$line" 's/onnx: {/onnx: {columns: [years, fare, sex, visits, place, size], /'
run "$line"
check "a text for a whole number is refused" [ $code -eq 2 ]
check "by column" says "$line" 'column "sex" is "'
check "with what is expected" says "$line" '", a whole number is expected'
"$python" - "$line/data/model.onnx" <<'P'
import sys, onnx
model = onnx.load(sys.argv[1])
model.graph.node.insert(0, onnx.helper.make_node("Shape", ["sex"], ["shape"], name="measure"))
onnx.save(model, sys.argv[1])
P
run "$line"
check "who else reads texts is refused" refused
check "by name" says "$line" 'Shape node "measure": it reads "sex", which is strings: only OneHotEncoder with cats_strings'

##### arrays #######################################################################################
numbers=$work/numbers
mkdir -p "$numbers/data/rows"
"$python" - "$numbers/data" <<'P'
import sys, numpy, onnx
from onnx import TensorProto, helper
names = ["a", "b", "c"]
graph = helper.make_graph([helper.make_node("Concat", names, ["y"], axis=1)], "g", [
    helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 2 if name == "b" else 1]) for name in names],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 4])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 7
onnx.save(model, sys.argv[1] + "/model.onnx")
numpy.save(sys.argv[1] + "/rows/x.npy", numpy.arange(1200, dtype="f8").reshape(300, 4))
P
job "$numbers" 's/table: {path: data\/rows, pattern: "\*.csv"}/npy: {path: data\/rows}/; s/4KB/64/'
run "$numbers"
check "slices of .npy are parted among the inputs" [ $code -eq 0 ]
parted() {
    "$python" - "$numbers/data/out/rows.txt" <<'P'
import json, sys
rows = [json.loads(line)["classes"] for line in open(sys.argv[1])]
assert [[entry["score"] for entry in sorted(row, key=lambda entry: entry["index"])] for row in rows] == \
    [[4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3] for i in range(300)]
P
}
check "in their order" parted
exit $((failures > 0))
