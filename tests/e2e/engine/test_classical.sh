#!/usr/bin/env bash
# Classical models (ai.onnx.ml): xgboost's and sklearn's (trees, linear models, support vector machines), and random trees of all
# modes, aggregate functions and transforms, made by classical.py. Labels equal those of the libraries, scores up to float32's rounding, and the plain
# kernels' bits; also those of ONNX Runtime, if npm can install it. `make soak` (SOAK_ROUNDS): that many seeds.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy python3-xgboost python3-sklearn) || exit 3
agent=$(realpath "${BUILD:-build}/windlass-agent")
python=/usr/bin/python3 # Debian's python, which has these packages
seed=${SOAK_SEED:-1}
echo "# SOAK_SEED=$seed SOAK_ROUNDS=${SOAK_ROUNDS:-}"
runtime=$(tests/onnxruntime.sh) || { runtime=; echo "skip classical models on onnxruntime-node: npm could not get it"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

##### models and their rows ######################################################################
run() { # FOLDER: our devices' outputs
    local name device
    while read -r name; do
        for device in cpu reference; do
            "$agent" model run "$1/$name/model.onnx" -i "X=$1/$name/input.pb" -o "$1/$name/$device" \
                --device $device --threads 2 >/dev/null 2>"$1/errors" || sed "s/^/# $name: /" "$1/errors"
        done
    done <"$1/names"
}
for ((round = 0; round < ${SOAK_ROUNDS:-1}; round++)); do
    folder=$work/$round
    mkdir -p "$folder"
    check "models of seed $((seed + round)) are made" "$python" tests/e2e/engine/classical.py "$folder" $((seed + round))
    mapfile -t names <"$folder/names"
    [ -z "$runtime" ] ||
        check "onnxruntime-node runs them" node tests/e2e/engine/classical.cjs "$runtime" "$folder" "${names[@]}"
    run "$folder"
    "$python" tests/e2e/engine/classical_compare.py "$folder" || failures=$((failures + 1))
    [ "$round" -eq 0 ] || discard "$folder"
done

##### a BatchScore with one #######################################################################
# Rows of .npy; the label is the network's first output, its scores are the second.
scored() {
    local model=$work/0/xgboost-classes
    mkdir -p "$work/model" "$work/data/rows"
    cp "$model/model.onnx" "$work/model"
    "$python" - "$model/input.pb" "$work/data/rows/rows.npy" <<'P'
import sys, numpy, onnx
from onnx import numpy_helper
numpy.save(sys.argv[2], numpy_helper.to_array(onnx.load_tensor(sys.argv[1])))
P
    cat >"$work/job.yaml" <<'Y'
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: churn}
spec:
  input: {npy: {path: data/rows}}
  scorer: {onnx: {path: model/model.onnx, postprocess: {type: Classes, top: 3}}}
  output: {path: data/out}
  miniBatchSize: 64
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
Y
    timeout 300 "${agent%-agent}" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 || { sed 's/^/# /' "$work/log"; return 1; }
    "$python" - "$model/wanted.npz" "$work/data/out/rows.txt" <<'P'
import json, sys, numpy
wanted = numpy.load(sys.argv[1])
wanted = next(wanted[name] for name in wanted.files if wanted[name].dtype == numpy.float32)
rows = [json.loads(line) for line in open(sys.argv[2])]
assert len(rows) == len(wanted) > 100 and wanted.shape[1] == 3
for row, scores in zip(rows, wanted):
    assert len(row["classes"]) == 3 and row["classes"][0]["index"] == scores.argmax(), (row, scores)
    assert all(abs(told["score"] - scores[told["index"]]) < 1e-5 for told in row["classes"]), (row, scores)
P
}
check "a BatchScore scores rows with a classifier whose label comes first" scored

##### what is left out, and what is refused ######################################################
said() { # MODEL SENTENCE
    "$agent" model check "$1" 2>&1 | grep -qF -- "$2"
}
check "what ZipMap makes is left out, and that is said" said "$work/0/xgboost-binary/model.onnx" \
    "output_probability: given as the tensor that ZipMap reads (columns: 0, 1)"
check "labels that are strings are left out, and that is said" said "$work/0/strings/model.onnx" \
    "output_label: left out, strings are not an output"
check "with the columns' names" said "$work/0/strings/model.onnx" "(columns: no, yes)"
"$python" - "$work/0/strings/model.onnx" "$work/labels.onnx" <<'P'
import sys, onnx
model = onnx.load(sys.argv[1])
del model.graph.output[1:], model.graph.node[2]
onnx.save(model, sys.argv[2])
P
check "where nothing else is left, how to export it otherwise" said "$work/labels.onnx" \
    "have it give out its scores, or whole numbers as labels"
exit $((failures > 0))
