#!/usr/bin/env bash
# Prints the folder of onnxruntime-node 1.30.0, which is fetched by npm (13 s, 300 MB) if it is not there yet.
cd "$(dirname "$0")/.." || exit 3
found=${ONNXRUNTIME:-build/bench/node_modules/onnxruntime-node}
if [ ! -d "$found" ]; then
    mkdir -p build/bench
    npm install --prefix build/bench --ignore-scripts --no-audit --no-fund --no-save \
        --loglevel error onnxruntime-node@1.30.0 >&2 || exit 3
fi
realpath "$found"
