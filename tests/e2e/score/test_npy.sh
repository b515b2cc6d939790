#!/usr/bin/env bash
# input.npy in whole jobs, by `windlass run`: slices of arrays through a network whose scores are the means of three
# channels, one line a slice in the order of the input; other types than the network's; a mismatch is refused
# before any worker starts; an array that changes under way.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/model" "$work/data"
python3 tests/data/models/make.py "$work/model"
# arrays FOLDER TYPE CODE SIDES COUNTS...: FOLDER/a0.npy and so on, with that many slices; all values differ.
arrays() {
    python3 - "$work/data/$1" "$2" "$3" "$4" "${@:5}" <<'P'
import os, struct, sys
folder, kind, code, sides, counts = sys.argv[1], sys.argv[2], sys.argv[3], eval(sys.argv[4]), sys.argv[5:]
os.makedirs(folder + "/deep", exist_ok=True)
size = 1
for side in sides:
    size *= side
for file, count in enumerate(map(int, counts)):
    shape = (count, *sides)
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    values = [(file * 31 + i * 7 + i // size * 13) % 97 for i in range(count * size)]
    name = f"{folder}/{'deep/' if file == 1 else ''}a{file}.npy"
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}{code}", *values))
P
}
job() { # PATH [MODEL FIELDS-OF-ONNX]; its exit code is in $code
    local fields=${3:-'postprocess: {type: Classes, top: 3}'}
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: slices}
spec:
  input: {npy: {path: data/$1}}
  scorer: {onnx: {path: model/${2:-classes}.onnx, $fields}}
  output: {path: data/out}
  miniBatchSize: ${SIZE:-7}
  retry: {maxTries: 2, timeoutSeconds: 30}
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
M
    discard "$work/data/out" "$work/state"
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
}
says() { grep -q -- "$1" "$work/log"; }
out=$work/data/out/rows.txt
# Every slice once, in order, with the means that Python computes.
oracle() { # FOLDER CODE
    python3 - "$work/data/$1" "$2" "$out" <<'P'
import ast, json, os, struct, sys
folder, code, out = sys.argv[1:]
names = sorted(os.path.relpath(os.path.join(where, n), folder) for where, _, all in os.walk(folder) for n in all)
wanted = []
for name in names:
    data = open(os.path.join(folder, name), "rb").read()
    size, = struct.unpack("<H", data[8:10])
    count, channels, *sides = ast.literal_eval(data[10:10 + size].decode())["shape"]
    plane = sides[0] * sides[1]
    values = struct.unpack(f"<{count * channels * plane}{code}", data[10 + size:])
    for i in range(count):
        wanted.append((f"{name}[{i}]", [sum(values[(i * channels + c) * plane:][:plane]) / plane for c in range(channels)]))
seen = [json.loads(line) for line in open(out)]
if [row["file"] for row in seen] != [name for name, _ in wanted]:
    sys.exit(f"# {len(seen)} rows, {len(wanted)} wanted, or in another order")
for row, (name, means) in zip(seen, wanted):
    for told in row["classes"]:
        if abs(told["score"] - means[told["index"]]) > 1e-4:
            sys.exit(f"# {name}: {row} {means}")
P
}

arrays floats '<f4' f '(3, 4, 5)' 20 1 14
job floats
check "float32: each slice once, in order, with its scores" oracle floats f
check "a range of slices is a mini-batch" [ "$code $(jq -r '"\(.miniBatches.total) \(.items.total)"' "$work/data/out/summary.json")" = "0 6 35" ]
SIZE=auto job floats
check "miniBatchSize auto: the same rows" oracle floats f
[ $failures -eq 0 ] || tail -n 5 "$work/log" | sed 's/^/# /'
for row in '<f8 d' '|u1 B' '<i2 h' '<i8 q'; do
    read -r kind letter <<<"$row"
    arrays "of-$letter" "$kind" "$letter" '(3, 2, 2)' 5 300
    job "of-$letter"
    check "$kind becomes what the network takes" oracle "of-$letter" "$letter"
done
python3 - "$work/data/of-d/a0.npy" <<'P'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
for slice in 1, 5:  # of five: the first one, and the last
    at = len(data) - 8 * 12 * slice
    data[at:at + 8] = struct.pack("<d", 1e39)
open(sys.argv[1], "wb").write(data)
P
job of-d
check "a number that float32 cannot hold fails its slice, and no other" [ "$(jq -r .cause "$work/data/out/failed.jsonl")" = \
    "a0.npy[0]: value 0 of the slice is 1e+39, which the network's float32 cannot hold
a0.npy[4]: value 0 of the slice is 1e+39, which the network's float32 cannot hold" ]
job floats/deep/a1.npy
check "one file" [ "$code $(jq -r .file "$out")" = '0 a1.npy[0]' ]
arrays flat '<f4' f '(4,)' 3
job flat
check "slices that do not fit are refused before a worker starts" [ $code -eq 2 ]
check "by their sides and the network's" says "the network's input is float32 ?x3x?x?, a slice of spec.input.npy is f4 4"
job floats classes 'preprocess: {width: 8}, postprocess: {type: Classes}'
check "preprocess is for pictures" says 'spec.scorer.onnx.preprocess: is for pictures'
arrays mixed '<f4' f '(3, 2, 2)' 3
arrays other '<f4' f '(3, 2, 3)' 3
cp "$work/data/other/a0.npy" "$work/data/mixed/b.npy"
job mixed
check "arrays that differ are refused, by name" says 'mixed/b.npy: its slices have another type or shape than those of a0.npy'

##### the example ################################################################################
cp -r examples/npy "$work/example"
timeout 300 "$windlass" run -f "$work/example/batchscore.yaml" --state "$work/state2" >"$work/log" 2>&1 </dev/null
check "examples/npy runs as written" [ $? -eq 0 ]
days="two zero two six one one two one" # monday.npy; tuesday.npy has each digit once
read_all="$days zero one two three four five six seven eight nine"
check "and reads every digit, in the order of the input" [ "$(jq -r '.classes[0].label' "$work/example/data/read/digits.jsonl" | xargs)" = "$read_all" ]
timeout 300 "$windlass" run --once -f "$work/example/nightly.yaml" --state "$work/state3" >"$work/log" 2>&1 </dev/null
check "its schedule, once and now: code 0" [ $? -eq 0 ]
check "with the same digits, in a folder of its own" [ "$(jq -r '.classes[0].label' "$work/example/data/nightly/runs/"*/digits.jsonl | xargs)" = "$read_all" ]
[ -s "$work/example/data/read/digits.jsonl" ] || sed 's/^/# /' "$work/log"
python3 "$work/example/make.py"
check "make.py makes what is there" diff -r -x read -x nightly examples/npy/data "$work/example/data"
exit $((failures > 0))
