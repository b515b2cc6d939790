#!/usr/bin/env bash
# The gradients of more than 210 small networks of PyTorch's exporter against its own in double precision, tensor by
# tensor: convolutions of 1 to 3 dimensions, recurrent, norms, attention, picks, reductions, shapes, formulas, and small forms
# of networks in use (mixer, experts, WaveNet, U-Net). Fourteen of them, drawn by SOAK_SEED; `make soak`: all, two seeds.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-torch python3-onnx python3-numpy) || exit 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
agent=${BUILD:-build}/windlass-agent
seed=${SOAK_SEED:-1}
count=14 rounds=1
[ -z "${SOAK_ROUNDS:-}" ] || count=all rounds=2

networks() { # SEED
    mkdir "$folder/$1" && /usr/bin/python3 tests/e2e/engine/rules.py check "$agent" "$folder/$1" "$count" "$1" 2>"$folder/errors" ||
        { tail -5 "$folder/errors" | sed 's/^/# /'; return 1; }
}
enough() { [ "$(/usr/bin/python3 tests/e2e/engine/rules.py names)" -ge 210 ]; }
check "there are at least 210 networks" enough
for ((round = 0; round < rounds; round++)); do
    check "each gradient is PyTorch's" networks $((seed + round))
done
exit $((failures > 0))
