#!/usr/bin/env bash
# Windlass on a real Kubernetes with a real kubelet: images built by their Containerfiles, the chart by helm,
# the demo's manifest on 24 frames, and failures of real nodes: waiting for GPUs, out of memory, no image, no
# volume, a job deleted in the middle. One cluster per machine: it waits until another of our clusters has ended.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/cluster/own.sh
windlass=$(realpath "${BUILD:-build}/windlass")
say_why() { sed 's/^/# /' "$1"; return 1; }
status_of() { kubectl get bs "$1" -o "jsonpath={.status.conditions[?(@.type==\"Succeeded\")].$2}"; }
# says JOB REASON [WORDS OF THE MESSAGE]
says() { [ "$(status_of "$1" reason)" = "$2" ] && status_of "$1" message | grep -qF -- "${3:-}"; }
told() { until_true 60 says "$@" || { echo "# $(status_of "$1" reason): $(status_of "$1" message)"; return 1; }; }
ended() { case $(status_of "$1" status) in True | False) ;; *) return 1 ;; esac }
pods_of() { kubectl get pods -l "windlass.dev/job=$1" --no-headers 2>/dev/null; }
pod_uses() { kubectl get pods -l "windlass.dev/job=$1" -o "jsonpath={.items[*].$2}"; }
# The users that a program runs as in the cluster's containers.
users_of() {
    "${ctr[@]}" tasks ls | awk 'NR > 1 { print $2 }' | while read -r pid; do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$1" ] || awk '/^Uid:/ { print $3 }' "/proc/$pid/status"
    done | sort -u
}
# (The kubelet needs a minute for a pod that was deleted while it started.)
nothing_left() { [ -z "$(kubectl get pods,services,secrets -l "windlass.dev/job=$1" -o name 2>/dev/null)" ]; }

##### the chart ###################################################################################
# Another script of the run may have left an object.
helm uninstall windlass --namespace windlass --wait >/dev/null 2>&1
no_controllers() { [ -z "$(kubectl -n windlass get pods -o name 2>/dev/null)" ]; }
until_true 120 no_controllers
check "the chart installs, two controllers are ready" install_chart
controller_identity() {
    kubectl -n windlass get pods -o json | jq -e '.items | length == 2 and all(.[]; .status.phase == "Running" and
        .spec.securityContext.runAsUser == 65532 and .spec.containers[0].securityContext.readOnlyRootFilesystem)' >/dev/null &&
        [ "$(users_of windlass)" = 65532 ]
}
check "they run as user 65532 on a read-only root" controller_identity

##### the demo, shortened #########################################################################
example=examples/style-transfer
$example/fetch.sh >/dev/null || exit 3
mkdir -p "$work/data/media"
cp -r $example/data/model "$work/data/"
ffmpeg -v error -i $example/data/media/cockatoo.mp4 -t 1.2 -c copy -frames:v 24 "$work/data/media/cockatoo.mp4" || exit 3
frames=$(count_frames "$work/data/media/cockatoo.mp4")
place=$(tests/cluster/volume.sh style-transfer "$work/data") || exit 3
kubectl apply -f $example/batchscore.yaml >"$work/apply" 2>&1
check "kubectl apply takes the demo's manifest as it is" grep -qx "batchscore.windlass.dev/style-transfer created" "$work/apply"
worker_runs() { [ "$(kubectl get pods -l windlass.dev/job=style-transfer,windlass.dev/role=worker -o 'jsonpath={.items[0].status.phase}')" = Running ]; }
check "a worker runs" until_true 60 worker_runs
pods_are_restricted() {
    kubectl get pods -l windlass.dev/job=style-transfer -o json >"$work/pods.json"
    jq -e 'all(.items[]; .spec.securityContext.runAsNonRoot and .spec.securityContext.runAsUser == 65532 and
        all(.spec.containers[]; .securityContext.readOnlyRootFilesystem and .securityContext.allowPrivilegeEscalation == false))' \
        "$work/pods.json" >/dev/null && [ "$(users_of windlass-agent)" = 65532 ]
}
check "the pods run as user 65532 on a read-only root" pods_are_restricted
command kubectl get bs style-transfer --watch >"$work/watched" &
watching=$!
check "the demo ends" until_true 300 ended style-transfer
kill $watching
wait $watching 2>/dev/null
check "it succeeded" says style-transfer Completed
[ "$(status_of style-transfer status)" = True ] || { kubectl describe bs style-transfer; pods_of style-transfer; kubectl -n windlass logs -l app.kubernetes.io/name=windlass --tail=20; } | sed 's/^/# /'
painted=$place/painted/cockatoo.mp4
check "every frame is in the painting ($frames)" [ "$(count_frames "$painted")" = "$frames" ]
check "it is H.264, 1280x720, yuv420p" [ "$(probe v:0 codec_name,width,height,pix_fmt "$painted")" = "h264,1280,720,yuv420p" ]
check "the sound is the same packets" [ "$(packets a:0 "$work/data/media/cockatoo.mp4")" = "$(packets a:0 "$painted")" ]
check "the time stamps are the same" [ "$(times v:0 "$work/data/media/cockatoo.mp4")" = "$(times v:0 "$painted")" ]
check "the summary counts the frames" [ "$(jq -r .items.done "$place/painted/summary.json")" = "$frames" ]
psnr=$(ffmpeg -v info -i "$work/data/media/cockatoo.mp4" -i "$painted" -lavfi '[0:v][1:v]psnr' -f null - 2>&1 |
    grep -oE 'average:[0-9.]+' | cut -d: -f2)
