#!/usr/bin/env bash
# The engine on a GPU, as `make gpu-build` made it in build/gpu (here, or copied to this machine):
#   gpu.sh test     the conformance tests, including those of training; ends with "N passed, N failed"
#   gpu.sh bench    Johnson 1920x1080 and ResNet-50 batch 128, then ResNet-50's training (tests/bench/train_gpu.sh);
#                   against PyTorch where it is installed
# cuDNN and cuBLASLt are searched for where the linker looks, and in Python's packages.
set -u
cd "$(dirname "$0")/../.." || exit 3
gpu=build/gpu
if [ ! -x $gpu/test_device ]; then
    echo "gpu.sh: build/gpu/test_device is missing: make gpu-build" >&2
    exit 3
fi
. tests/cuda/libraries.bash
case ${1:-} in
test)
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    DEVICE_SEEDS=2 tests/run.sh $gpu/test_device $gpu/test_gradient $gpu/test_train_graph | tee "$log"
    result=${PIPESTATUS[0]}
    if grep -qE '^skip test_(cuda|gradients_on_cuda)' "$log"; then
        echo "gpu.sh: nothing was run on a GPU (see the lines that begin with skip)" >&2
        exit 3
    fi
    exit "$result"
    ;;
bench)
    mkdir -p $gpu/models
    python3 tests/bench/make_models.py $gpu/models || exit 3
    for device in cuda:bfloat16 cuda:float16 cuda:tf32 cuda; do
        $gpu/bench "$device" $gpu/models || exit 1
    done
    python3 -c 'import torch' 2>/dev/null && python3 tests/cuda/peer.py
    tests/bench/train_gpu.sh
    ;;
*)
    echo "gpu.sh: test or bench is expected" >&2
    exit 2
    ;;
esac
