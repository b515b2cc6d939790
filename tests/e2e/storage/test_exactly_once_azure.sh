#!/usr/bin/env bash
# Like test_exactly_once.sh, with inputs and outputs on a real Azurite, behind a proxy that fails one request in ten:
# tests/e2e/storage/once_cloud.sh, which has the variables.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
server=azurite batches_default=300
in=az://films/tests/in out=az://results/tests/out
stores='stores: [{account: films, secretName: films, readOnly: true}, {account: results, secretName: results}]'
remote() { # WHAT ACCOUNT/PATH [LOCAL]
    python3 tests/azurite/az.py "$place" "$1" "${2%%/*}" "${2#*/}" "${@:3}" || exit 3
}
at() { WINDLASS_BLOB_ENDPOINT=https://127.0.0.1:$1/ACCOUNT; }
. tests/e2e/storage/once_cloud.sh
exit $((failures > 0))
