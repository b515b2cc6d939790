#!/usr/bin/env bash
# Prints the folder of onnxruntime-node 1.30.0, or that of $ONNXRUNTIME; npm fetches it (300 MB) once per machine (tests/npm.sh).
set -euo pipefail
if [ -z "${ONNXRUNTIME:-}" ]; then
    folder=$("$(dirname "$0")/npm.sh" onnxruntime-node 1.30.0)
    ONNXRUNTIME=$folder/node_modules/onnxruntime-node
fi
realpath "$ONNXRUNTIME"
