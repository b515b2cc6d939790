#!/usr/bin/env bash
# Images a second of training ResNet-50 in float32: windlass-trainer against PyTorch (Debian's; its faster memory format
# counts), alternating in one run on the same processors, with the same weights, batch, optimizer
# (tests/bench/train.py). Goal: 1.3 times PyTorch's.
#   BATCH=16 SIDE=224 STEPS=4 ROUNDS=3 THREADS=2
# Prints a table, writes build/bench/train.json.
set -eu
cd "$(dirname "$0")/../.."
: "${BATCH:=16}" "${SIDE:=224}" "${STEPS:=4}" "${ROUNDS:=3}" "${THREADS:=2}"
(. tests/cluster/lib.sh && need_packages python3-torch python3-onnx python3-numpy)
build=$(realpath "${BUILD:-build}")
mkdir -p build/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=/usr/bin/python3 # Debian's python, which has these packages
"$python" tests/bench/train.py make "$work" "$BATCH" "$SIDE"
"$build/windlass-agent" model new resnet50 --classes 1000 --shape "3x${SIDE}x$SIDE" -o "$work/model.onnx" >"$work/made"
"$python" tests/bench/train.py measure "$work" "$build/windlass-trainer" build/bench/train.json \
    "$BATCH" "$STEPS" "$ROUNDS" "$THREADS"
