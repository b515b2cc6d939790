#!/usr/bin/env bash
# How GitOps tools see a BatchScore (docs/operate/gitops.md), over the statuses of tests/data/gitops: Argo CD by
# docs/operate/gitops/health.lua in Lua 5.1 with nothing but the language; kstatus by its rules (tests/kstatus.py)
# and by its own code, which is in helm: helm upgrade --wait on a real API server; Flux's
# healthCheckExprs of docs/operate/gitops/flux.yaml by the CEL of a real 1.36 server.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages lua5.1 python3-yaml) || exit 3
bin=$(tests/cluster/get-clients.sh) || exit 3
folder=$(mktemp -d)
trap 'tests/cluster/api-server.sh stop "$folder/old"; tests/cluster/crd-server.sh stop "$folder/new"; rm -rf "$folder"' EXIT
export HELM_CACHE_HOME=$folder/helm HELM_CONFIG_HOME=$folder/helm HELM_DATA_HOME=$folder/helm
cases=tests/data/gitops/cases.json
count=$(jq length $cases)
value() { jq -r ".[$1].$2" $cases; }
# The case as an object of generation 2.
object() { jq ".[$1] | {apiVersion: \"windlass.dev/v1alpha1\", kind: \"BatchScore\", metadata: {generation: 2}, status}" $cases; }

##### Argo CD ####################################################################################
lua_literal() { python3 -B tests/e2e/cluster/lua_literal.py; }
cat >"$folder/argo.lua" <<'LUA'
local check = assert(loadfile(arg[1]))
setfenv(check, {obj = assert(loadfile(arg[2]))(), ipairs = ipairs, pairs = pairs})
local health = check()
print(health.status .. "\n" .. health.message)
LUA
argo_says() { # for the object on stdin
    lua_literal >"$folder/object.lua"
    lua5.1 "$folder/argo.lua" docs/operate/gitops/health.lua "$folder/object.lua" 2>&1
}
argo() {
    object "$1" | argo_says >"$folder/answer"
    [ "$(cat "$folder/answer")" = "$(value "$1" argo)"$'\n'"$(value "$1" message)" ] || { sed 's/^/# /' "$folder/answer"; return 1; }
}
for ((i = 0; i < count; i++)); do
    check "Argo CD, $(value $i name): $(value $i argo)" argo $i
done
no_status() { # kubectl apply on a server that has just lost its defaults: still no error
    echo 'return {metadata = {generation = 1}}' >"$folder/object.lua"
    [ "$(lua5.1 "$folder/argo.lua" docs/operate/gitops/health.lua "$folder/object.lua" 2>&1 | head -1)" = Progressing ]
}
check "Argo CD, no status at all: Progressing" no_status

##### kstatus ####################################################################################
kstatus() {
    local said
    said=$(object "$1" | python3 tests/kstatus.py)
    [ "$said" = "$(value "$1" kstatus)" ] || { echo "# $said"; return 1; }
}
for ((i = 0; i < count; i++)); do
    check "kstatus by its rules, $(value $i name): $(value $i kstatus)" kstatus $i
done
# The statuses that the controller's plan writes (tests/data/plan): the two tools never see a job's end, or that
# it is stalled, unless its conditions say so.
planned() {
    local file wanted said bad=0
    for file in tests/data/plan/[0-9]*.json; do
        jq 'select(.want.status) | {metadata: {generation: (.object.metadata.generation // 1)}, status: .want.status}' \
            "$file" >"$folder/object.json"
        [ -s "$folder/object.json" ] || continue
        wanted=$(jq -r '([.status.conditions[]? | {key: .type, value: .status}] | from_entries) as $is |
            if $is.Succeeded == "False" or $is.Stalled == "True" then "Degraded Failed"
            elif $is.Succeeded == "True" then "Healthy Current" elif $is.Suspended == "True" then "Suspended Current"
            elif $is.Reconciling == "True" then "Progressing InProgress" elif .status.runs then "Healthy Current"
            else "Progressing Current" end' "$folder/object.json")
        said="$(argo_says <"$folder/object.json" | head -1) $(python3 tests/kstatus.py <"$folder/object.json")"
        [ "$said" = "$wanted" ] || { echo "# $file: $said, wanted $wanted"; bad=1; }
    done
    return $bad
}
check "what the controller writes is what they read" planned
tests/cluster/api-server.sh start "$folder/old" --owner $$ >/dev/null || exit 3
export KUBECONFIG=$folder/old/kubeconfig
# The CRD as the current chart renders it for this server.
"$bin/helm" upgrade --install windlass charts/windlass --set image.registry=registry.test >/dev/null || exit 3
"$folder/old/kubectl" wait --for=condition=Established --timeout=120s crd/batchscores.windlass.dev >/dev/null || exit 3
mkdir -p "$folder/job/templates"
cat >"$folder/job/Chart.yaml" <<'CHART'
{apiVersion: v2, name: job, version: 0.0.1}
CHART
cat >"$folder/job/templates/job.yaml" <<'JOB'
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: "{{ .Release.Name }}"}
spec:
  input: {video: {path: data/in.mp4}}
  scorer: {onnx: {path: data/model.onnx}}
  output: {path: data/out}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
