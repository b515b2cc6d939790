#!/usr/bin/env bash
# A BatchScore with precision: BF16 on processors, and with workers.gpus, by `windlass run`: on the emulated GPU of tests/cuda (docs/testing/engine.md, "CUDA"), whose
# results equal the processor's; with little memory; and the messages where driver or GPU are missing. No GPU is used.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy) || exit 3
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=/usr/bin/python3 # Debian's python, which has these packages

##### a network and pictures ######################################################################
# Eighths of bytes: every sum is exact, in whatever order a device adds.
mkdir -p "$work/data/in" "$work/plain" "$work/emulated"
"$python" - "$work/data/model.onnx" <<'P'
import sys, numpy, onnx
from onnx import TensorProto as T, helper as h, numpy_helper as n
random = numpy.random.default_rng(5)
def conv(name, i, o): # weights that sum to some 1
    w = random.integers(-2, 4, (o, i, 3, 3)).astype(numpy.float32) / 8
    return n.from_array(w, name)
nodes = [h.make_node("Conv", ["x", "a"], ["p"], pads=[1, 1, 1, 1]), h.make_node("Relu", ["p"], ["q"]),
         h.make_node("Conv", ["q", "b"], ["y"], pads=[1, 1, 1, 1])]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, ["n", 3, "h", "w"])],
                     [h.make_tensor_value_info("y", T.FLOAT, ["n", 3, "h", "w"])], [conv("a", 3, 8), conv("b", 8, 3)])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8), sys.argv[1])
