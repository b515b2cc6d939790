#!/usr/bin/env bash
# A DistTrain whose trainer has gpus, by `windlass run`: on the emulated GPU of tests/cuda (docs/testing/engine.md, "CUDA"), one
# rank and two with NCCL between them (tests/fakegpu), gives the processor's results; and the messages where driver, GPU
# or cuDNN are missing. No GPU is used.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/plain" "$work/emulated"

# run PROGRAMS NAME GPUS PRECISION [LINE]: windlass run; its exit code is in $code, its messages in $work/NAME.said.
run() {
    local programs=$1 name=$2
    mkdir -p "$work/$name/out"
    cat >"$work/$name.yaml" <<YAML
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: ${name,,}}
spec:
  workers: 1
  gpus: $3
  restart: {maxRestarts: 0}
  volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
  trainer:
    model: {new: MLP, classes: 4, shape: [1, 12, 12]}
    data:
      train: {synthetic: {count: 24, classes: 4, shape: [1, 12, 12]}}
      test: {synthetic: {count: 8, classes: 4, shape: [1, 12, 12]}}
    epochs: 2
    batchSize: 8
    optimizer: {learningRate: "0.05", momentum: "0.9"}
    precision: $4
    output: {path: out/trained}
YAML
    "$programs/windlass" run -f "$work/$name.yaml" --volume out="$work/$name/out" --state "$work/state-$name" \
        >"$work/$name.said" 2>&1
    code=$?
}
show() { sed 's/^/# /' "$work/$1.said" "$work/state-$1"/*.log | tail -n 30; }
succeeded() { [ $code -eq 0 ] && [ -s "$work/$1/out/trained/model.onnx" ] || { show "$1"; return 1; }; }
failed() { # NAME TEXT: windlass or a rank
    [ $code -ne 0 ] && grep -qF -- "$2" "$work/$1.said" "$work/state-$1"/*.log || { show "$1"; return 1; }
}
# Losses at the ends of epochs equal the processor's, within MOST.
follows() { # NAME MOST
    /usr/bin/python3 - "$work/cpu-$2/out/trained/metrics.csv" "$work/$1/out/trained/metrics.csv" "$3" <<'P' || { show "$1"; return 1; }
import csv, sys
curves = [[(float(r["loss"]), float(r["test_loss"])) for r in csv.DictReader(open(name)) if r["test_loss"]] for name in sys.argv[1:3]]
print("#", *curves)
assert len(curves[0]) == len(curves[1]) == 2 and curves[0][1][0] < curves[0][0][0]
sys.exit(any(abs(a - b) > float(sys.argv[3]) * max(abs(a), 0.1) for x, y in zip(*curves) for a, b in zip(x, y)))
P
}

##### without a GPU ###############################################################################
cp "$build/windlass" "$build/windlass-trainer" "$build/windlass-agent" "$work/plain"
for precision in FP32 BF16; do
    run "$work/plain" cpu-$precision 0 $precision
    check "the processor, $precision" succeeded cpu-$precision
done
if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    echo "skip what is said without a GPU: there is one"
else
    run "$work/plain" none 1 FP32
    if strings -a "$work/plain/windlass-trainer" | grep -q "NVIDIA's driver is missing"; then
        check "no driver: the job fails, and says so" failed none \
            "this rank needs a GPU (CUDA_VISIBLE_DEVICES=0): device \"cuda\": NVIDIA's driver is missing (libcuda.so.1)"
    else
        check "no CUDA in it: the job fails, and says so" failed none 'device "cuda": this build has no CUDA'
    fi
fi

##### the emulated GPU ############################################################################
if ! make -s "${BUILD:-build}/emulated/windlass-trainer" fakegpu 2>"$work/make"; then
    if grep -q 'No rule to make target' "$work/make"; then
        echo "skip trainings on the emulated GPU: there is no CUDA toolkit"
    else
        sed 's/^/# /' "$work/make"
        check "the trainer on the emulated GPU is built" false
    fi
    exit $((failures > 0))
fi
cp "$build/windlass" "$build/windlass-agent" "$build"/emulated/lib*.so.* "$work/emulated"
cp "$build/emulated/windlass-trainer" "$work/emulated/trainer"
# trainer LIBRARIES LIMIT: the folder of NCCL; the GPU's memory in bytes, 0: unlimited.
trainer() {
    printf '#!/bin/sh\nexport EMULATED_LIMIT=%s ASAN_OPTIONS=detect_leaks=0 LD_LIBRARY_PATH=%s\nexec "%s" "$@"\n' \
        "$2" "$1" "$work/emulated/trainer" >"$work/emulated/windlass-trainer"
    chmod +x "$work/emulated/windlass-trainer"
}
trainer "$build/tests/fakegpu" 0
for precision in FP32 BF16; do
    most=$([ $precision = FP32 ] && echo 0.001 || echo 0.05)
    run "$work/emulated" one-$precision 1 $precision
    check "one GPU, $precision" succeeded one-$precision
    check "it follows the processor" follows one-$precision $precision "$most"
done
run "$work/emulated" two 2 FP32
check "two GPUs: two ranks, NCCL between them" succeeded two
check "they follow the processor" follows two FP32 0.001
mkdir "$work/without" && echo none >"$work/without/libnccl.so.2" && cp "$build/tests/fakegpu/libcuda.so.1" "$work/without"
trainer "$work/without" 0
run "$work/emulated" alone 2 FP32
check "without NCCL: which library, which image" failed alone \
    'comm "nccl": libnccl.so.2 cannot be loaded: the image windlass-trainer-cuda has it'
trainer "$build/tests/fakegpu" 100000
run "$work/emulated" full 1 FP32
check "a full card is one line" failed full "the GPU's memory is full"
exit $((failures > 0))
