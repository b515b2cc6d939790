#!/usr/bin/env bash
# `windlass check --server` on a real API server 1.20, whose definitions are upgraded and have lost a field, and on a
# real 1.36 with its CEL rules: what the server refuses, what it warns of, and that nothing is stored.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
manager=later
. tests/e2e/cluster/jobs.sh
# asks CODE [ARGUMENT...]: `windlass check --server` of the manifest on standard input exits so.
asks() {
    local code=$1
    shift
    "$windlass" check --server -f - "$@" >"$work/out" 2>"$work/err"
    [ $? -eq "$code" ] || { sed 's/^/# /' "$work/out" "$work/err"; return 1; }
}
nothing() { [ -z "$("$kubectl" get bs,dt,sweep -A -o name 2>/dev/null)" ]; }
check "1.20: a manifest is accepted" asks 0 < <(job one)
check "and says so: $(cat "$work/out")" says "standard input: BatchScore one is OK, says the API server, too" "$(cat "$work/out")"
check "without a warning" [ ! -s "$work/err" ]
check "nothing is stored" nothing
check "v1alpha1 is accepted" asks 0 < <(job one | sed s/v1beta1/v1alpha1/)
check "with the server's warning" says "BatchScore one: the API server warns: windlass.dev/v1alpha1 BatchScore is deprecated" "$(cat "$work/err")"
check "a namespace that is not there: refused" asks 2 -n nowhere < <(job one)
check "by the server's words" says 'namespaces "nowhere" not found' "$(cat "$work/err")"
check "two namespaces for one manifest: refused" asks 2 -n other < <(job one | sed 's/{name: one}/{name: one, namespace: default}/')
check "what is refused here is not asked about" asks 2 < <(job one | sed 's/miniBatchSize: 2/miniBatchSize: no/')
check "--server with --show: refused" asks 2 --show < <(job one)
mkdir "$work/files"
job good >"$work/files/1.yaml"
{ job first; job second | sed 's/{name: second}/{name: second, namespace: nowhere}/'; gang third; } >"$work/files/2.yaml"
check "several files and documents: one is refused" [ "$("$windlass" check --server -f "$work/files/1.yaml" -f "$work/files/2.yaml" >"$work/out" 2>"$work/err"; echo $?)" = 2 ]
check "the others are OK" [ "$(grep -c 'is OK, says' "$work/out")" -eq 3 ]
check "and which one is not" says "$work/files/2.yaml: the API server refuses BatchScore second: " "$(cat "$work/err")"
stored() { job kept | "$kubectl" apply -f - >/dev/null && "$kubectl" get bs kept -o yaml >"$work/kept.yaml" && grep -q managedFields "$work/kept.yaml"; }
check "an object is stored, and written to a file as the server has it" stored
check "which is accepted" asks 0 <"$work/kept.yaml"
again() { "$kubectl" delete bs kept --wait=false >/dev/null && asks 0 <"$work/kept.yaml"; }
check "also where there is none of it any more" again
drops() { # A definition without spec.suspend, as an older one lacks later fields.
    "$kubectl" patch crd batchscores.windlass.dev --type json -p '[
        {"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/suspend"},
        {"op": "remove", "path": "/spec/versions/1/schema/openAPIV3Schema/properties/spec/properties/suspend"}]' >/dev/null
}
check "the definition loses a field" drops
suspended() { job one; echo '  suspend: true'; }
names_it() { asks 0 < <(suspended) && grep -qF "drops spec.suspend" "$work/err"; }
check "a field that the definition drops is named" within 60 names_it
check "but not one that the manifest leaves to its default" asks 0 < <(job one)
check "without a warning of it" [ ! -s "$work/err" ]
check "still nothing is stored" nothing
sed 's#https://127.0.0.1:[0-9]*#https://127.0.0.1:1#' "$KUBECONFIG" >"$work/wrong"
check "an API server that does not answer is another exit code" asks 3 --kubeconfig "$work/wrong" < <(job one)

##### 1.36 ########################################################################################
tests/cluster/crd-server.sh start "$work/1.36" >"$work/1.36.log" 2>&1 || { cat "$work/1.36.log"; exit 3; }
trap 'tests/cluster/crd-server.sh stop "$work/1.36"; cleanup' EXIT
ask() { "$work/1.36/curl" "$@"; }
export KUBECONFIG=$work/1.36/kubeconfig
yaml=(-H 'Content-Type: application/yaml' --data-binary @-)
ask /apis/apiextensions.k8s.io/v1/customresourcedefinitions -X POST "${yaml[@]}" <crds/batchscore.yaml >"$work/answer"
path=/apis/windlass.dev/v1beta1/namespaces/default/batchscores
put() { job one | grep -v -- --- | ask $path -X POST "${yaml[@]}" | jq -e .metadata.uid; }
check "1.36: a job is stored" within 60 put
status='{"status": {"specHash": "x", "credentials": {"secret": "s", "certificateSHA256": "c", "created": true}}}'
ask $path/one/status -X PATCH -H 'Content-Type: application/merge-patch+json' -d "$status" | jq -e .status.specHash >/dev/null
check "1.36: as it is, it is accepted" asks 0 < <(job one)
check "1.36: with another input it is not, since it has begun" asks 2 < <(job one | sed s/in.mp4/other.mp4/)
check "1.36: by the definition's rule: $(cut -c1-300 "$work/err")" grep -q "refuses BatchScore one: .*spec" "$work/err"
check "1.36: with more workers it is" asks 0 < <(job one | sed 's/min: 2, max: 2/min: 2, max: 5/')
workers() { ask $path/one | jq .spec.workers.max; }
check "1.36: nothing of that is stored" [ "$(workers)" = 2 ]
exit $((failures > 0))
