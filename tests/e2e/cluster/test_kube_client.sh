#!/usr/bin/env bash
# operator/kube against real API servers: Kubernetes 1.20 (pods, leases, tokens, restarts, compaction) and the CRD
# server of 1.36 (list, watch, apply, status), each also through a proxy that injects faults. The controller's Events on
# both: the server of 1.36 has them as a custom resource with the fields and limits of events.k8s.io/v1. `make test` draws
# one of the two servers; a soak has both.
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=${BUILD:-build}
programs=("$build/tests/kube/kube_stream" "$build/tests/kube/kube_who" "$build/tests/conformance/test_cluster" "$build/tests/kube/kube_events")
make -s BUILD="$build" "${programs[@]}" >/dev/null || { echo "not ok kube client: make"; exit 1; }
folder=$(mktemp -d /tmp/windlass-kube-XXXXXX)
end() {
    for version in 1.20 1.36; do tests/proxy/start.sh stop "$folder/$version"; done
    tests/cluster/api-server.sh stop "$folder/1.20"
    tests/cluster/crd-server.sh stop "$folder/1.36"
    rm -rf "$folder"
} >/dev/null 2>&1
trap end EXIT
# start VERSION SCRIPT [OPTION...]: a server that knows the kind of tests/kube/things.json, and a proxy before it.
start() {
    local version=$1 script=$2
    shift 2
    "tests/cluster/$script" start "$folder/$version" "$@" >"$folder/$version.log" 2>&1 &&
        "$folder/$version/curl" /apis/apiextensions.k8s.io/v1/customresourcedefinitions -X POST \
            -H 'Content-Type: application/json' -d "@$PWD/tests/kube/things.json" >/dev/null &&
        tests/proxy/start.sh start "$folder/$version" >>"$folder/$version.log" 2>&1 ||
        { echo "not ok kube client: no API server $version: $(tail -1 "$folder/$version.log")"; return 1; }
    for _ in $(seq 100); do
        "$folder/$version/curl" /apis/test.windlass.dev/v1/things 2>/dev/null | grep ThingList >/dev/null && return
        sleep 0.1
    done
    echo "not ok kube client: $version does not serve its new kind"
    return 1
}
# told VERSION: the results on stdin, with the version in their names.
told() { sed -E "s/^(ok|not ok|skip) /\1 kube $1 /"; }
half_1_20() {
    # This server ends the HTTP/2 connection (GOAWAY) with one request in 50.
    start 1.20 api-server.sh --controller-manager -- --goaway-chance=0.02 || { failures=1; return; }
    export WINDLASS_TEST_FOLDER=$folder/1.20 WINDLASS_TEST_SERVER=tests/cluster/api-server.sh
    WINDLASS_TEST_KUBECONFIG=$folder/1.20/kubeconfig timeout 120 "${programs[2]}" | told 1.20 || failures=1
    timeout 300 "${programs[0]}" | told 1.20 || failures=1
    timeout 120 "${programs[1]}" | told 1.20 || failures=1
    timeout 120 "${programs[3]}" | told 1.20 || failures=1
}
half_1_36() {
    start 1.36 crd-server.sh || { failures=1; return; }
    "$folder/1.36/curl" /apis/apiextensions.k8s.io/v1/customresourcedefinitions -X POST \
        -H 'Content-Type: application/json' -d "@$PWD/tests/kube/events.json" >/dev/null
    WINDLASS_TEST_FOLDER=$folder/1.36 timeout 300 "${programs[0]}" | told 1.36 || failures=1
    WINDLASS_TEST_FOLDER=$folder/1.36 timeout 120 "${programs[3]}" | told 1.36 || failures=1
}
draw "API servers" 1 1.20 1.36
# Both at once: they wait for deadlines most of the time.
halves=()
! is_drawn 1.20 || halves+=(half_1_20)
! is_drawn 1.36 || halves+=(half_1_36)
side_by_side "${halves[@]}"
exit $((failures > 0))
