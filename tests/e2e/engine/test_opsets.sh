#!/usr/bin/env bash
# Changes of opsets 18 to 24, quantized, recurrent and com.microsoft operators (opsets.py): one node each, compared with ONNX Runtime
# if npm can install it, or refused by name.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/engine/oracle.sh
compare_with_runtime tests/e2e/engine/opsets.py "opsets 18 to 24"
exit $((failures > 0))
