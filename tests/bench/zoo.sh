#!/usr/bin/env bash
# Networks of many families (zoo/zoo.py) under our engine and onnxruntime-node 1.30.0, by turns: a table and
# build/bench/zoo.json. THREADS=1 and ROUNDS=9 change the numbers of threads and of rounds; ONLY=bert
# selects networks.
cd "$(dirname "$0")/../.." || exit 3
set -e
(. tests/cluster/lib.sh && need_packages python3-torch python3-torchvision python3-onnx python3-numpy)
models=build/bench/zoo
mkdir -p "$models"
/usr/bin/python3 tests/bench/zoo/zoo.py "$models" "${ONLY:-}"
node tests/bench/zoo/zoo.cjs build/windlass-agent "$models" "$(tests/onnxruntime.sh)" --threads "${THREADS:-2}" \
    --rounds "${ROUNDS:-5}" --only "${ONLY:-}" --json build/bench/zoo.json
