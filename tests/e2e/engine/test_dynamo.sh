#!/usr/bin/env bash
# What is trained of three networks that PyTorch 2.14 has exported with dynamo=True: parameters, also those that its
# optimizer has transposed, joined or renamed, with PyTorch's gradients; no buffer, limit, factor or table of angles.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy) || exit 3
check "each parameter has PyTorch's gradient, and nothing else is trained" \
    /usr/bin/python3 tests/e2e/engine/dynamo.py check "${BUILD:-build}/windlass-agent" tests/data/dynamo
exit $((failures > 0))
