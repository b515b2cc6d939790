#!/usr/bin/env bash
# The engine against onnxruntime-node 1.30.0 in one run: a table and build/bench/engine.json.
# THREADS=1 and ROUNDS=9 change the numbers of threads and of rounds; ONLY=ResNet selects networks.
cd "$(dirname "$0")/../.." || exit 3
set -e
models=build/bench/models
mkdir -p build/bench
python3 tests/bench/make_models.py "$models"
python3 tests/bench/make_trees.py "$models"
cp examples/style-transfer/data/model/starry.onnx "$models/"
mkdir -p build/bench/node_modules
[ -d build/bench/node_modules/onnxruntime-node ] || ln -sfn "$(tests/onnxruntime.sh)" build/bench/node_modules/onnxruntime-node
node tests/bench/peers/compare.cjs build/windlass-agent build/bench \
    --threads "${THREADS:-2}" --rounds "${ROUNDS:-5}" --only "${ONLY:-}"
