#!/usr/bin/env bash
# Networks with several outputs, by `windlass run`: the result is the output that scorer.onnx.output names, or the only
# one that fits; several that fit, an unknown name and one that does not fit are refused before scoring, with names.
# Classes are classes, and numbers of a regression are values.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/rows"
printf 'a,b,c\n1,2,3\n-4,5,6\n' >"$work/data/rows/x.csv"

# Networks written field by field: x [n, 3] -> features = x (repeated first, as some exporters do), score = -x, and the
# means of the rows as one column and as a list.
python3 - "$work/data" <<'P'
import sys
def varint(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
def field(n, data): return varint(n << 3 | 2) + varint(len(data)) + data
def number(n, value): return varint(n << 3) + varint(value)
def node(op, out, *attributes):
    return field(1, field(1, b"x") + field(2, out) + field(4, op) + b"".join(attributes))
def value(name, *dims):
    shape = b"".join(field(1, number(1, d) if d else field(2, b"n")) for d in dims)
    return field(1, name) + field(2, field(1, number(1, 1) + (field(2, shape) if dims else b"")))
def whole(name, n): return field(5, field(1, name) + number(3, n) + number(20, 2))
def wholes(name, *n): return field(5, field(1, name) + b"".join(number(8, i) for i in n) + number(20, 7))
nodes = {b"features": node(b"Identity", b"features"), b"score": node(b"Neg", b"score"),
         b"mean": node(b"ReduceMean", b"mean", wholes(b"axes", 1), whole(b"keepdims", 1)),
         b"list": node(b"ReduceMean", b"list", wholes(b"axes", 1), whole(b"keepdims", 0))}
def model(file, *outputs):
    graph = b"".join(nodes[o] for o in outputs) + field(2, b"g") + field(11, value(b"x", 0, 3)) + \
        b"".join(field(12, value(o)) for o in outputs)
    open(f"{sys.argv[1]}/{file}.onnx", "wb").write(number(1, 7) + field(7, graph) + field(8, number(2, 13)))
model("many", b"features", b"score", b"list")
model("one", b"list", b"score")
model("means", b"list", b"mean")
P
job() { # MODEL TYPE [FIELDS]: the exit code is in $code
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: outputs}
spec:
  input: {table: {path: data/rows}}
  scorer: {onnx: {path: data/$1.onnx, columns: [a, b, c], postprocess: {type: $2}${3:-}}}
  output: {path: data/out}
  workers: {min: 1, max: 1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    [ -n "${again:-}" ] || discard "$work/data/out" "$work/state"
    timeout 60 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
}
# The job's own line, or a worker's that was first.
says() { grep -qF -- "$1" "$work/log" || { tail -5 "$work/log" | sed 's/^/# /'; false; }; }
rows() { jq -c "$1" "$work/data/out/rows.txt" | xargs -d '\n'; }
refused() { { [ $code -eq 2 ] || [ $code -eq 1 ]; } && [ ! -e "$work/data/out/rows.txt" ]; }

##### which output ################################################################################
job many Classes
check "several outputs that fit are refused" refused
check "with their names" says 'spec.scorer.onnx.output: 2 outputs of the network fit postprocess type Classes: name one of "features", "score"'
job many Classes ', output: score'
check "the named one is taken" [ $code -eq 0 ]
check "and no other" [ "$(rows '[.classes[] | .index, .score]')" = "[0,-1,1,-2,2,-3] [0,4,1,-5,2,-6]" ]
job many Classes ', output: scores'
check "a name that no output has is refused" refused
check "with the names of those that fit" says 'spec.scorer.onnx.output: the network has no output "scores"; these fit postprocess type Classes: "features", "score"'
job many Classes ', output: list'
check "an output that does not fit is refused" refused
check "with its shape, and those that fit" says 'spec.scorer.onnx.output: "list" does not fit, these do: "features", "score": '
job one Classes
check "the only one that fits needs no name, though it is not the first" [ $code -eq 0 ]
check "and is taken" [ "$(rows '.classes[0].score' )" = "-1 4" ]
job many Values
check "more outputs fit values" says '3 outputs of the network fit postprocess type Values: name one of "features", "score", "list"'

##### what the result says ########################################################################
job many Values ', output: list'
check "values may be one number an item" [ "$(rows .values)" = "[2] [2.3333332538604736]" ]
job many Values ', output: features'
check "or several, all in order" [ "$(rows .values)" = "[1,2,3] [-4,5,6]" ]
check "and are not called classes" [ "$(rows 'has("classes")')" = "false false" ]
job means Classes
check "a regression's only number is a value, not a class" [ "$(rows 'keys')" = '["file","values"] ["file","values"]' ]
printf 'a,b,c\n1,nan,3\n' >"$work/data/rows/x.csv"
job many Values ', output: features'
check "what is not a number is null" [ "$(rows .values)" = "[1,null,3]" ]

##### labels ######################################################################################
printf 'a,b,c\n1,2,3\n' >"$work/data/rows/x.csv"
printf 'one\ntwo\nthree\n' >"$work/data/labels.txt"
job many 'Classes, labels: data/labels.txt' ', output: score'
check "labels name the classes" [ "$code $(rows '.classes[0].label')" = '0 "one"' ]
check "and are in result.json by SHA-256" [ "$(jq -r '.files["scorer.onnx.postprocess.labels"]' "$work/data/out/result.json")" = "$(sha256sum <"$work/data/labels.txt" | cut -d' ' -f1)" ]
printf 'one\nzwei\nthree\n' >"$work/data/labels.txt"
again=1 job many 'Classes, labels: data/labels.txt' ', output: score'
check "run again with other labels under the old name: refused (code $code)" says "started with a different spec: spec.scorer.onnx.postprocess.labels: the file's SHA-256 was "
check "and the result is the first one's" [ "$(rows '.classes[1].label')" = '"two"' ]
exit $((failures > 0))
