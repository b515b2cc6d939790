#!/usr/bin/env bash
# The controller as the chart runs it: its arguments, its service account's token, its roles, on a real
# kube-apiserver 1.20 that keeps an audit log, once for one namespace and once for all. Two replicas, a
# job from apply to its end (the test is the kubelet), a leader that stops. The audit log then shows that
# none of its requests was forbidden, and that it used every permission that the chart grants.
# `make test` draws one of the two scopes.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
bin=$(tests/cluster/get-clients.sh) || exit 3
windlass=$PWD/${BUILD:-build}/windlass
folder=$(mktemp -d)
controllers=()
trap 'kill -9 "${controllers[@]}" 2>/dev/null; tests/cluster/api-server.sh stop "$folder/api"; rm -rf "$folder"' EXIT
export HELM_CACHE_HOME=$folder/helm HELM_CONFIG_HOME=$folder/helm HELM_DATA_HOME=$folder/helm
cat >"$folder/audit.yaml" <<'POLICY'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata, userGroups: ["system:serviceaccounts"]}, {level: None}]
POLICY
tests/cluster/api-server.sh start "$folder/api" --owner $$ -- \
    --enable-admission-plugins=OwnerReferencesPermissionEnforcement \
    --audit-policy-file="$folder/audit.yaml" --audit-log-path="$folder/audit.log" >/dev/null || exit 3
warm_kubectl "$folder/api" "$folder/api/kubectl"
k() { ask_kubectl "$@"; }
helm() { KUBECONFIG=$folder/api/kubeconfig "$bin/helm" "$@"; }
# eventually COMMAND...: repeats it for up to 20 s until it succeeds.
eventually() {
    for _ in $(seq 200); do
        "$@" >/dev/null 2>&1 && return
        nap 0.1
    done
    "$@" >/dev/null
}
k create namespace windlass >/dev/null && k create namespace jobs >/dev/null || exit 3
k apply -f tests/kube/schedulers.yaml >/dev/null && established k crd --all || exit 3

# RELEASE NAMESPACE: FOLDER/RELEASE.conf, with the token of the release's account, as in a pod.
kubeconfig_of() {
    local account=$1-windlass token
    [ "$1" != windlass ] || account=windlass
    token=$("$folder/api/curl" "/api/v1/namespaces/$2/serviceaccounts/$account/token" -X POST \
        -H 'Content-Type: application/json' -d '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": ["https://kubernetes.default.svc"]}}' | jq -re .status.token) || return
    cat >"$folder/$1.conf" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$(cat "$folder/api/port")", certificate-authority: $folder/api/pki/ca.crt}}]
users: [{name: test, user: {token: "$token"}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
CONFIG
}
# RELEASE NAMESPACE NUMBER: one replica, with the arguments of the chart's Deployment; "": it does not run in a pod.
replica() {
    local arguments port=$((21000 + RANDOM % 8000))
    mapfile -t arguments < <(k get deployment -n "$2" -l "app.kubernetes.io/instance=$1" -o json |
        jq -r '.items[0].spec.template.spec.containers[0].args[]')
    "$windlass" "${arguments[@]}" --kubeconfig="$folder/$1.conf" --lease-namespace="$2" \
        --listen="127.0.0.1:$port" >"$folder/$1-$3.log" 2>&1 &
    controllers+=($!)
    echo "$port" >"$folder/$1-$3.port"
}
quietly() { "$@" >/dev/null 2>&1; }
page() { curl -fsS --max-time 5 "http://127.0.0.1:$(cat "$folder/$1.port")$2"; }
holder() { k get lease -n "$1" windlass-controller -o jsonpath='{.spec.holderIdentity}'; }
job() { cat <<JOB
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1, namespace: jobs}
spec:
  input: {video: {path: data/in.mp4}}
  scorer: {onnx: {path: data/model.onnx}}
  output: {path: data/out}
  workers: {min: 2, max: 2}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
JOB
}
pods_of() { k get pods -n jobs -l "windlass.dev/job=$1,windlass.dev/role=$2" -o name; }
pod_count() { [ "$(pods_of "$1" "$2" | wc -l)" -eq "$3" ]; }
pod_status() { # POD STATUS
    "$folder/api/curl" "/api/v1/namespaces/jobs/pods/$1/status" -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d "{\"status\": $2}" | jq -e .status.phase >/dev/null
}
running='{"phase": "Running", "podIP": "127.0.0.1", "containerStatuses": [{"name": "agent", "ready": true, "restartCount": 0,
    "image": "i", "imageID": "i", "state": {"running": {"startedAt": "2026-11-21T04:00:05Z"}}}]}'
