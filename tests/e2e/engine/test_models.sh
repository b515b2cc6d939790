#!/usr/bin/env bash
# `windlass-agent model new`: each network is an ONNX file that the standard's own checker accepts (python3-onnx, shapes
# inferred strictly), on which our kernels and the plain reference agree, and, if `make bench` has installed
# it, onnxruntime-node, too; the same seed makes the same file.
set -u
cd "$(dirname "$0")/../../.." || exit 3
(. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy) || exit 3
agent=$(realpath "${BUILD:-build}/windlass-agent")
runtime=$(tests/onnxruntime.sh) || runtime=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/check.py" <<'P'
import sys, onnx, numpy, onnx.numpy_helper as helper
path, shape = sys.argv[1], [int(side) for side in sys.argv[2].split('x')]
model = onnx.load(path)
onnx.checker.check_model(model, full_check=True)
model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
assert [(i.name, i.type.tensor_type.elem_type) for i in model.graph.input] == [('input', 1)]
dims = model.graph.output[0].type.tensor_type.shape.dim
assert model.graph.output[0].name == 'logits' and dims[1].dim_value == int(sys.argv[3])
values = numpy.random.default_rng(1).standard_normal([3] + shape).astype('f4')
open(sys.argv[4] + '/in.pb', 'wb').write(helper.from_array(values, 'input').SerializeToString())
values.tofile(sys.argv[4] + '/in.raw')
P
cat >"$work/compare.py" <<'P'
import os, sys, numpy, onnx, onnx.numpy_helper as helper
def read(name):
    return helper.to_array(onnx.load_tensor(sys.argv[1] + '/' + name + '/logits.pb'))
ours, wanted = read('cpu'), read('reference')
others = {'the reference': wanted}
if os.path.exists(sys.argv[1] + '/ort.raw'):
    others['onnxruntime'] = numpy.fromfile(sys.argv[1] + '/ort.raw', 'f4').reshape(ours.shape)
assert ours.shape[0] == 3 and numpy.isfinite(ours).all() and ours.std() > 1e-3, ours
assert abs(ours[0] - ours[1]).max() > 1e-3 * abs(ours).max(), 'every sample gives the same'
for name, other in others.items():
    far = abs(ours - other).max() / abs(other).max()
    assert far < 1e-5, f'{far:g} away from {name}'
    print('#', name, f'{far:.1e}', end=' ')
