#!/usr/bin/env bash
# How GitOps tools and workflows see a BatchScore (docs/operate/gitops.md, pipelines.md), over the statuses of tests/data/gitops: Argo CD by
# docs/operate/gitops/health.lua in Lua 5.1 with nothing but the language; kstatus by its rules (tests/kstatus.py)
# and by its own code, which is in helm: helm upgrade --wait on a real API server; Flux's
# healthCheckExprs of docs/operate/gitops/flux.yaml by the CEL of a real 1.36 server, also at each step of recorded lives
# of jobs (those of test_lives.sh, where the other tools are).
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages lua5.1 python3-yaml) || exit 3
bin=$(tests/cluster/get-clients.sh) || exit 3
lives=("${BUILD:-build}"/tests/unit/operator/kinds/{batchscore,disttrain,sweep}/test_plan_life)
built "${lives[@]}" >/dev/null || exit 3
folder=$(mktemp -d)
trap 'tests/cluster/api-server.sh stop "$folder/old"; tests/cluster/crd-server.sh stop "$folder/new"; rm -rf "$folder"' EXIT
export HELM_CACHE_HOME=$folder/helm HELM_CONFIG_HOME=$folder/helm HELM_DATA_HOME=$folder/helm
tools() { PYTHONPATH=tests python3 -B tests/e2e/cluster/gitops.py "$@" || failures=$((failures + 1)); } # prints the checks

##### Argo CD, and kstatus by its rules ##########################################################
tools tools "$folder"
tests/cluster/api-server.sh start "$folder/old" --owner $$ >/dev/null || exit 3
export KUBECONFIG=$folder/old/kubeconfig
# The CRD as the current chart renders it for this server.
"$bin/helm" upgrade --install windlass charts/windlass --set image.registry=registry.test >/dev/null || exit 3
established "$folder/old/kubectl" crd/batchscores.windlass.dev || exit 3
mkdir -p "$folder/job/templates"
cat >"$folder/job/Chart.yaml" <<'CHART'
{apiVersion: v2, name: job, version: 0.0.1}
CHART
cat >"$folder/job/templates/jobs.yaml" <<'JOBS'
{{- range .Values.cases }}
---
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: "case-{{ . }}"}
spec:
  input: {video: {path: data/in.mp4}}
  scorer: {onnx: {path: data/model.onnx}}
  output: {path: data/out}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
{{- end }}
JOBS
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
# A release for each word, of all cases that have it: helm --wait names those that are not current.
helm() { "$bin/helm" upgrade --install "job-${word,,}" "$folder/job" --set "cases={${numbers// /,}}" "$@" >"$folder/answer" 2>&1; }
numbers_of() { jq -r --arg word "$1" '[to_entries[] | select(.value.kstatus == $word) | .key] | join(" ")' tests/data/gitops/cases.json; }
words=(Current InProgress Failed)
for word in "${words[@]}"; do
    numbers=$(numbers_of $word)
    helm --wait=hookOnly || { echo "not ok helm installs the cases"; sed 's/^/# /' "$folder/answer"; exit 1; }
done
tools statuses "$folder/old"
# What helm waits for in vain it tells when the time is over. On a loaded machine it may not have seen all by then.
has_seen_all() {
    local number
    for number in $numbers; do
        grep -q "\bcase-$number\b.*\bstatus: [A-Z]" "$folder/answer" || return
    done
    ! grep -q '\bstatus: \(Unknown\|NotFound\)' "$folder/answer"
}
for word in "${words[@]}"; do
    numbers=$(numbers_of $word)
    for seconds in $([ $word = Current ] && echo 60 || echo 3 10 30 60); do
        helm --wait=watcher --timeout "${seconds}s"
        code=$?
        has_seen_all && break
    done
    tools helm "$numbers" $code "$folder/answer"
done
##### Argo Workflows, Tekton ######################################################################
# The server takes the jobs of docs/operate/workflows, and Tekton's script ends as the job does.
tools workflows "$folder"
check "the server takes the job of argo.yaml" eval 'kubectl create -f "$folder/argo-job.yaml" >/dev/null'
# becomes STATUS JOB: its condition Succeeded.
becomes() {
    kubectl get batchscore "$2" -o json | jq --arg status "$1" '.status.conditions = [{type: "Succeeded", status: $status, reason: "Failed",
        message: "mini-batch 3 failed 3 times", lastTransitionTime: "2026-11-21T04:00:05Z"}]' |
        kubectl replace --raw "/apis/windlass.dev/v1beta1/namespaces/default/batchscores/$2/status" -f -
}
# script_ends COMMAND...: its exit code, and what it says, when that has been done with its job, whose name is added.
script_ends() {
    local pid job
    rm -f "$folder/result"
    MANIFEST=$(<"$folder/tekton-job.yaml") RESULT=$folder/result PATH=$folder/path:$PATH sh "$folder/script" 2>"$folder/script-said" &
    pid=$!
    if ! until_true 60 test -s "$folder/result" || ! { job=$(<"$folder/result") && "$@" "${job#*/}" >/dev/null; }; then
        kill $pid
        wait $pid
        return 1
    fi
    wait $pid
}
script_succeeds() { script_ends becomes True && [ ! -s "$folder/script-said" ]; }
script_fails() {
    local said=$1
    shift
    ! script_ends "$@" && grep -qxE "batchscore.windlass.dev/score-[a-z0-9]+ $said" "$folder/script-said"
}
check "Tekton's script succeeds with the job" script_succeeds
check "and fails with it, with the job's message" script_fails 'failed: mini-batch 3 failed 3 times' becomes False
check "and when it is deleted" script_fails 'was deleted' kubectl delete batchscore
tests/cluster/api-server.sh stop "$folder/old"

##### Flux #######################################################################################
for ((i = 0; i < 3; i++)); do
    SOAK_ROUNDS=$((i < 2 ? 2 : 4)) LIVES=$folder/lives-$i "${lives[i]}" >"$folder/out" || { cat "$folder/out"; exit 1; }
done
tests/cluster/crd-server.sh start "$folder/new" || exit 3
tools flux "$folder/new" "$folder"/lives-{0,1,2}
exit $((failures > 0))