words='{"state": "Succeeded", "message": "", "miniBatches": {"total": 3, "done": 3, "failed": 0, "retried": 0},
    "items": {"total": 24, "done": 24, "failed": 0, "retried": 0}, "workers": 0, "itemsPerSecond": "12.5",
    "outputs": ["data/out/in.mp4"], "summary": "data/out/summary.json"}'
ended() { # CODE [LAST WORDS]
    jq -cn --argjson code "$1" --arg message "${2:-}" '{phase: (if $code == 0 then "Succeeded" else "Failed" end),
        containerStatuses: [{name: "agent", ready: false, restartCount: 0, image: "i", imageID: "i", state: {terminated:
        {exitCode: $code, reason: (if $code == 0 then "Completed" else "Error" end), message: $message,
         startedAt: "2026-11-21T04:00:05Z", finishedAt: "2026-11-21T04:00:09Z"}}}]}'
}
state() { k get bs -n jobs "$1" -o json | jq -e --arg reason "$2" 'any(.status.conditions[]; .type == "Succeeded" and .reason == $reason)'; }

# NAME: from apply to the end, one worker dying on the way.
job_through() {
    local pod
    job "$1" | k apply -f - >/dev/null || return
    eventually pod_count "$1" coordinator 1 && eventually pod_count "$1" worker 2 || return
    for pod in $(pods_of "$1" coordinator) $(pods_of "$1" worker); do pod_status "${pod#pod/}" "$running" || return; done
    pod=$(pods_of "$1" worker | head -1)
    pod_status "${pod#pod/}" "$(ended 3)" && eventually pod_count "$1" worker 3 || return
    pod=$(pods_of "$1" coordinator)
    pod_status "${pod#pod/}" "$(ended 0 "$words")" && eventually state "$1" Completed || return
    eventually pod_count "$1" worker 0 && ! k get service -n jobs "$1-coordinator" >/dev/null 2>&1
}

# NAME: a trigger fires, its run begins, and is suspended with the series.
series_through() {
    local patch='{"spec": {"suspend": true}}'
    job "$1" | sed 's|^  workers|  trigger: {path: data/READY}\n&|' | k apply -f - >/dev/null || return
    eventually pod_count "$1" watch 1 || return
    pod_status "$1-watch-1" "$running" && pod_status "$1-watch-1" "$(ended 0 '{"mark": "0011223344556677"}')" || return
    eventually pod_count "$1-1" coordinator 1 || return
    k patch bs -n jobs "$1" --type merge -p "$patch" >/dev/null && eventually pod_count "$1-1" coordinator 0
}

# NAME: a worker is taken out of its job, and its spec is changed.
changes_through() {
    job "$1" | k apply -f - >/dev/null && eventually pod_count "$1" worker 2 || return
    k label pod -n jobs "$1-worker-0" windlass.dev/job- >/dev/null
    released() { [ -z "$(k get pod -n jobs "$1-worker-0" -o jsonpath='{.metadata.ownerReferences}')" ]; }
    eventually released "$1" && eventually pod_count "$1" worker 2 || return
    k patch bs -n jobs "$1" --type merge -p '{"spec": {"miniBatchSize": 7}}' >/dev/null
    is_told() { k get bs -n jobs "$1" -o json | jq -e 'any(.status.conditions[]; .type == "SpecChanged" and .status == "True")' >/dev/null; }
    eventually is_told "$1" || return
    # Twice changed while it is suspended: the second time the first revision's name is needed again.
    k patch bs -n jobs "$1" --type merge -p '{"spec": {"miniBatchSize": null, "suspend": true}}' >/dev/null
    eventually pod_count "$1" worker 0 || return
    for class in low high; do
        before=$(k get bs -n jobs "$1" -o jsonpath='{.status.specHash}')
        k patch bs -n jobs "$1" --type merge -p "{\"spec\": {\"priorityClassName\": \"$class\"}}" >/dev/null
        is_taken() { [ "$(k get bs -n jobs "$1" -o jsonpath='{.status.specHash}')" != "$before" ]; }
        eventually is_taken "$1" || return
    done
    k delete bs -n jobs "$1" >/dev/null
    k delete pods -n jobs "$1-worker-0" --force --grace-period=0 >/dev/null 2>&1
}

# NAME: a training on GPUs has its pods, which ask for them.
gpu_gang() {
    k apply -f - >/dev/null <<JOB || return
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: $1, namespace: jobs}
spec:
  workers: 2
  gpus: 1
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  trainer: {model: {new: CNN, classes: 6, shape: [2, 12, 12]}, data: {train: {synthetic: {count: 100}}}, epochs: 1, batchSize: 10, output: {path: data/out}}
JOB
    eventually pod_count "$1" member 2 || { k get dt -n jobs "$1" -o json | jq -c .status | sed "s/^/# /"; return 1; }
    k get pods -n jobs -l "windlass.dev/job=$1" -o json |
        jq -e 'all(.items[]; any(.spec.containers[]; .resources.limits["nvidia.com/gpu"] == "1"))' >/dev/null || return
    k delete dt -n jobs "$1" >/dev/null
    k delete pods -n jobs -l "windlass.dev/job=$1" --force --grace-period=0 >/dev/null 2>&1
}