print()
P
cat >"$work/run.cjs" <<'P'
const fs = require('fs');
const [runtime, model, folder, ...dims] = process.argv.slice(2);
const ort = require(require('path').resolve(runtime));
(async () => {
    const bytes = fs.readFileSync(folder + '/in.raw');
    const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, interOpNumThreads: 1});
    const found = await session.run({input: new ort.Tensor('float32', values, [3, ...dims.map(Number)])});
    fs.writeFileSync(folder + '/ort.raw', Buffer.from(found.logits.data.buffer));
})();
P
bad=0
one() { # name, shape, classes, options...
    local name=$1 shape=$2 classes=$3 folder=$work/$1 said
    shift 3
    mkdir -p "$folder"
    if said=$({
        "$agent" model new "$@" --shape "$shape" --classes "$classes" --seed 7 -o "$folder/m.onnx" &&
            /usr/bin/python3 "$work/check.py" "$folder/m.onnx" "$shape" "$classes" "$folder" &&
            "$agent" model run "$folder/m.onnx" -i "input=$folder/in.pb" -o "$folder/cpu" &&
            "$agent" model run "$folder/m.onnx" -i "input=$folder/in.pb" -o "$folder/reference" --device reference &&
            { [ ! -d "$runtime" ] || node "$work/run.cjs" "$runtime" "$folder/m.onnx" "$folder" ${shape//x/ }; }
    } 2>&1) && said=$(/usr/bin/python3 "$work/compare.py" "$folder" 2>&1); then
        echo "$said"
        echo "ok model new $name"
    else
        echo "$said" | tail -5 | sed 's/^/# /'
        echo "not ok model new $name"
        bad=1
    fi
}
one cnn 1x28x28 10 cnn
one cnn-smooth 3x17x22 7 cnn --smooth
one mlp 1x28x28 10 mlp
one resnet18-small 3x32x32 10 resnet18
one resnet50 3x64x64 1000 resnet50
if "$agent" model new cnn --shape 1x28x28 --seed 7 -o "$work/again.onnx" >/dev/null &&
    "$agent" model new cnn --shape 1x28x28 --seed 8 -o "$work/other.onnx" >/dev/null &&
    cmp -s "$work/cnn/m.onnx" "$work/again.onnx" && ! cmp -s "$work/other.onnx" "$work/again.onnx"; then
    echo "ok the seed decides the file"
else
    echo "not ok the seed decides the file"
    bad=1
fi
# The output of `profile`: operations as `bench` counts them, each run and step in the trace, nested.
cat >"$work/trace.py" <<'P'
import json, re, sys
table, trace, gflop = open(sys.argv[1]).read(), json.load(open(sys.argv[2])), float(sys.argv[3])
rows = {m[1]: m for m in re.finditer(r'^(\S.*?) +(\d+) +([\d.]+) +(\S+ ?%?) +([\d.]+) +([\d.]+) +(-|\d+ %) +(-|\d+ %)$', table, re.M)}
assert abs(float(rows['all'][5]) - gflop) < 1e-3, (rows['all'][5], gflop)
kinds = sum(int(m[2]) for name, m in rows.items() if ', ' in name)
assert kinds == int(rows['all'][2]) > 3, rows
spans = [e for e in trace['traceEvents'] if e['ph'] == 'X']
runs = [e for e in spans if e['name'].startswith('run ')]
steps = [e for e in spans if not e['name'].startswith('run ')]
assert len(runs) == 3 and len(steps) == 3 * kinds, (len(runs), len(steps), kinds)
for run in runs:
    inside = [e for e in steps if run['ts'] < e['ts'] and e['ts'] + e['dur'] <= run['ts'] + run['dur'] + 1e-6]
    assert len(inside) == kinds, (run, len(inside))
    assert abs(sum(e['args']['GFLOP'] for e in inside) - gflop) < 1e-3
assert re.search(r'at most: [\d.]+ GFLOP/s of multiply-adds, [\d.]+ GB/s copied', table)
P
model=$work/resnet18-small/m.onnx shape=input=3x3x32x32
if "$agent" model profile "$model" --shape $shape --runs 3 --all --trace "$work/trace.json" >"$work/table" 2>&1 &&
    gflop=$("$agent" model bench "$model" --shape $shape --runs 1 | sed -n 's/.*(\([0-9.]*\) GFLOP in .*/\1/p') &&
    /usr/bin/python3 "$work/trace.py" "$work/table" "$work/trace.json" "$gflop" >"$work/said" 2>&1; then
    echo "ok model profile"
else
    tail -5 "$work/table" "$work/said" | sed 's/^/# /'
    echo "not ok model profile"
    bad=1
fi
said=$("$agent" model profile "$model" --runs 0 2>&1)
code=$?
untold=$("$agent" model profile "$model" 2>&1)
if [ $code -eq 2 ] && [[ $said == *"--runs 0: expected 1 to 200"* ]] && [[ $untold == *"--shape input=... is needed"* ]]; then
    echo "ok model profile refuses what it cannot do"
else
    echo "# $code: $said; $untold"
    echo "not ok model profile refuses what it cannot do"
    bad=1
fi
[ -d "$runtime" ] || echo "skip model new on onnxruntime-node: npm could not get it"
(ulimit -f 1 && "$agent" model new mlp -o "$work/large.onnx" >"$work/said" 2>&1)
code=$?
if [ "$code $(ls "$work"/large* 2>/dev/null) $(cat "$work/said")" = "3  windlass-agent model: cannot write $work/large.onnx: File too large" ]; then
    echo "ok a limit on the size of files is a failed write, not a death"
else
    echo "not ok a limit on the size of files is a failed write, not a death"
    echo "# $code $(cat "$work/said")"
    bad=1
fi
said=$("$agent" model new resnet34 2>&1)
code=$?
if [ $code -eq 2 ] && [[ $said == *"resnet34: one of cnn, mlp, resnet18, resnet50 is expected"* ]]; then
    echo "ok an unknown network is refused"
else
    echo "# $code: $said"
    echo "not ok an unknown network is refused"
    bad=1
fi
exit $bad