check "it is painted, not copied and not noise (PSNR $psnr dB)" awk "BEGIN { exit !($psnr > 7 && $psnr < 25) }"
kubectl get bs >"$work/columns"
kubectl get bs -o wide >"$work/wide"
columns() { [ "$(head -1 "$1" | tr -s ' ' | sed 's/ $//')" = "$2" ] || say_why "$1"; }
check "the columns of kubectl get bs" columns "$work/columns" "NAME STATE WAITING CHANGED DONE FAILED ITEMS/S LEFT AGE"
check "the columns of -o wide" columns "$work/wide" "NAME STATE WAITING CHANGED DONE FAILED ITEMS/S LEFT AGE WORKERS RETRIED TOKENS COST RETIRED OUTPUT FINISHED NEXT MESSAGE"
check "Completed, $frames/$frames, 0 failed" grep -qE "^style-transfer +Completed +$frames/$frames +0 " "$work/columns"
progress_seen() { grep -qE '^style-transfer +Running +[0-9]+/24 ' "$work/watched" || say_why "$work/watched"; }
check "kubectl get bs --watch showed it running" progress_seen
no_worker_left() { [ -z "$(kubectl get pods -l windlass.dev/job=style-transfer,windlass.dev/role=worker -o name)" ]; }
check "the workers are gone" until_true 60 no_worker_left
check "the coordinator's log is there" grep -q . <(kubectl logs -l windlass.dev/job=style-transfer,windlass.dev/role=coordinator)

