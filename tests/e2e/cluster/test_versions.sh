#!/usr/bin/env bash
# v1beta1 beside v1alpha1: a real Kubernetes 1.20 whose definitions have v1alpha1 alone, and jobs of that time, which is
# then upgraded while a controller runs; and a real 1.36 that takes the same steps. Commands see both.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/cluster/jobs.sh
old_definition() { sed '/# The same fields under the older name/,$d; s/^    - name: v1beta1$/    - name: v1alpha1/' "crds/$1.yaml"; }
served() { "$api/curl" "/apis/windlass.dev/$1/namespaces/default/batchscores" | jq -e '.kind == "BatchScoreList"'; }
not_served() { ! served "$1"; }
apply_as() { job "$2" "data/$2" | sed "s#windlass.dev/v1beta1#windlass.dev/$1#" | "$api/kubectl" apply -f - >"$work/applied" 2>&1; }
has_pods() { [ "$(count pods "$1")" -eq 3 ]; }
uids() { "$kubectl" get pods -l "windlass.dev/job=$1" -o jsonpath='{.items[*].metadata.uid}'; }
owner_version() { "$kubectl" get services -l "windlass.dev/job=$1" -o jsonpath='{.items[0].metadata.ownerReferences[0].apiVersion}'; }

# The definitions of an earlier version of Windlass, in place of those that jobs.sh has applied.
"$kubectl" delete crd --all >/dev/null
for kind in batchscore disttrain sweep; do old_definition $kind; echo ---; done | "$kubectl" apply --validate=false -f - >/dev/null
within 60 served v1alpha1
check "the definition is an old one" within 60 not_served v1beta1
apply_as v1alpha1 early
warns() { grep -q '^Warning: windlass.dev/v1alpha1 BatchScore is deprecated; write windlass.dev/v1beta1' "$work/applied"; }
is_silent() { ! grep -q Warning "$work/applied"; }
check "which alone is not deprecated" is_silent
controller old --no-leader-election
check "a controller works with definitions that know v1alpha1 only" within 60 has_pods early
check "and its objects are owned under that version" [ "$(owner_version early)" = windlass.dev/v1alpha1 ]
state_is_told() { [ "$(condition early status)" = Unknown ]; }
check "and it writes the status" within 60 state_is_told
check "windlass status finds the job there" sh -c "'$windlass' status early >'$work/status' 2>&1 && grep -q early '$work/status'"
before=$(uids early)

# The upgrade of the definitions, under the running controller.
"$kubectl" apply --validate=false -f crds/batchscore.yaml -f crds/disttrain.yaml -f crds/sweep.yaml >"$work/upgrade" 2>&1
check "the definitions are upgraded by kubectl apply: $(tail -1 "$work/upgrade")" within 60 served v1beta1
apply_as v1beta1 later
check "kubectl does not warn of v1beta1" is_silent
check "the running controller makes the pods of a job of v1beta1" within 60 has_pods later
kill "$pid"
wait "$pid"
controller new --no-leader-election
apply_as v1alpha1 third
check "kubectl warns of v1alpha1" warns
check "the next controller works with v1beta1, and takes manifests of v1alpha1" within 60 has_pods third
check "and owns under v1beta1" [ "$(owner_version third)" = windlass.dev/v1beta1 ]
check "no pod of the early job was replaced" [ "$(uids early)" = "$before" ]
for version in v1alpha1 v1beta1; do
    check "kubectl get by $version shows all" \
        [ "$("$kubectl" get "batchscores.$version.windlass.dev" -o name | wc -l)" -eq 3 ]
    check "and its columns" grep -q STATE <("$kubectl" get "batchscores.$version.windlass.dev")