P
ffmpeg -v error -f lavfi -i testsrc2=size=40x24:rate=20:duration=2 "$work/data/in/%02d.png" </dev/null
kind=in
gpus=1
manifest() { # NAME PRECISION
    cat <<YAML
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  input: $([ $kind = video ] && echo '{video: {path: data/film.mp4}}' || echo "{files: {path: data/$kind}}")
  scorer: {onnx: {path: data/model.onnx, precision: $2, preprocess: {range: Byte}, postprocess: {range: Byte}}}
  output: {path: data/$1}
  miniBatchSize: 20
$([ $kind = jpegs ] && printf '  errorThreshold: 2\n  retry: {maxTries: 1}')
  workers: {max: 1, gpus: $gpus}
  coordinator: {resources: {}} # no limit of memory: AddressSanitizer reserves terabytes
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
YAML
}
# run PROGRAMS NAME PRECISION [OPTION...]: windlass run; its exit code is in $code, its messages in $work/NAME.said.
run() {
    local programs=$1 name=$2
    manifest "$name" "$3" >"$work/$name.yaml"
    shift 3
    "$programs/windlass" run -f "$work/$name.yaml" --volume data="$work/data" --state "$work/state-$name" "$@" \
        >"$work/$name.said" 2>&1
    code=$?
}
said() { # NAME TEXT: windlass or a worker
    grep -qF -- "$2" "$work/$1.said" "$work/state-$1"/*worker*.log 2>/dev/null ||
        { sed 's/^/# /' "$work/$1.said" "$work/state-$1"/*worker*.log; return 1; }
}
# The mean square of the difference of two folders of pictures is at most MOST.
close_to() { # NAME NAME MOST
    local name
    for name in "$work/$1" "$work/$2"; do
        ffmpeg -v error -y -i "$name/%02d.png" -f rawvideo -pix_fmt rgb24 "$name.raw" </dev/null || return
    done
    "$python" - "$work/$1.raw" "$work/$2.raw" "$3" <<'P'
import sys, numpy
a, b = (numpy.fromfile(name, numpy.uint8).astype(float) for name in sys.argv[1:3])
assert a.size == 40 * 40 * 24 * 3 and a.size == b.size and a.std() > 20
error = ((a - b) ** 2).mean()
print(f"# mean square {error:.4f}, PSNR {10 * numpy.log10(255 ** 2 / max(error, 1e-9)):.1f} dB")
sys.exit(int(error > float(sys.argv[3])))
P
}
same() { diff -r "$work/data/$1" "$work/data/$2" -x .windlass -x '*.json' -x '*.jsonl' -x '*.html' -x '*.csv' >"$work/diff" || { head -3 "$work/diff" | sed 's/^/# /'; return 1; }; }
succeeded() { [ $code -eq 0 ] || { sed 's/^/# /' "$work/$1.said" "$work/state-$1"/*.log; return 1; }; }

##### without a GPU ###############################################################################
cp "$build/windlass" "$build/windlass-agent" "$work/plain"
run "$work/plain" cpu FP32 --gpus 0
check "--gpus 0: the processor" succeeded cpu
gpus=0
# On processors: with the instructions that this one has, with plain loops, and refused by an older one.
near() { mkdir -p "$work/cpu" "$work/$1" && cp "$work"/data/cpu/*.png "$work/cpu" && cp "$work/data/$1"/*.png "$work/$1" && close_to cpu "$1" 20.5; }
# with NAME VARIABLE: programs in $work/with-NAME, whose agent has this variable.
with() {
    mkdir "$work/with-$1" && cp "$build/windlass" "$work/with-$1"
    printf '#!/bin/sh\nexport %s\nexec "%s" "$@"\n' "$2" "$work/plain/windlass-agent" >"$work/with-$1/windlass-agent"
    chmod +x "$work/with-$1/windlass-agent"
}
with loops WINDLASS_CPU_BF16=plain
with older WINDLASS_CPU_ISA=avx2
if grep -qw avx512_bf16 /proc/cpuinfo; then
    run "$work/plain" rounded BF16
    check "BF16 on this processor" succeeded rounded
    check "35 dB at least from FP32" near rounded
else
    echo "skip BF16 by this processor's instructions: it has none"
fi
run "$work/with-loops" loops BF16
check "BF16 in plain loops" succeeded loops
check "it says so" said loops "scores on device cpu:bfloat16"
check "35 dB at least from FP32" near loops
run "$work/with-older" older BF16
check "an older processor: the job fails" [ $code -eq 1 ]
check "it is said what it has" said older \
    "spec.scorer.onnx.precision: bfloat16 needs a processor with AVX512_BF16 or AMX (amx_bf16), and this one has avx2"
run "$work/plain" half FP16
check "FP16 is refused" [ $code -eq 2 ]
gpus=1
if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    echo "skip what is said without a GPU: there is one"
else
    run "$work/plain" fallback BF16
    check "no GPU: the processor scores" succeeded fallback
    check "and it is said" said fallback "this machine has no NVIDIA GPU with a driver (no /dev/nvidiactl): its processors score"
    check "the same pictures" same cpu fallback
    run "$work/plain" insists FP32 --gpus 1
    check "--gpus 1: the job fails" [ $code -eq 1 ]
    if strings -a "$work/plain/windlass-agent" | grep -q "NVIDIA's driver is missing"; then
        check "it names what is missing" said insists "spec.workers.gpus: device \"cuda\": NVIDIA's driver is missing (libcuda.so.1)"
    else
        check "it names what is missing" said insists 'spec.workers.gpus: device "cuda": this build has no CUDA'
    fi
fi
run "$work/plain" many FP32 --gpus 17
check "--gpus 17 is refused" [ $code -eq 2 ]

##### the emulated GPU ############################################################################
if ! make -s "${BUILD:-build}/emulated/windlass-agent" 2>"$work/make"; then
    if grep -q 'No rule to make target' "$work/make"; then
        echo "skip BatchScores on the emulated GPU: there is no CUDA toolkit"
    else
        sed 's/^/# /' "$work/make"
        check "the agent on the emulated GPU is built" false
    fi
    exit $((failures > 0))
fi
cp "$build/windlass" "$build"/emulated/lib*.so.* "$work/emulated"
# agent LIMIT [CARDS [FAULT]]: LIMIT: memory of each GPU in bytes; 0: unlimited. FAULT: tests/fakejpeg's.
agent() {
    cp "$build/emulated/windlass-agent" "$work/emulated/agent"
    printf '#!/bin/sh\nexport EMULATED_LIMIT=%s EMULATED_CARDS=%s FAKE_NVJPEG=%s ASAN_OPTIONS=detect_leaks=0\nexec "%s" "$@"\n' "$1" "${2:-1}" "${3:-}" "$work/emulated/agent" \
        >"$work/emulated/windlass-agent"
    chmod +x "$work/emulated/windlass-agent"
}
agent 0
run "$work/emulated" gpu FP32 --gpus 1
check "a GPU scores" succeeded gpu
check "it says so" said gpu "scores on device cuda0"
check "the processor's bytes" same cpu gpu
run "$work/emulated" bfloat BF16 --gpus 1
check "in bfloat16" succeeded bfloat
check "on that device" said bfloat "scores on device cuda0:bfloat16"
mkdir -p "$work/cpu" "$work/bfloat"
cp "$work"/data/cpu/*.png "$work/cpu" && cp "$work"/data/bfloat/*.png "$work/bfloat"
check "35 dB at least from the processor's" close_to cpu bfloat 20.5
# A video: NVIDIA's decoder is missing here, which is reported once, and the processor decodes.
ffmpeg -v error -f lavfi -i testsrc2=size=64x48:rate=10:duration=2 -c:v libx264 -pix_fmt yuv420p "$work/data/film.mp4" </dev/null
kind=video
run "$work/plain" film FP32 --gpus 0
check "a video on the processor" succeeded film
run "$work/emulated" filmed FP32 --gpus 1
check "a video on a GPU" succeeded filmed
check "the same frames" [ "$(packets v:0 "$work/data/film/film.mp4")" = "$(packets v:0 "$work/data/filmed/film.mp4")" ]
if grep -q "decoding .*film.mp4 on the GPU" "$work/state-filmed"/*worker*.log; then
    echo "skip what is said without NVIDIA's decoder: there is one"
else
    check "who decodes it is said" said filmed "cannot use the GPU's video decoder: "
    check "once" [ "$(cat "$work/state-filmed"/*worker*.log | grep -c '; decoding on the CPU')" -eq 1 ]
fi
# JPEG files: without nvJPEG, then with its stand-in (tests/fakejpeg): with the processor's bytes, with its own, and
# with faults.
mkdir "$work/data/jpegs"
"$python" tests/e2e/score/jpegs.py "$work/data/jpegs" || check "JPEG files of all kinds are made" false
kind=jpegs
run "$work/plain" jpeg FP32 --gpus 0
check "JPEG files on the processor" succeeded jpeg
failed() { jq -r '.item, .cause' "$work/data/$1/failed.jsonl"; }
check "the two broken ones are named" [ "$(failed jpeg | grep -c 'corrupt JPEG')" -eq 2 ]
# jpeg_run NAME FAULT [FOLDER]: on the GPU, with that stand-in ("-": none).
jpeg_run() {
    local folder=${3:-$build/tests/fakejpeg}
    agent 0 1 "$2"
    LD_LIBRARY_PATH=$([ "$2" = - ] || echo "$folder") run "$work/emulated" "$1" FP32 --gpus 1
    check "JPEG files on a GPU: $1" succeeded "$1"
    check "$1: broken files are reported as on the CPU" [ "$(failed jpeg)" = "$(failed "$1")" ]
}
once() { [ "$(cat "$work/state-$1"/*worker*.log | grep -c "$2")" -eq 1 ]; }
jpeg_run missing -
if grep -q "with nvJPEG [0-9.]*" "$work/state-missing"/*worker*.log; then
    echo "skip what is said without nvJPEG: there is one"
else
    check "it is said that there is none" said missing "cannot use nvJPEG: cannot load libnvjpeg.so.13: the image windlass-agent-cuda has it ("
    check "once" once missing "decoding JPEG files on the CPU"
    check "the processor's pictures" same jpeg missing
fi
if make -s fakejpeg 2>"$work/make"; then
    jpeg_run exact exact
    check "it is said who decodes" said exact "decoding JPEG files with nvJPEG 13.0.1, where it supports them"
    check "baseline, progressive, grey and turned ones there, inks, RGB and broken ones here" said exact "nvJPEG decoded 8 JPEG files, the processor 4"
    check "the same pictures" same jpeg exact
    jpeg_run near ""
    check "all but four there, too" said near "nvJPEG decoded 8 JPEG files, the processor 4"
    check "its bytes are its own" eval '! same jpeg near'
    check "near the processor's" "$python" tests/e2e/score/jpegs.py "$work/data/jpeg" "$work/data/near" 3
    jpeg_run swap swap
    check "wrong colours are seen at once" said swap "nvJPEG failed (its colours differ from libjpeg-turbo's); decoding JPEG files on the CPU from now on"
    check "none is believed" same jpeg swap
    jpeg_run status status=6
    check "an error of the GPU ends the use of nvJPEG" said status "nvJPEG failed (nvjpegDecode failed with status 6); decoding JPEG files on the CPU from now on"
    check "that is said once" once status "nvJPEG failed"
    jpeg_run refused status=3
    check "files that it refuses: one by one" said refused "nvJPEG decoded 1 JPEG files, the processor 11"
    jpeg_run size size
    check "sizes that are not the file's: the processor's" same jpeg size
    jpeg_run old "" "$build/tests/fakejpeg/old"
    check "what is missing in it is named" said old "cannot use nvJPEG: libnvjpeg.so.13 has no nvjpegDecode; decoding JPEG files on the CPU"
    check "and the processor decodes" same jpeg old
else
    sed 's/^/# /' "$work/make"
    check "the stand-in for nvJPEG is built" false
fi
kind=in
agent 0 2
run "$work/emulated" two FP32 --gpus 2
check "two GPUs of a worker" succeeded two
both() { said two "slot 0 scores on device cuda0" && said two "slot 1 scores on device cuda1"; }
check "each has a slot" both
check "the same pictures" same cpu two
run "$work/emulated" three FP32 --gpus 3
check "a third one is not there, and that is said" said three 'device "cuda": GPU 2 does not exist: 2 are there (numbered from 0)'
# The workers of one run share the GPUs of the machine; if there are too few, all use all, which is reported.
# A worker that arrives after the job has ended reports nothing.
agent 0 3
parts() { sed -n 's/.*slot 0 scores on device cuda0, CUDA_VISIBLE_DEVICES is //p' "$work/state-$1"/*worker*.log | sort; }
CUDA_VISIBLE_DEVICES=2,0 run "$work/emulated" parted FP32 --gpus 1 --workers 2
check "two workers with a GPU each of two" succeeded parted
check "each has its own" eval '[ -n "$(parts parted)" ] && [ -z "$(parts parted | uniq -d)" ] && ! parts parted | grep -vqx "[02]"'
check "no message about sharing" eval '! grep -q "use the same GPUs" "$work/parted.said"'
check "the same pictures" same cpu parted
CUDA_VISIBLE_DEVICES=1 run "$work/emulated" shared FP32 --gpus 1 --workers 2
check "two workers on one GPU" succeeded shared
check "both use it" eval '[ -n "$(parts shared)" ] && ! parts shared | grep -vqx 1'
check "that is said" said shared "its 2 workers use the same GPUs of this machine, 1 of them (it has 1; --workers 1: each has its own)"
agent 300000
run "$work/emulated" little FP32 --gpus 1
check "with little memory" succeeded little
check "fewer items at once, and that is said" said little "items is too large: device \"cuda\": the GPU's memory is full"
check "the same pictures" same cpu little
agent 20000
run "$work/emulated" tiny FP32 --gpus 1
check "no memory for a single one: the job fails" [ $code -eq 1 ]
check "and says why" said tiny "the GPU's memory is full"
exit $((failures > 0))
