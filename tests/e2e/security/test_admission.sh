#!/usr/bin/env bash
# The chart's ValidatingAdmissionPolicy of jobPolicy, as helm renders it, in the admission plug-in of a real API server
# (Kubernetes 1.36): it refuses each of tests/data/job-policy/cases.json that the controller refuses, and no other.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-yaml) || exit 3
bin=$(tests/cluster/get-clients.sh) || exit 3
work=$(mktemp -d)
trap 'tests/cluster/crd-server.sh stop "$work/server"; rm -rf "$work"' EXIT
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
cases=tests/data/job-policy/cases.json
objects() { python3 -c 'import json, sys, yaml
json.dump([o for o in yaml.load_all(sys.stdin, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if o], sys.stdout)'; }
render() { "$bin/helm" template windlass charts/windlass --set image.registry=r.test/x --set-json "jobPolicy=$(jq -c .policy $cases)" "$@" | objects; }
policies() { jq -c '[.[] | select(.kind | startswith("ValidatingAdmissionPolicy"))]'; }
render --kube-version 1.36 | policies >"$work/policies.json"
check "a policy and its binding" [ "$(jq length "$work/policies.json")" = 2 ]
check "none for 1.29" [ "$(render --kube-version 1.29 | policies)" = '[]' ]
check "none with scope Namespace, which makes nothing cluster-wide" [ "$(render --kube-version 1.36 --set scope=Namespace | policies)" = '[]' ]
check "none with jobPolicyAdmission=false" [ "$(render --kube-version 1.36 --set jobPolicyAdmission=false | policies)" = '[]' ]
check "none with an empty jobPolicy" [ "$("$bin/helm" template windlass charts/windlass --kube-version 1.36 --set image.registry=r.test/x | objects | policies)" = '[]' ]

# First without the policy: a job from before it.
tests/cluster/crd-server.sh start "$work/server" || exit 3
send() { "$work/server/curl" "$@" -H 'Content-Type: application/json'; }
for file in crds/*.yaml; do
    objects <"$file" | jq -c '.[]' >"$work/crd.json"
    send /apis/apiextensions.k8s.io/v1/customresourcedefinitions -X POST -d @"$work/crd.json" >/dev/null
done
path=/apis/windlass.dev/v1beta1/namespaces/default
served() { local kind; for kind in batchscores disttrains sweeps; do send $path/$kind | jq -e '.items' >/dev/null || return 1; done; }
check "the kinds are served" until_true 60 served
jq -c '{apiVersion: "windlass.dev/v1beta1", kind: "DistTrain", metadata: {name: "early", finalizers: ["example.com/x"]},
    spec: (.base.DistTrain + {image: "evil.example/x:1"})}' $cases >"$work/early.json"
check "a job is made before the policy" grep -q '"uid"' <<<"$(send $path/disttrains -X POST -d @"$work/early.json")"
tests/cluster/crd-server.sh stop "$work/server"
tests/cluster/crd-server.sh start "$work/server" "$work/policies.json" || exit 3
check "the kinds are served again" until_true 60 served
plural() { tr '[:upper:]' '[:lower:]' <<<"${1}s"; }
answer_to() { # METHOD PATH FILE
    send "$path/$2" -X "$1" -d @"$3" >"$work/answer"
    jq -r 'if .kind == "Status" then .message else "taken" end' "$work/answer"
}
jq -c '.base as $base | .cases | to_entries[] | {field: .value.field, part: .value.part, object: {apiVersion: "windlass.dev/v1beta1", kind: .value.kind,
    metadata: {name: "c\(.key)"}, spec: ($base[.value.base // .value.kind] * .value.spec)}}' $cases >"$work/rows"
# The plug-in reads policies a moment after the server is ready.
jq -c 'select(.field) | .object' "$work/rows" | head -1 >"$work/one.json"
holds() { local said; said=$(answer_to POST "batchscores?dryRun=All" "$work/one.json"); [ "${said#*refused by this cluster}" != "$said" ]; }
check "the policy holds" until_true 60 holds
bad=0 seen=0
while IFS= read -r row; do
    jq -c .object <<<"$row" >"$work/one.json"
    kind=$(jq -r .object.kind <<<"$row") part=$(jq -r '.part // ""' <<<"$row") name=$(jq -r .object.metadata.name <<<"$row")
    said=$(answer_to POST "$(plural "$kind")" "$work/one.json")
    seen=$((seen + 1))
    case $part:$said in
    :taken | ?*:*"is refused by this cluster's administrator ($part)"*) ;;
    *) echo "# $name ($part, $(jq -r .field <<<"$row")): $said"; bad=$((bad + 1)) ;;
    esac
done <"$work/rows"
check "each of $seen cases is refused by its part, or taken" [ "$bad" = 0 ]
check "all of them" [ "$seen" -gt 50 ]
patched() { "$work/server/curl" $path/disttrains/"${2:-c1}" -X PATCH -H 'Content-Type: application/merge-patch+json' -d "$1"; }
check "a job that is taken cannot be changed into one that is refused" grep -qF "administrator (images)" <<<"$(patched '{"spec": {"image": "evil.example/x:1"}}')"
check "and into another that is allowed" grep -qF '"good.example/x:2"' <<<"$(patched '{"spec": {"image": "good.example/x:2"}}' | jq -c .spec.image)"
check "one from before cannot be edited" grep -qF "administrator (images)" <<<"$(patched '{"spec": {"workers": 3}}' early)"
check "but its labels can" grep -qF '"blue"' <<<"$(patched '{"metadata": {"labels": {"team": "blue"}}}' early | jq -c .metadata.labels.team)"
send $path/disttrains/early -X DELETE >/dev/null
patched '{"metadata": {"finalizers": null}}' early >/dev/null
check "and it can be deleted, with its finalizer" grep -q NotFound <<<"$(send $path/disttrains/early)"
exit $((failures > 0))