JOB
# The unchanged command of docs/operate/gitops.md.
given_to_argo() {
    mkdir -p "$folder/path" && ln -sf "$folder/old/kubectl" "$folder/path/kubectl"
    { kubectl create namespace argocd && kubectl -n argocd create configmap argocd-cm; } >/dev/null || return
    (PATH=$folder/path:$PATH && . <(sed -n '/^    kubectl -n argocd patch/,/^$/p' docs/operate/gitops.md)) >/dev/null || return
    kubectl -n argocd get configmap argocd-cm -o json |
        jq -j '.data["resource.customizations.health.windlass.dev_BatchScore"]' | cmp -s - docs/operate/gitops/health.lua
}
kubectl() { "$folder/old/kubectl" "$@"; }
check "the command that gives Argo CD the check" given_to_argo
# The generation is 1 there, so every observedGeneration is one less.
waited() {
    local said name=case-$1
    "$bin/helm" upgrade --install "$name" "$folder/job" --wait=hookOnly >"$folder/answer" 2>&1 || return
    jq ".[$1] | {status: (.status | if .observedGeneration > 0 then .observedGeneration -= 1 else . end)}" $cases |
        "$folder/old/curl" "/apis/windlass.dev/v1alpha1/namespaces/default/batchscores/$name/status" -X PATCH \
            -H 'Content-Type: application/merge-patch+json' --data-binary @- | jq -e .status >/dev/null || return
    if "$bin/helm" upgrade "$name" "$folder/job" --wait=watcher --timeout 1s >"$folder/answer" 2>&1; then
        said=Current
    else
        said=$(grep -o 'status: [A-Za-z]*' "$folder/answer" | head -1 | cut -d' ' -f2)
    fi
    [ "$said" = "$(value "$1" kstatus)" ] || { echo "# $said"; sed 's/^/# /' "$folder/answer"; return 1; }
}
for ((i = 0; i < count; i++)); do
    check "kstatus in helm --wait, $(value $i name): $(value $i kstatus)" waited $i
done
tests/cluster/api-server.sh stop "$folder/old"

##### Flux #######################################################################################
# The expressions see the object's fields as variables; here they are rules about a field "object".
tests/cluster/crd-server.sh start "$folder/new" || exit 3
ask() { "$folder/new/curl" "$@" -H 'Content-Type: application/json'; }
python3 - docs/operate/gitops/flux.yaml >"$folder/crd.json" <<'PYTHON'
import json, re, sys, yaml
[flux] = [d for d in yaml.safe_load_all(open(sys.argv[1])) if d["kind"] == "Kustomization"]
[checks] = flux["spec"]["healthCheckExprs"]
rules = [{"message": name, "rule": "!(%s)" % re.sub(r"\b(status|metadata)\.", r"self.\1.", checks[name])}
         for name in ("inProgress", "failed", "current")]
number, text = {"type": "integer", "format": "int64"}, {"type": "string", "maxLength": 256}
def thing(**fields): return {"type": "object", "properties": fields}
condition = thing(**{name: text for name in ("type", "status", "reason", "message", "lastTransitionTime")})
condition["required"] = ["type", "status"]
schema = thing(object=dict(thing(metadata=thing(generation=number), status=thing(observedGeneration=number,
    runs={"type": "array", "items": {"type": "object"}, "maxItems": 10},
    conditions={"type": "array", "items": condition, "maxItems": 16})), **{"x-kubernetes-validations": rules}))
json.dump({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "fluxes.test.windlass.dev"}, "spec": {"group": "test.windlass.dev", "scope": "Cluster",
    "names": {"kind": "Flux", "plural": "fluxes"}, "versions": [{"name": "v1", "served": True, "storage": True,
    "schema": {"openAPIV3Schema": schema}}]}}, sys.stdout)
PYTHON
crds=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
compiled() {
    ask $crds -X POST --data-binary "@$folder/crd.json" >"$folder/answer"
    for _ in $(seq 100); do
        ask $crds/fluxes.test.windlass.dev | jq -e 'any(.status.conditions[]?; .type == "Established" and .status == "True")' \
            >/dev/null && return
        nap 0.1
    done
    jq -r .message "$folder/answer" | sed 's/^/# /'
    return 1
}
check "Flux's expressions compile" compiled
# Flux evaluates in this order; no match means InProgress.
flux() {
    local said
    object "$1" | jq '{apiVersion: "test.windlass.dev/v1", kind: "Flux", metadata: {name: "x"}, object: .}' |
        ask "/apis/test.windlass.dev/v1/fluxes?dryRun=All" -X POST --data-binary @- >"$folder/answer"
    said=$(jq -r '[.details.causes[]?.message] as $true | if .kind == "Flux" then "InProgress"
        elif any($true[]; endswith("inProgress")) then "InProgress" elif any($true[]; endswith("failed")) then "Failed"
        elif any($true[]; endswith("current")) then "Current" else .message end' "$folder/answer")
    [ "$said" = "$(value "$1" flux)" ] || { echo "# $said"; return 1; }
}
for ((i = 0; i < count; i++)); do
    check "Flux, $(value $i name): $(value $i flux)" flux $i
done
exit $((failures > 0))