# NAME: a Sweep makes a trial, suspends it when it is suspended itself, and deletes it when it is deleted, though a
# finalizer of somebody else keeps the Sweep.
sweep_through() {
    local patch='{"spec": {"suspend": true}}'
    sed "s/name: sweep/name: $1/; s/maxTrials: 40/maxTrials: 1/" tests/data/sweeps/trainer.yaml | k apply -n jobs -f - >/dev/null || return
    trial() { k get dt -n jobs "$1-0000" -o json | jq -e "$2" >/dev/null; }
    eventually trial "$1" '.spec.environment.PARAM_EPOCHS != null' || return
    k patch sw -n jobs "$1" --type merge -p "$patch" >/dev/null
    eventually trial "$1" '.spec.suspend' || { k get sw -n jobs "$1" -o json | jq -c .status | sed "s/^/# /"; return 1; }
    k patch sw -n jobs "$1" --type merge -p '{"metadata": {"finalizers": ["example.com/held"]}}' >/dev/null
    k delete sw -n jobs "$1" --wait=false >/dev/null
    no_trial() { ! k get dt -n jobs "$1-0000"; }
    eventually no_trial "$1" && quietly k get sw -n jobs "$1" || return 1
    quietly k patch sw -n jobs "$1" --type merge -p '{"metadata": {"finalizers": null}}'
}

# RELEASE: the requests for spec.gang of DistTrains, with the release's account.
gang_of() { # NAME LINE...
    local name=$1
    shift
    { cat <<JOB; printf '  %s\n' "$@"; } | k apply -f - >/dev/null
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: $name, namespace: jobs}
spec:
  workers: 2
  image: registry.test/mpi:1
  command: [mpirun, train]
JOB
}
gangs_through() {
    local name pod group ok=0
    gang_of "$1-plugin" "gang: PodGroup" && gang_of "$1-volcano" "gang: Volcano" && gang_of "$1-kueue" "gang: Kueue" "queue: q"
    for name in plugin volcano kueue; do eventually pod_count "$1-$name" member 2 || ok=1; done
    k get podgroups.scheduling.x-k8s.io,podgroups.scheduling.volcano.sh -n jobs -o name | sort >"$folder/groups"
    [ "$(wc -l <"$folder/groups")" -eq 2 ] || ok=1
    group=$(k get pod -n jobs "$1-kueue-0" -o jsonpath='{.metadata.labels.kueue\.x-k8s\.io/pod-group-name}')
    k create -f - >/dev/null <<WORKLOAD || ok=1
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: $group, namespace: jobs}
WORKLOAD
    for pod in 0 1; do
        k patch pod -n jobs "$1-kueue-$pod" --type merge -p '{"metadata": {"finalizers": ["kueue.x-k8s.io/managed"]}}' >/dev/null
    done
    k patch dt -n jobs "$1-kueue" --type merge -p '{"spec": {"suspend": true}}' >/dev/null
    is_gone() { ! k get workloads.kueue.x-k8s.io -n jobs "$group"; }
    eventually is_gone || ok=1
    for pod in 0 1; do k patch pod -n jobs "$1-kueue-$pod" --type merge -p '{"metadata": {"finalizers": null}}' >/dev/null; done
    k delete dt,podgroups.scheduling.x-k8s.io,podgroups.scheduling.volcano.sh -n jobs --all >/dev/null
    k delete pods,services -n jobs -l windlass.dev/role=member --force --grace-period=0 >/dev/null 2>&1
    [ $ok -eq 0 ] || { tail -5 "$folder/$1-1.log" | sed 's/^/# /'; return 1; }
}

