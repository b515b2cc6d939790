#!/usr/bin/env bash
# Control flow, sequences and shapes that only the run knows (flow.py), compared with ONNX Runtime
# if npm can install it.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/engine/oracle.sh
compare_with_runtime tests/e2e/engine/flow.py "control flow"
exit $((failures > 0))
