#!/usr/bin/env bash
# Networks in the forms of PyTorch's exporter: default (norms folded), PRESERVE, TRAINING, opsets 13 to 21, constants folded
# or not, initializers among the inputs. Each is trained, evaluated, published and run: weights, statistics, test loss and
# outputs are those of PyTorch's own steps. Thirty-two of them, drawn by SOAK_SEED; `make soak`: all.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
trainer_begins forms 2 python3-torch
seed=${SOAK_SEED:-1} count=32
[ -z "${SOAK_ROUNDS:-}" ] || count=all
forms() { /usr/bin/python3 tests/e2e/train/forms.py "$@" 2>"$work/errors" || { tail -5 "$work/errors" | sed 's/^/# /'; return 1; }; }

enough() { [ "$(/usr/bin/python3 tests/e2e/train/forms.py names)" -ge 200 ]; }
check "there are at least 200 combinations of network, form and opset" enough
check "each is trained as PyTorch does, and written in the form of inference" \
    forms "$build/windlass-agent" "$work/trainer" "$work/forms" $count "$seed"

# A network whose rows depend on each other, in the formula: refused before it is trained, and nothing is written.
mixed() { # BATCH
    mkdir -p "$work/mixed/out/result"
    /usr/bin/python3 tests/e2e/train/forms.py mixed "$work/mixed" 2>/dev/null
    data=$work/mixed out=$work/mixed/out WINDLASS_SPEC='{"trainer": {"model": {"path": "data/net.onnx"}, "data": {"train": {"tensors":
        {"samples": "data/x.npy", "labels": "data/y.npy"}}}, "epochs": 2, "batchSize": '"$1"', "output": {"path": "out/result"}}}' \
        "$work/trainer" train >"$work/log" 2>&1
    [ $? -eq 2 ] && grep -q "rows depend on each other" "$work/log" && [ ! -e "$work/mixed/out/result/model.onnx" ]
}
check "rows that depend on their batch: refused" mixed 4 || tail -3 "$work/log" | sed 's/^/# /'
check "also where a step has one sample" mixed 1 || tail -3 "$work/log" | sed 's/^/# /'
check "and model check reports a file in training mode" \
    grep -q "depends on the other rows" <("$build/windlass-agent" model check "$work/mixed/training.onnx")
exit $((failures > 0))