##### what waits most of the time: side by side ####################################################
# variant NAME JQ: the demo's manifest under another name, changed, with smaller pictures: a quarter of the work. (By default a
# coordinator asks for an eighth of this node.)
variant() {
    kubectl create --dry-run=client -f $example/batchscore.yaml -o json |
        jq ".metadata = {name: \"$1\"} | .spec.output.path = \"data/$1\" | .spec.scorer.onnx.preprocess.width = 640 | $2 |
            .spec.coordinator.resources = {requests: {cpu: \"50m\", memory: \"64Mi\"}, limits: {memory: \"4Gi\"}}" | kubectl apply -f - >/dev/null
}
ffmpeg -v error -y -i $example/data/media/cockatoo.mp4 -t 8 -c copy -frames:v 160 "$place/media/longer.mp4" || exit 3
# It must run through all the waits of who looks at it, and is deleted: twenty minutes' work.
ffmpeg -v error -y -stream_loop -1 -i "$place/media/longer.mp4" -c copy -frames:v 2000 "$place/media/longest.mp4" </dev/null || exit 3
chown 65532:65532 "$place/media/longer.mp4" "$place/media/longest.mp4"
of_job() { kubectl get bs "$1" -o "jsonpath={.status.$2}"; }
began() { [ "$(of_job "$1" items.done)" -gt 0 ]; }
# (With the limit it takes a minute on a machine with many processors, too: its figures are written every 10 s.)
slowly='.spec.input.video.path = "data/media/longer.mp4" | .spec.workers = {min: 2, max: 2, resources: {limits: {cpu: "100m"}}}'

##### a program of the user's, in an image that has nothing of ours
stock=$(tests/cluster/python-image.sh) && import "$stock" || exit 3
init_is_seen() { jq -se 'any(.[].status.initContainerStatuses[0].state.terminated; .exitCode == 0)' "$work/workers.json" >/dev/null 2>&1; }
# both_ways EXAMPLE JOB OUTPUT-FILE: runs the example's manifest on this machine, then on the cluster in a separate
# namespace, which stays the current one.
both_ways() {
    local watching
    cp -r "examples/$1" "$work/$1"
    rm -rf "$work/$1/data/${3%/*}"
    current=$1
    kubectl() { ask_kubectl -n "$current" "$@"; }
    kubectl create namespace "$1" >/dev/null
    code=$(tests/cluster/volume.sh code "$work/$1/code" "$1") && data=$(tests/cluster/volume.sh data "$work/$1/data" "$1") || exit 3
    "$windlass" run -f "$work/$1/batchscore.yaml" --state "$work/state-$1" >"$work/run" 2>&1 </dev/null
    check "examples/$1 runs on this machine" [ -s "$work/$1/data/$3" ]
    command kubectl -n "$1" get pods -l "windlass.dev/job=$2,windlass.dev/role=worker" --watch -o json >"$work/workers.json" &
    watching=$!
    kubectl apply -f - <"examples/$1/batchscore.yaml" >/dev/null
    check "and, the same manifest, on the cluster" told "$2" Completed
    until_true 60 init_is_seen
    kill $watching
    wait $watching 2>/dev/null
    jq -c . "$work/workers.json" >"$work/whole.json" 2>/dev/null # without an object that was being written
    mv "$work/whole.json" "$work/workers.json"
    check "with the same rows" diff "$work/$1/data/$3" "$data/$3"
}
in_stock_image() { # JOB OUTPUT
    jq -se 'all(.[].spec; .containers[0].image == "docker.io/library/python:3.11-slim-bookworm" and
        .containers[0].command == ["/windlass/windlass-shim"] and .containers[0].securityContext.readOnlyRootFilesystem) and
        any(.[].status.initContainerStatuses[0].state.terminated; .exitCode == 0)' "$work/workers.json" >/dev/null &&
        jq -e '.workers | length > 0 and all(.[]; .name | startswith("'"$1"'-worker-"))' "$data/$2/summary.json" >/dev/null
}
spied() { [ "$(jq -c '[.user, .environ, .maps, .root, .key]' "$data/spy/sizes.jsonl" | sort -u)" = "$1" ] || say_why "$data/spy/sizes.jsonl"; }
users_program() {
    both_ways table orders scores/scores.txt
    check "its workers ran in a stock image, with the shim" in_stock_image orders scores
    check "a row that has failed is named, as here" [ "$(jq -c '[.item, .cause]' "$work/table/data/scores/failed.jsonl")" = "$(jq -c '[.item, .cause]' "$data/scores/failed.jsonl")" ]
    kubectl delete bs orders --wait=false >/dev/null
    both_ways command sizes sizes/sizes.jsonl
    check "its workers ran in a stock image, with the shim" in_stock_image sizes sizes
    check "under Pod Security restricted" tests/pod_security.py <"$work/workers.json"
    # Another program in that image reports what it can see and do; a store's key is mounted below the shim's folder.
    cp tests/e2e/score/spy.py "$code/"
    kubectl create secret generic films-key --from-literal=azurestorageaccountkey=a2V5 >/dev/null
    kubectl create --dry-run=client -f examples/command/batchscore.yaml -o json | jq '.metadata = {name: "spy"} |
        .spec.output.path = "data/spy" | .spec.scorer.command.command[1] = "$(code)/spy.py" |
        .spec.stores = [{account: "films", secretName: "films-key"}]' | kubectl apply -f - >/dev/null
    check "a program that spies ends, too" told spy Completed
    check "it runs without rights: it cannot read the shim's environment or memory, nor write outside its folders; it has its key" \
        spied '[65532,"Permission denied","Permission denied","Read-only file system","read"]'
    kubectl delete bs sizes spy --wait=false >/dev/null
}

##### a job deleted in the middle
two_run() { [ "$(kubectl get pods -l windlass.dev/job=middle --field-selector=status.phase=Running -o name | wc -l)" -ge 2 ]; }
# Figures of this second: from the coordinator, through the API server's proxy of Services.
not_live="figures as of the last write of the status"
is_ahead() { # of the status, as it is read after it
    local shown
    shown=$("$windlass" status middle | sed -n 's/^middle: Running: \([0-9]*\) of 2000 .*/\1/p')
    [ "${shown:-0}" -gt "$(of_job middle items.done)" ]
}
as_ann() { KUBECONFIG=$work/ann "$windlass" status middle -n default >"$work/seen" 2>&1; }
sees_status() { as_ann && grep -qF "$not_live: no right to ask (get services/proxy" "$work/seen" && grep -q "^middle: Running: [1-9]" "$work/seen"; }
sees_live() { as_ann && ! grep -qF "$not_live" "$work/seen" && grep -q "^middle: Running: [1-9]" "$work/seen"; }
# Where an answer takes over 2 s there is a remark, and rightly: then once more.
watched_live() {
    local watching shown=1
    "$windlass" status -w middle >/dev/null 2>"$work/seen" &
    watching=$!
    until_true 60 grep -q "^middle: Running" "$work/seen" && sleep 4 && shown=0
    kill $watching
    wait $watching 2>/dev/null
    [ $shown -eq 0 ] && ! grep -q "figures" "$work/seen"
}
deleted_in_the_middle() {
    variant middle "${slowly/longer/longest}"
    check "a second job runs" until_true 60 two_run
    check "its status has figures" until_true 60 began middle
    check "windlass status shows more than the status, which is written every 10 s" until_true 60 is_ahead
    # Who may view a namespace has no right to a proxy, and sees the figures of the status; who may edit it has.
    (cd "$folder/pki" && certificate ann "/CN=ann")
    kubeconfig https://127.0.0.1:6443 "$folder/pki" ann >"$work/ann"
    kubectl create rolebinding ann-views --clusterrole=view --user=ann >/dev/null
    check "who may view sees the status' figures, and why" until_true 60 sees_status
    kubectl create rolebinding ann-edits --clusterrole=windlass-edit --user=ann >/dev/null
    check "with the chart's role windlass-edit, live ones" until_true 60 sees_live
    check "-w has no remark on figures that are live" until_true 60 watched_live
    kubectl delete bs middle --wait=false >/dev/null
    check "deleted in the middle, it leaves nothing" until_true 120 nothing_left middle
}

##### a coordinator that hangs
coordinator_process() {
    local file
    for file in $(grep -lsz '^WINDLASS_JOB=frozen$' /proc/[0-9]*/environ); do
        ! grep -qsz '^WINDLASS_BIND=' "$file" || basename "${file%/environ}"
    done
}
has_coordinator() { [ -n "$(coordinator_process)" ]; }
coordinators() { kubectl get pods -l windlass.dev/job=frozen,windlass.dev/role=coordinator -o "jsonpath={.items[*].$1}"; }
was_killed() { coordinators status.containerStatuses[0].state.terminated.exitCode | grep -qw 137; }
hanging_coordinator() {
    variant frozen '.spec.workers.max = 1'
    check "the coordinator of another job runs" until_true 60 has_coordinator
    kill -STOP $(coordinator_process)
    check "frozen before the first mini-batch, its liveness probe has it killed" until_true 150 was_killed
    check "another one ends the job" until_true 300 ended frozen
    check "with success" says frozen Completed
    check "and every frame" [ "$(count_frames "$place/frozen/cockatoo.mp4")" = "$frames" ]
    kubectl delete bs frozen --wait=false >/dev/null
}

##### what goes wrong on real nodes
waits() { [ "$(status_of gpu status)" = Unknown ]; }
given() { [ -n "$(kubectl get pods -l windlass.dev/job=gpu,windlass.dev/role=worker -o 'jsonpath={.items[*].spec.nodeName}')" ]; }
# The plugin's GPU is made up, and this image has no CUDA.
wants_cuda() { says gpu WorkersFailed "windlass-agent-cuda has it"; }
claim_told() { status_of claim message | grep -qF absent-claim; }
wrong_nodes() {
    local job
    variant gpu '.spec.workers.gpus = 1 | .spec.workers.max = 1'
    variant memory '.spec.workers.max = 1 | .spec.workers.resources = {limits: {memory: "24Mi"}}'
    variant image '.spec.image = "localhost/no-such-image:1"'
    variant volume '.spec.volumes[0] = {name: "data", nfs: {server: "10.88.0.1", path: "/nowhere"}}'
    variant claim '.spec.volumes[0].persistentVolumeClaim.claimName = "absent-claim"'
    check "no GPU node: it waits, and says so" told gpu WaitingForGPU "Waiting for GPU nodes"
    check "which does not count as a failure" waits
    launch gpus "$bin/fakedp" nvidia.com/gpu 1
    check "a GPU comes, its worker gets it" until_true 60 given
    check "the status names what its worker lacks" until_true 120 wants_cuda
    echo "# $(status_of gpu message)"
    kubectl delete bs gpu --wait=false >/dev/null
    check "the status says that memory ran out, and what to do" told memory OutOfMemory "raise spec.workers.resources.limits.memory (24Mi)"
    check "the status names an image that cannot be pulled" told image ImagePullFailed "localhost/no-such-image:1"
    check "the status names a volume that cannot be mounted" told volume VolumeFailed "data"
    check "the status names a claim that does not exist" until_true 60 claim_told
    for job in memory image volume claim; do kubectl delete bs $job --wait=false >/dev/null; done
    check "the job with the GPU is gone with its pods" until_true 120 nothing_left gpu
    finish gpus
    for job in memory image volume claim; do check "nothing is left of $job" until_true 120 nothing_left $job; done
}
side_by_side users_program deleted_in_the_middle hanging_coordinator wrong_nodes

##### the leader is killed, then the chart upgraded, while one job runs ###########################
long_frames=$(count_frames "$place/media/longer.mp4")
holder() { kubectl -n windlass get lease windlass-controller -o 'jsonpath={.spec.holderIdentity}'; }
# The id on this machine of the container's first process.
pid_in() { # NAMESPACE POD
    local id
    id=$(kubectl -n "$1" get pod "$2" -o 'jsonpath={.status.containerStatuses[0].containerID}')
    "${ctr[@]}" tasks ls | awk -v id="${id#containerd://}" '$1 == id { print $2 }'
}
another_leads() { local now; now=$(holder) && [ -n "$now" ] && [ "$now" != "$leader" ]; }
pods_kept() { [ "$(kubectl get pods -l windlass.dev/job=long -o 'jsonpath={.items[*].metadata.uid}')" = "$before" ]; }
variant long "$slowly"
check "a longer job has begun" until_true 60 began long
before=$(kubectl get pods -l windlass.dev/job=long -o 'jsonpath={.items[*].metadata.uid}')
leader=$(holder)
kill -9 "$(pid_in windlass "${leader%_*}")"
start=$SECONDS
check "kill -9 of the leader: the other one leads" until_true 60 another_leads
echo "# after $((SECONDS - start)) s"
check "meanwhile the job goes on" pods_kept
seen=$(of_job long items.done)
check "and the new leader tells how far it is" until_true 60 eval '[ "$(of_job long items.done)" -gt "$seen" ]'
leader=$(holder)
upgrade_chart() {
    helm upgrade windlass charts/windlass --namespace windlass --set image.registry=localhost --set logLevel=debug \
        --wait --timeout 2m >"$work/helm.out" 2>&1 || say_why "$work/helm.out"
}
check "the chart is upgraded" upgrade_chart
check "while the job runs" eval 'pods_kept && ! ended long'
check "a pod of the new revision leads" until_true 60 another_leads
check "the job ends" until_true 300 ended long
check "it succeeded" says long Completed
check "with every frame ($long_frames)" [ "$(count_frames "$place/long/longer.mp4")" = "$long_frames" ]
check "and no try was lost" [ "$(of_job long items.retried)" = 0 ]
kubectl delete bs long --wait=false >/dev/null

##### the end #####################################################################################
helm uninstall windlass --namespace windlass --wait >"$work/helm.out" 2>&1
check "the chart goes, the resources stay" [ "$(kubectl get bs -o name)" = batchscore.windlass.dev/style-transfer ]
kubectl delete bs --all --timeout=30s >/dev/null 2>&1
check "and can be deleted without a controller" until_true 120 nothing_left style-transfer
tests/cluster/down.sh
clean() { ! ip link show "$bridge" >/dev/null 2>&1 && ! mount | grep -qF "$folder" && [ ! -e "$folder" ]; }
check "after cluster-down the host is as it was" clean
exit $((failures > 0))
