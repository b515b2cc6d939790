#!/usr/bin/env bash
# Errors that another start would not change end a DistTrain at its first round, by `windlass run`, though it may restart
# three times: data or a network that is not there, npy files that are not read, a network with an operator that the engine
# lacks, a program with a fault in its code. A program that fails twice in the same way ends at its second one. Arrays of
# big-endian numbers and in Fortran order are read.
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
branch = lambda name: h.make_graph([h.make_node("Identity", ["w"], [name])], name, [], [h.make_tensor_value_info(name, 1, [6, 3])])
nodes = [h.make_node("ReduceMax", ["x"], ["m"], keepdims=0), h.make_node("Cast", ["m"], ["c"], to=9),
         h.make_node("If", ["c"], ["v"], then_branch=branch("a"), else_branch=branch("b")), h.make_node("MatMul", ["x", "v"], ["y"])]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, ["n", 6])], [h.make_tensor_value_info("y", 1, ["n", 3])], [weight])
open(folder + "/branch.onnx", "wb").write(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)]).SerializeToString())
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
trainer() { # NAME MODEL SAMPLES [RATE]; no quotes: 1e-1 is a number
    job "$1" "trainer: {model: {path: data/$2}, data: {train: {tensors: {samples: data/$3, labels: data/y.npy}}}, epochs: 1, batchSize: 8, output: {path: out/$1}, optimizer: {learningRate: ${4:-1e-1}}}"
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
trainer branch branch.onnx x.npy
check "a network with a branch" ends_at_once branch 1 "the shape of its output is known only at run time"
job broken "image: any
  command: [/usr/bin/python3, $work/data/broken.py]"
check "a program with a fault in its code" ends_at_once broken 1 "NameError: name 'modle' is not defined"
# A program that fails in the same way each time is started twice, whatever differs in its last line by chance. In SCRIPT
# $n is the number of this start.
program() { # NAME SCRIPT [LAUNCHER] [FIELDS]
    printf '%s\n' 'n=$(($(cat "$0.starts" 2>/dev/null | wc -l) + 1))' 'echo >>"$0.starts"' "$2" >"$work/data/$1.sh"
    job "$1" "image: any
  launcher: ${3:-None}
  command: [sh, $work/data/$1.sh]
  ${4:-}"
}
starts() { # NAME COUNT CODE: it was started so often, and the job ended with CODE
    local count
    count=$(wc -l <"$work/data/$1.sh.starts")
    [ "$code $count" = "$3 $2" ] || { echo "# code $code, $count starts"; tail -4 "$work/$1.said" | sed 's/^/# /'; return 1; }
}
says() { grep -qF "$2" "$work/$1.said" || { tail -4 "$work/$1.said" | sed 's/^/# /'; return 1; }; }
program silent 'exit 1'
check "exit code 1 without a word: two starts" starts silent 2 1
check "and the job says so" says silent 'silent failed: worker 0, rank 0: failed twice in the same way: exit code 1, without a word'
program alike 'echo "start $n"; echo "$(date +%T.%N) pid $$: no column age at 0x7f$n" >&2; exit 3'
check "a line that differs by time, process and address: two starts" starts alike 2 1
check "with the code" says alike 'failed twice in the same way: exit code 3, "'
check "and what was before that line" says alike '(before that: start 2)'
program further 'echo "stopped at step $((100 * n))" >&2; exit 3'
check "a line that says how far it has come: all four" starts further 4 1
program killed 'echo "the same" >&2; kill -9 $$'
check "a signal: all four" starts killed 4 1
program later 'echo "not yet" >&2; [ $n -ge 4 ] || exit 75'
check "a program that asks for another start gets it" starts later 4 0
program away 'echo "connect: Connection refused" >&2; exit 1'
check "a server that is away: all four" starts away 4 1
program reports 'windlass-agent metric loss 0.5; sleep 1.5; echo "the same" >&2; exit 1'
check "a program that has reported a metric between: all four" starts reports 4 1
program pair '[ $WINDLASS_RANK = 1 ] || exec sleep 60; echo "no gradient" >&2; exit 9' Torchrun "slotsPerWorker: 2"
check "one of two ranks: two starts of both" starts pair 4 1
check "and it is named" says pair 'worker 0, rank 1: failed twice in the same way: exit code 9, "no gradient"'
cat >"$work/data/half.sh" <<'S'
[ $OMPI_COMM_WORLD_RANK = 1 ] || exec sleep 60
echo "no gradient" >&2
exit 9
S
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    program launched "mpirun -np 2 sh $work/data/half.sh" MPI "slotsPerWorker: 2"
    check "a rank of mpirun: two starts" starts launched 2 1
    check "with the rank's line, and not mpirun's" says launched 'worker 0, rank 1: failed twice in the same way: exit code 9, "no gradient"'
else
    echo "skip Open MPI: it is not here"
fi
trainer big good.onnx big.npy
check "big-endian numbers are read" grep -q '^big succeeded' "$work/big.said" || tail -3 "$work/big.said" | sed 's/^/# /'
trainer plain good.onnx x.npy 1e-3
check "a rate of 1e-3 needs no quotes" grep -q '^plain succeeded' "$work/plain.said" || tail -3 "$work/plain.said" | sed 's/^/# /'
trainer fortran good.onnx fortran.npy 0.001
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
cat >"$work/vain.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: vain}
spec:
  objective: {metric: accuracy, goal: Maximize}
  parameters: [{name: RATE, choice: ["0.1", "0.2"]}]
  algorithm: {kind: Grid}
  maxTrials: 2
  maxConcurrentTrials: 1
  trial:
    workers: 1
    image: any
    launcher: None
    restart: {maxRestarts: 3, backoffSeconds: 0}
    command: [sh, -c, 'echo >>$work/data/vain.sh.starts; echo "no column for \$(RATE)" >&2; exit 1']
M
timeout 120 "$build/windlass" run -f "$work/vain.yaml" --state "$work/vain.state" >"$work/vain.said" 2>&1 </dev/null
code=$?
check "two trials of a program that always fails have two rounds each" starts vain 4 1
check "and the sweep says why" says vain 'failed twice in the same way: exit code 1, "no column for 0.'
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
