#!/usr/bin/env bash
# crds/ on a real Kubernetes 1.36 server for custom resources: the table of bad manifests that our own checks refuse
# (tests/unit/operator/test_resource.c) is refused there too, for the same field and, for a CEL rule, with the same
# message; what we accept is accepted and stored with the same defaults. The first run builds the server: 4 to 6
# minutes.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
folder=$(mktemp -d)
trap 'tests/cluster/crd-server.sh stop "$folder"; rm -rf "$folder"' EXIT
tests/cluster/crd-server.sh start "$folder" || exit 3
# A thousand requests: curl and jq for each would take a minute of a processor.
python3 -B tests/e2e/cluster/crd.py "$folder" "${BUILD:-build}/windlass" # prints the checks
exit $?
