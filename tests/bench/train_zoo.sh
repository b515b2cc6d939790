#!/usr/bin/env bash
# Processor time of a training step: windlass-trainer beside PyTorch (Debian's; the better of its memory formats), alternating,
# nine networks that people train (tests/bench/train_zoo.py). Goal: in the mean 1.2 times as fast, none slower.
#   STEPS=6 ROUNDS=3 THREADS=1, and names of networks as arguments
# PyTorch has OpenBLAS: with Debian's reference BLAS, which it takes where no other is installed, products are many times as slow.
# On a processor that OpenBLAS does not know it takes old kernels: better ones are named to it then. OPENBLAS_CORETYPE names others.
# Prints a table, writes build/bench/train_zoo.json.
set -eu
cd "$(dirname "$0")/../.."
: "${STEPS:=6}" "${ROUNDS:=3}" "${THREADS:=1}"
(. tests/cluster/lib.sh && need_packages python3-torch python3-torchvision python3-onnx python3-numpy libopenblas0-pthread)
build=$(realpath "${BUILD:-build}")
mkdir -p build/bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
/usr/bin/python3 tests/bench/train_zoo.py measure "$work" "$build/windlass-trainer" build/bench/train_zoo.json \
    "$STEPS" "$ROUNDS" "$THREADS" "$@" 2> >(grep -v '_jit_pass\|Warning' >&2)