# The requests of an account in the audit log: every request as "GROUP RESOURCE[/PART] VERB".
asked() {
    jq -r --arg user "system:serviceaccount:$1" 'select(.user.username == $user and .objectRef.resource) |
        "\(.objectRef.apiGroup // "core") \(.objectRef.resource)\(if .objectRef.subresource then "/" + .objectRef.subresource else "" end) \(.verb)"' \
        "$folder/audit.log" | LC_ALL=C sort -u
}
granted() { # NAMESPACE RELEASE
    { k get clusterroles -l "app.kubernetes.io/instance=$2" -o json; k get roles -n "$1" -l "app.kubernetes.io/instance=$2" -o json; } |
        jq -r '.items[] | select(.metadata.name | test("-(view|edit)$") | not) | .rules[] | . as $rule | .apiGroups[] | . as $group |
            $rule.resources[] | . as $resource | $rule.verbs[] | "\(if $group == "" then "core" else $group end) \($resource) \(.)"' |
        LC_ALL=C sort -u
}
nothing_forbidden() {
    jq -c --arg user "system:serviceaccount:$1" 'select(.user.username == $user and .responseStatus.code == 403) |
        {verb, requestURI, why: .responseStatus.message}' "$folder/audit.log" | sort | uniq -c | sed 's/^/# /' | tee "$folder/forbidden"
    [ ! -s "$folder/forbidden" ] && [ -n "$(asked "$1")" ]
}
# Permissions that a run without failures does not use.
seldom='core events list
events.k8s.io events patch
scheduling.volcano.sh podgroups list
scheduling.volcano.sh podgroups patch
scheduling.x-k8s.io podgroups list
scheduling.x-k8s.io podgroups patch
core services patch
windlass.dev batchscores delete
windlass.dev batchscores/finalizers update
windlass.dev disttrains/finalizers update
windlass.dev sweeps/finalizers update'
nothing_idle() { # ACCOUNT NAMESPACE RELEASE
    LC_ALL=C comm -13 <(asked "$1") <(granted "$2" "$3") | grep -vxF "$seldom" | sed 's/^/# granted and never asked for: /' | tee "$folder/idle"
    [ ! -s "$folder/idle" ]
}
documented_metrics() {
    page "$1" /metrics | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' | LC_ALL=C sort >"$folder/told"
    grep -oE '\b(windlass|process)_[a-z_]+' docs/operate/metrics.md | LC_ALL=C sort -u |
        LC_ALL=C comm -23 "$folder/told" - | sed 's/^/# not in docs\/metrics.md: /' | tee "$folder/untold"
    [ -s "$folder/told" ] && [ ! -s "$folder/untold" ]
}

# RELEASE NAMESPACE ACCOUNT SCOPE
as_chart_runs_it() {
    local account=$2:$3
    check "scope $4: install" quietly helm upgrade --install "$1" charts/windlass -n "$2" \
        --set image.registry=registry.test --set "scope=$4" --take-ownership
    eventually quietly k get bs -A
    kubeconfig_of "$1" "$2" || exit 3
    replica "$1" "$2" 1
    check "scope $4: the first replica leads" eventually page "$1-1" /readyz
    held() { [ -n "$(holder "$1")" ]; }
    eventually held "$2"
    replica "$1" "$2" 2
    check "scope $4: the second is ready and stands by" eventually page "$1-2" /readyz
    check "scope $4: it lives" quietly page "$1-1" /healthz
    check "scope $4: a job from apply to its end" job_through "$1-first"
    # shellcheck disable=SC2317 # `eventually` calls it
    events() { k get events.events.k8s.io -n jobs -o json | jq -e --arg name "$1" 'any(.items[]; .regarding.name == $name)' >/dev/null; }
    check "scope $4: gangs of three schedulers" gangs_through "$1"
    check "scope $4: a trigger and its run" series_through "$1-bell"
    check "scope $4: a worker that is taken out, and a changed spec" changes_through "$1-edit"
    check "scope $4: a training on GPUs has its pods" gpu_gang "$1-gang"
    check "scope $4: a Sweep and its trial" sweep_through "$1-sweep"
    check "scope $4: with events" eventually events "$1-first"
    check "scope $4: every metric is in docs/operate/metrics.md" documented_metrics "$1-1"
    local first
    first=$(holder "$2")
    kill "${controllers[-2]}"
    other_leads() { local now; now=$(holder "$1") && [ -n "$now" ] && [ "$now" != "$2" ]; }
    check "scope $4: the leader stops, the other leads" eventually other_leads "$2" "$first"
    check "scope $4: and sees another job through" job_through "$1-second"
    kill "${controllers[-1]}"
    wait "${controllers[@]}" 2>/dev/null
    check "scope $4: nothing it asked for was forbidden" nothing_forbidden "$account"
    check "scope $4: everything granted was asked for" nothing_idle "$account" "$2" "$1"
    [ $failures -eq 0 ] || tail -n 5 "$folder/$1"-*.log | sed 's/^/# /'
    quietly helm uninstall "$1" -n "$2"
    quietly k delete bs -n jobs --all
}
draw "scopes" 1 Namespace Cluster
! is_drawn Namespace || as_chart_runs_it team jobs team-windlass Namespace
! is_drawn Cluster || as_chart_runs_it windlass windlass windlass Cluster
exit $((failures > 0))
