#!/usr/bin/env bash
# Errors that another start would not change end a DistTrain at its first round, by `windlass run`, though it may restart
# three times: data or a network that is not there, npy files that are not read, a network with an operator that the engine
# lacks, a program with a fault in its code. Arrays of big-endian numbers and in Fortran order are read.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy) || exit 3
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$work/data" "$work/out"
/usr/bin/python3 - "$work/data" <<'P' || exit 3
import sys, numpy as n, onnx
from onnx import helper as h
folder = sys.argv[1]
x = n.random.default_rng(1).normal(size=(24, 6)).astype("f4")
n.save(folder + "/x.npy", x)
n.save(folder + "/big.npy", x.astype(">f8"))
n.save(folder + "/fortran.npy", n.asfortranarray(x))
n.save(folder + "/complex.npy", x.astype("c8"))
n.save(folder + "/y.npy", n.arange(24) % 3)
open(folder + "/broken.py", "w").write("import sys\nprint('begins')\nmodle.train()\n")
weight = h.make_tensor("w", 1, [6, 3], n.zeros(18, "f4"))
def network(name, domain, op):
    nodes = [h.make_node(op, ["x"], ["h"], domain=domain), h.make_node("MatMul", ["h", "w"], ["y"])]
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, ["n", 6])], [h.make_tensor_value_info("y", 1, ["n", 3])], [weight])
    open(f"{folder}/{name}.onnx", "wb").write(h.make_model(graph, opset_imports=[h.make_opsetid("", 13), h.make_opsetid("my", 1)]).SerializeToString())
network("good", "", "Tanh")
network("odd", "my", "Wavelet")
P
# job NAME WORK: runs it; the exit code is in $code, what it said in $work/NAME.said.
job() {
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: $1}
spec:
  workers: 1
  restart: {maxRestarts: 3, backoffSeconds: 0}
  $2
  volumes: [{name: data, hostPath: {path: $work/data}}, {name: out, hostPath: {path: $work/out}}]
M
    timeout 120 "$build/windlass" run -f "$work/$1.yaml" --state "$work/$1.state" >"$work/$1.said" 2>&1 </dev/null
    code=$?
}
trainer() { # NAME MODEL SAMPLES
    job "$1" "trainer: {model: {path: data/$2}, data: {train: {tensors: {samples: data/$3, labels: data/y.npy}}}, epochs: 1, batchSize: 8, output: {path: out/$1}}"
}
# ends_at_once NAME CODE TEXT
ends_at_once() {
    [ $code -eq "$2" ] && grep -qF "$3" "$work/$1.said" && ! grep -qE 'started again|round 2' "$work/$1.said" &&
        [ "$(grep -cF "$3" "$work/$1.state/$1-0.log")" -le 2 ] || { echo "# code $code"; tail -4 "$work/$1.said" | sed 's/^/# /'; return 1; }
}
trainer absent good.onnx none.npy
check "data that is not there" ends_at_once absent 1 "none.npy"
trainer nonet none.onnx x.npy
check "a network that is not there" ends_at_once nonet 1 "none.onnx"
trainer complex good.onnx complex.npy
check "an array of complex numbers" ends_at_once complex 1 'its elements are "<c8"'
trainer odd odd.onnx x.npy
check "an operator that the engine lacks" ends_at_once odd 1 "my.Wavelet"
job broken "image: any
  command: [/usr/bin/python3, $work/data/broken.py]"
check "a program with a fault in its code" ends_at_once broken 1 "NameError: name 'modle' is not defined"
trainer big good.onnx big.npy
check "big-endian numbers are read" grep -q '^big succeeded' "$work/big.said" || tail -3 "$work/big.said" | sed 's/^/# /'
trainer plain good.onnx x.npy
trainer fortran good.onnx fortran.npy
check "an array in Fortran order is the same array" cmp "$work/out/plain/model.onnx" "$work/out/fortran/model.onnx"

# The same of the other kinds: trials of a Sweep have one round each, and a BatchScore ends with code 2.
cat >"$work/lost.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: lost}
spec:
  objective: {metric: accuracy, goal: Maximize}
  parameters: [{name: RATE, choice: ["0.1", "0.2"]}]
  algorithm: {kind: Grid}
  maxTrials: 2
  trial:
    workers: 1
    restart: {maxRestarts: 3, backoffSeconds: 0}
    trainer: {model: {path: data/good.onnx}, data: {train: {tensors: {samples: data/none.npy, labels: data/y.npy}}}, epochs: 1,
        batchSize: 8, output: {path: out/lost}, optimizer: {learningRate: \$(RATE)}}
    volumes: [{name: data, hostPath: {path: $work/data}}, {name: out, hostPath: {path: $work/out}}]
M
one_round() { # each log has the reason from the rank and from the hub, once
    timeout 120 "$build/windlass" run -f "$work/lost.yaml" --state "$work/lost.state" >"$work/lost.said" 2>&1 </dev/null
    [ $? -eq 1 ] && [ "$(cat "$work"/lost.state/lost-000?-0.log | grep -c 'ERROR failed: Final: .*none.npy: no such file')" = 2 ]
}
check "two trials without data have one round each" one_round || tail -3 "$work/lost.said" | sed 's/^/# /'
mkdir "$work/npy" && mv "$work/data/complex.npy" "$work/npy"
cat >"$work/score.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: score}
spec:
  input: {npy: {path: npy}}
  scorer: {onnx: {path: data/good.onnx, postprocess: {type: Values}}}
  output: {path: out/score}
  volumes: [{name: npy, hostPath: {path: $work/npy}}, {name: data, hostPath: {path: $work/data}}, {name: out, hostPath: {path: $work/out}}]
M
refused() {
    timeout 120 "$build/windlass" run -f "$work/score.yaml" --state "$work/score.state" >"$work/score.said" 2>&1 </dev/null
    [ $? -eq 2 ] && grep -q 'its elements are "<c8"' "$work/score.said" && [ "$(ls "$work"/score.state/*coordinator*.log | wc -l)" = 1 ]
}
check "a BatchScore of an array of complex numbers has one coordinator, and ends with 2" refused || tail -3 "$work/score.said" | sed 's/^/# /'
exit $((failures > 0))