done
same() { [ "$(for version in v1alpha1 v1beta1; do "$kubectl" get "batchscores.$version.windlass.dev" early -o json |
    jq -S 'del(.apiVersion, .metadata.managedFields)'; done | jq -s 'unique | length')" = 1 ]; }
check "an object is the same in both" within 10 same
"$kubectl" get crd batchscores.windlass.dev -o json >"$work/crd.json"
stored_as_v1beta1() { jq -e '.spec.versions[] | select(.storage) | .name == "v1beta1"' "$work/crd.json" >/dev/null; }
both_in_etcd() { jq -e '.status.storedVersions == ["v1alpha1", "v1beta1"]' "$work/crd.json" >/dev/null; }
check "new objects are stored as v1beta1" stored_as_v1beta1
check "etcd has both" both_in_etcd
# docs/versions.md: the migration of what is stored.
for plural in batchscores disttrains sweeps; do
    "$kubectl" get $plural -A -o json | jq 'select(.items | length > 0)' >"$work/all.json"
    [ ! -s "$work/all.json" ] || "$kubectl" replace -f "$work/all.json" >/dev/null
    "$api/curl" /apis/apiextensions.k8s.io/v1/customresourcedefinitions/$plural.windlass.dev/status -X PATCH \
        -H 'Content-Type: application/merge-patch+json' -d '{"status": {"storedVersions": ["v1beta1"]}}' >/dev/null
done
stored() { "$kubectl" get crd batchscores.windlass.dev -o jsonpath='{.status.storedVersions}'; }
check "after the migration only v1beta1 ($(stored))" [ "$(stored)" = '["v1beta1"]' ]
check "and no pod was replaced" [ "$(uids early)" = "$before" ]
"$kubectl" delete bs early later third --wait=false >/dev/null
check "all jobs of both versions are cleaned up" within 90 nothing_is_left early
kill "$pid"
wait "$pid"

##### 1.36, with CEL ############################################################################
tests/cluster/crd-server.sh start "$work/1.36" >"$work/1.36.log" 2>&1 || { cat "$work/1.36.log"; exit 3; }
trap 'tests/cluster/crd-server.sh stop "$work/1.36"; cleanup' EXIT
ask() { "$work/1.36/curl" "$@"; }
crds=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
old_definition batchscore | ask $crds -X POST -H 'Content-Type: application/yaml' --data-binary @- >"$work/answer"
path=/apis/windlass.dev/v1alpha1/namespaces/default/batchscores
put() { job "$1" | grep -v -- --- | sed "s#windlass.dev/v1beta1#windlass.dev/$2#" | ask "${path/v1alpha1/$2}" -X POST -H 'Content-Type: application/yaml' --data-binary @- | jq -e .metadata.uid; }
check "1.36: a job under the old definition" within 30 put early v1alpha1
version=$(ask $crds/batchscores.windlass.dev | jq -r .metadata.resourceVersion)
sed "s/^  name: batchscores.windlass.dev$/&\n  resourceVersion: \"$version\"/" crds/batchscore.yaml |
    ask $crds/batchscores.windlass.dev -X PUT -H 'Content-Type: application/yaml' --data-binary @- >"$work/answer"
has_early() { ask "${path/v1alpha1/v1beta1}/early" | jq -e '.apiVersion == "windlass.dev/v1beta1" and .spec.miniBatchSize == 2'; }
check "1.36: is there under v1beta1 after the upgrade" within 30 has_early
# Another manager's condition beside ours, by server-side apply: each has its own. (On 1.20: test_ownership.sh.)
status() { ask "${path/v1alpha1/v1beta1}/early/status?fieldManager=$1" -X PATCH -H "Content-Type: application/$2" -d "$3" >"$work/answer"; }
condition_of() { echo "{\"type\": \"$1\", \"status\": \"$2\", \"reason\": \"R\", \"message\": \"m\", \"lastTransitionTime\": \"2026-11-21T04:00:00Z\"}"; }
admitted=$(condition_of example.com/Admitted True)
ours() { status windlass json-patch+json "[{\"op\": \"add\", \"path\": \"/status\", \"value\": {\"conditions\": [$1]}}]"; }
ours "$(condition_of Succeeded Unknown)"
status gate apply-patch+yaml "{\"apiVersion\": \"windlass.dev/v1beta1\", \"kind\": \"BatchScore\", \"status\": {\"conditions\": [$admitted]}}"
ours "$(condition_of Succeeded True), $admitted"
both() { jq -e '[.status.conditions[] | .type + .status] == ["SucceededTrue", "example.com/AdmittedTrue"]' "$work/answer" >/dev/null; }
check "1.36: a condition that another manager applies stays beside ours" both
managed() { jq -e --arg type "$2" --arg who "$1" 'any(.metadata.managedFields[]; .manager == $who and .fieldsV1["f:status"]["f:conditions"]["k:{\"type\":\"\($type)\"}"])' "$work/answer" >/dev/null; }
check "1.36: and stays that manager's" managed gate example.com/Admitted
check "1.36: as ours is ours" managed windlass Succeeded
exit $((failures > 0))
