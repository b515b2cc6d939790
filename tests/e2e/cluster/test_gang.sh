#!/usr/bin/env bash
# DistTrains on a real Kubernetes with a real kubelet. With `command`, in an image without our files and without an ssh
# server (Debian's Python, mpi4py, Open MPI): mpirun over three pods, secrets that its ranks have and mpirun does not;
# processes that find each other by torchrun's variables; a command in each pod, as user 65532 on a read-only root; a
# rank that fails, one that hangs, a pod that is deleted, one that does not fit (minWorkers), a job that is deleted;
# GPUs are free after every end. With `trainer`: examples/fashion-mnist, of whose four pods one is deleted while it
# trains, a BatchScore with what was learned, and onnxruntime-node's results for it. One cluster per machine: it waits
# until another of our clusters has ended.
#   SOAK_ROUNDS: the unchanged example, ten epochs and 92 %, instead of an epoch of 20,000 pictures and 80 %; PyTorch's DDP
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
namespace=gang
. tests/cluster/own.sh
image=$(tests/cluster/mpi-image.sh) && import "$image" || exit 3
install_chart || { echo "not ok the chart installs"; exit 1; }
status_of() { kubectl get "${kind:-dt}" "$1" -o "jsonpath={.status.conditions[?(@.type==\"Succeeded\")].$2}"; }
says() { [ "$(status_of "$1" reason)" = "$2" ] && status_of "$1" message | grep -qE -- "${3:-}"; }
ended() { case $(status_of "$1" status) in True | False) ;; *) return 1 ;; esac }
# told NAME REASON [WORDS]: how it ended
told() { until_true "${patience:-180}" ended "$1" && says "$@" || { echo "# $(status_of "$1" reason): $(status_of "$1" message)"; return 1; }; }
pods_of() { kubectl get pods -l "windlass.dev/job=$1" -o name; }
show() { # NAME: prints the state of a job, for the log
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    kubectl get dt,pods -o wide 2>&1 | sed 's/^/# /'
    kubectl get events --sort-by=.lastTimestamp 2>&1 | grep -F "$1" | tail -n 8 | cut -c1-220 | sed 's/^/# /'
    local pod
    for pod in $(pods_of "$1"); do kubectl logs "$pod" --tail=8 2>&1 | sed "s|^|# $pod: |"; done
}
# job NAME WORKERS [IMAGE]: other fields of spec come on stdin
job() {
    {
        printf 'apiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: %s}\nspec:\n  workers: %s\n  image: %s\n' "$1" "$2" "${3:-registry.test/mpi:1}"
        sed 's/^/  /'
    } >"$work/$1.yaml"
    kubectl apply -f - <"$work/$1.yaml" >/dev/null
}
# (Only for running pods: they are removed at the end; the output remains in spec.logs.)
log() { kubectl logs "$1" 2>/dev/null; }
out=$(tests/cluster/volume.sh out) || exit 3

##### what waits most of the time: side by side ####################################################
# A command in each pod
command_in_each() {
    job each 3 <<'Y'
launcher: None
volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
logs: {path: out/logs}
command: [sh, -c, 'echo "rank $WINDLASS_RANK of $WINDLASS_WORLD as $(id -u) $(id -un)"; touch /x 2>/dev/null || echo read-only; touch /tmp/x && ls -l /tmp/x /dev/shm >/dev/null && echo room']
Y
    each() {
        local i
        told each Completed || return
        for i in 0 1 2; do
            cat "$out/logs/rank.00$i/stdout"/* >"$work/each.log"
            grep -qx "rank $i of 3 as 65532 windlass" "$work/each.log" && grep -qx read-only "$work/each.log" && grep -qx room "$work/each.log" || return 1
        done
    }
    check "a command in each of three pods, restricted, known by name, its output kept" each; show each
}
# Open MPI
open_mpi() {
    kubectl create secret generic hush --from-literal=key=quiet-please >/dev/null
    job mpi 3 <<'Y'
slotsPerWorker: 2
volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
logs: {path: out/mpi}
secrets: [{name: HUSH, secretName: hush, key: key}]
command:
  - sh
  - -c
  - |
    env | grep -c HUSH
    command -v sshd rsh-server
    exec mpirun -np 6 python3 -c '
    import os
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    print("rank %d of %d in %s: %d %s" % (world.rank, world.size, os.environ["WINDLASS_WORKER"],
                                          world.allreduce(world.rank), len(os.environ["HUSH"])), flush=True)
    '
Y
    mpi() {
        local i
        told mpi Completed || return
        cat "$out"/mpi/command/stdout/* | grep -v '^-- ' >"$work/mpi.log"
        for i in 0 1 2 3 4 5; do grep -qx "rank $i of 6 in mpi-$((i / 2)): 15 12" "$work/mpi.log" || return 1; done
        [ "$(head -n 20 "$work/mpi.log" | grep -cx 0)" = 1 ] && ! grep -rqF quiet-please "$out/mpi" <(kubectl get dt,pods,events -o json)
    }
    check "mpirun over three pods without ssh: mpi4py, ranks with their secret, mpirun without" mpi; show mpi
}
# torchrun's variables
torchrun() {
    job torch 2 <<'Y'
launcher: Torchrun
volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
logs: {path: out/torch}
slotsPerWorker: 2
command:
  - python3
  - -c
  - |
    import os, socket, time
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    place = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if rank == 0:
        server = socket.create_server(("", place[1]))
        ranks = {0}
        for _ in range(size - 1):
            ranks.add(int(server.accept()[0].makefile().readline()))
        print("all of", sorted(ranks), flush=True)
    else:
        for _ in range(100):
            try:
                socket.create_connection(place, 5).sendall(b"%d\n" % rank)
                break
            except OSError:
                time.sleep(0.1)
Y
    torch() { told torch Completed && cat "$out"/torch/rank.000/stdout/* | grep -qxF 'all of [0, 1, 2, 3]'; }
    check "four processes find each other by torchrun's variables" torch; show torch

    # PyTorch itself, only in a soak: with its dependencies the image has more than 1 GB.
    ddp() {
        local image rank
        image=$(tests/cluster/debian-image.sh registry.test/torch:1 torch.tar python3,python3-torch) && import "$image" || return
        job ddp 2 registry.test/torch:1 <<Y
launcher: Torchrun
volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
logs: {path: out/ddp}
command:
  - python3
  - -c
  - |
$(sed 's/^/    /' tests/e2e/train/ddp.py)
Y
        patience=400 told ddp Completed || return
        for rank in 0 1; do cat "$out/ddp/rank.00$rank"/stdout/* | grep -qx "rank $rank of 2 agrees" || return; done
    }
    [ -z "${SOAK_ROUNDS:-}" ] || { check "PyTorch's DDP over gloo, in an image that holds none of our files" ddp; show ddp; }
}
# What fails
rank_fails() {
    job code 2 <<'Y'
launcher: None
restart: {maxRestarts: 0}
command: [sh, -c, 'echo last words; [ $WINDLASS_RANK = 0 ] && sleep 600; exit 7']
Y
    check "a rank's code and last words are in the status" told code RankFailed '^worker 1, rank 1 ended with exit code 7: last words'; show code
    none_runs() { [ -z "$(kubectl get pods -l windlass.dev/job=code --field-selector=status.phase=Running -o name)" ]; }
    check "and no pod of it runs on" until_true 60 none_runs
}
# Who is deleted
pod_deleted() {
    job waits 2 <<'Y'
launcher: None
restart: {maxRestarts: 0}
command: [sh, -c, 'echo "round $WINDLASS_ROUND"; [ $((WINDLASS_ROUND % 16)) = 1 ] && sleep 600; true']
Y
    runs() { [ "$(log waits-0 | grep -c '^round') $(log waits-1 | grep -c '^round')" = "1 1" ]; }
    check "two pods run" until_true 120 runs; show waits
    kubectl delete pod waits-1 --wait=false >/dev/null
    check "a pod that is deleted has a successor, all start again, and that is not counted" told waits Completed; show waits
    counts() { [ "$(kubectl get dt waits -o 'jsonpath={.status.restarts.counted}/{.status.restarts.disrupted}')" = 0/1 ]; }
    check "as the status says" counts
}
# Who hangs
no_moves() {
    job hangs 2 <<'Y'
launcher: None
restart: {maxRestarts: 0, hangSeconds: 3}
command: [sh, -c, 'echo begun; exec sleep 600']
Y
    check "who moves no more hangs" told hangs Hung; show hangs
}
# What is stopped, for what it says
stopped_by_spec() {
    job stopped 2 <<'Y'
launcher: None
volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
outputs: [{id: OUT, path: out/stopped}]
metrics: {objective: loss, goal: Minimize}
command: [bash, -c, 'cd $AZ_BATCHAI_OUTPUT_OUT; trap "echo heard >end-$WINDLASS_RANK; sleep 2; echo over >>end-$WINDLASS_RANK; exit 0" TERM; [ $WINDLASS_RANK = 1 ] || printf "loss: %s\n" 3 nan 1; sleep 600 & wait']
Y
    reported() { [ "$(kubectl get dt stopped -o 'jsonpath={.status.objective.reports} {.status.objective.best} {.status.objective.at}')" = "3 1 1::3:3 2::3:3 3::1:2" ]; }
    check "what its program reports is in the status" until_true 60 reported; show stopped
    kubectl patch dt stopped --type merge -p '{"spec": {"stop": "1 is enough"}}' >/dev/null
    check "spec.stop ends it" told stopped Stopped '^1 is enough$'; show stopped
    heard() { [ "$(cat "$out"/stopped/end-{0,1} 2>/dev/null | xargs)" = "heard over heard over" ]; }
    check "its programs got SIGTERM and their grace period" until_true 60 heard; show stopped
    not_stalled() { [ -z "$(kubectl get services,secrets -l windlass.dev/job=stopped -o name)" ] && kubectl get dt stopped -o json | jq -e 'all(.status.conditions[]; .type != "Stalled")' >/dev/null; }
    check "its Service and Secret are gone, and it is not stalled" until_true 60 not_stalled; show stopped
}
side_by_side command_in_each open_mpi torchrun rank_fails pod_deleted no_moves stopped_by_spec

##### GPUs: too few, and free after every end #####################################################
launch gpus "$bin/fakedp" nvidia.com/gpu 20
gpu_job() { # NAME COMMAND LINE
    job "$1" 2 <<Y
gpus: 1
launcher: None
$3
command: [sh, -c, 'echo begun; $2']
Y
}
# A job with fourteen GPUs leaves six: another worker with seven never fits, three pairs of workers with one do.
job few 3 <<'Y'
gpus: 7
minWorkers: 2
launcher: None
restart: {waitSeconds: 1}
volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
logs: {path: out/few}
command: [sh, -c, 'echo "rank $WINDLASS_RANK of $WINDLASS_WORLD, GPUs: $FAKE_DEVICES"']
Y
gpu_job late 'exec sleep 600' 'activeDeadlineSeconds: 30'
gpu_job gone 'exec sleep 600' ''
gpu_job fails 'sleep 1; exit 5' 'restart: {maxRestarts: 0}'
# Pods that have or request GPUs.
holders() { kubectl get pods -o json | jq -r '.items[] | select(.status.phase != "Succeeded" and .status.phase != "Failed" and
    any(.spec.containers[]; .resources.limits["nvidia.com/gpu"])) | .metadata.name'; }
holds_none() { [ -z "$(holders | grep "^$1-")" ]; }
holds_two() { [ "$(holders | grep -c "^$1-[01]$")" = 2 ] && [ "$({ log "$1-0"; log "$1-1"; } | grep -cx begun)" = 2 ]; }
# When a job is deleted or past its deadline, programs have 5 s for a last checkpoint; these ignore the notice, and end
# at SIGTERM.
free_after() { # NAME: within 10 s, and as much for other work on the processors
    local start=$SECONDS
    until_true 20 holds_none "$1" || { holders | sed 's/^/# /'; return 1; }
    echo "# $1: free after $((SECONDS - start)) s"
}
check "two pods with a GPU each" until_true 60 holds_two gone; show gone
kubectl delete dt gone --wait=false >/dev/null
check "deleted: no GPU is held" free_after gone
gpu_job evicted '[ $((WINDLASS_ROUND % 16)) != 1 ] && exit 0; until [ -e $WINDLASS_NOTICE ]; do sleep 0.2; done; exit 1' 'restart: {maxRestarts: 0}'
check "a rank fails" told fails RankFailed; show fails
check "no GPU is held" free_after fails
check "the deadline" told late DeadlineExceeded; show late
check "no GPU is held" free_after late
check "two pods with a GPU each" until_true 60 holds_two evicted; show evicted
kubectl create --raw /api/v1/namespaces/$namespace/pods/evicted-1/eviction -f - >/dev/null <<Y
{"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "evicted-1", "namespace": "$namespace"}}
Y
check "evicted: its programs have a notice, and all start again" told evicted Completed; show evicted
check "no GPU is held" free_after evicted
few() { told few Completed && [ "$(cat "$out"/few/rank.00[01]/stdout/* | grep -cE '^rank [01] of 2, GPUs: [0-9]+(,[0-9]+){6}$')" = 2 ]; }
check "three workers of seven GPUs on twenty: two begin, which is minWorkers" few; show few
check "few: no GPU is held" free_after few
finish gpus
kubectl delete dt --all --wait=false >/dev/null # (that nothing is left of them is looked at in the end: it takes a minute)

##### the trainer #################################################################################
example=examples/fashion-mnist
$example/fetch.sh >"$work/fetch" 2>&1 || { sed 's/^/# /' "$work/fetch"; exit 3; }
mkdir "$work/data"
cp -r $example/data/{names.txt,*.gz,test} "$work/data/"
data=$(tests/cluster/volume.sh fashion-mnist "$work/data") || exit 3
least=0.92
if [ -n "${SOAK_ROUNDS:-}" ]; then
    kubectl apply -f $example/disttrain.yaml >"$work/apply" 2>&1
else # a third of the pictures
    least=0.8
    python3 - "$data" <<'P' || exit 3
import gzip, struct, sys
for kind, head, item in (("images-idx3", 16, 784), ("labels-idx1", 8, 1)):
    name = f"{sys.argv[1]}/train-{kind}-ubyte.gz"
    whole = gzip.open(name).read()
    with gzip.open(name, "wb", 1) as file:
        file.write(whole[:4] + struct.pack(">I", 20000) + whole[8:head + 20000 * item])
P
    kubectl apply --dry-run=server -f $example/disttrain.yaml >"$work/apply" 2>&1
    kubectl create --dry-run=client -f $example/disttrain.yaml -o json |
        jq '.spec.trainer.epochs = 1 | del(.spec.trainer.schedule.warmupEpochs)' | kubectl apply -f - >/dev/null
fi
check "kubectl apply takes the example's training as it is" grep -q '^disttrain.windlass.dev/fashion-mnist created' "$work/apply"
of_training() { kubectl get dt fashion-mnist -o "jsonpath={.status.$1}"; }
# (The status reports a step up to ten seconds later, when a training of one epoch is nearly over.)
trains() { kubectl logs fashion-mnist-0 2>/dev/null | grep -q '^step '; }
check "four pods train" until_true 180 trains; show fashion-mnist
kubectl get dt fashion-mnist | sed 's/^/# /'
kubectl delete pod fashion-mnist-2 --wait=false >/dev/null
learned() { patience=3000 told fashion-mnist Completed && awk -v is="$(of_training accuracy)" -v least=$least 'BEGIN {print "# accuracy", is; exit !(is >= least)}'; }
check "one of them is deleted: another takes its place, and what is learned is at least $least right" learned; show fashion-mnist
check "that did not count as a failure" [ "$(of_training restarts.counted)/$(of_training restarts.disrupted)" = 0/1 ]
log fashion-mnist-0 >"$work/log"
check "they went on from their last step" grep '^continues from the checkpoint of step' "$work/log"
check "the log of the first pod stays" grep -q '^the result: ' "$work/log"
check "and what rank 0 said is beside what was learned" eval 'cat "$data"/trained/logs/rank.000/stdout/* | grep -q ^epoch' # (the others print nothing)
said_so() { status_of fashion-mnist message | grep -E '^trained for [0-9]+ epochs?, [0-9]+ steps in .*: loss [0-9.]+, accuracy 0\.[0-9]+; [a-z]+/trained/model.onnx is for a BatchScore'; }
check "the job says what came out" said_so
[ -s "$data/trained/model.onnx" ] || { find "$data" | sed 's/^/# /'; exit 1; }
kubectl apply -f $example/batchscore.yaml >/dev/null
check "a BatchScore scores with it" eval 'kind=bs told fashion-mnist Completed'
jq -r '.classes[0].label' "$data/scored/clothes.jsonl" >"$work/labels"
right() { paste "$work/labels" "$data/test/labels.txt" | awk -F'\t' -v least=$least '{right += $1 == $2} END {print "# right:", right / NR; exit !(NR == 10000 && right / NR >= least)}'; }
check "10,000 pictures, as many right" right
runtime=$(tests/onnxruntime.sh) || runtime=
cat >"$work/labels.cjs" <<'J'
// The label of each picture, as onnxruntime-node has it; after it a * where another was as good but for 1e-4.
const fs = require('fs');
const [runtime, model, pictures, names] = process.argv.slice(2);
const ort = require(require('path').resolve(runtime));
const known = fs.readFileSync(names, 'utf8').split('\n');
(async () => {
    const bytes = fs.readFileSync(pictures);
    const begin = 10 + bytes.readUInt16LE(8), item = 28 * 28;
    const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset + begin, bytes.byteOffset + bytes.length));
    const session = await ort.InferenceSession.create(model);
    for (let at = 0; at < values.length; at += 500 * item) {
        const some = values.subarray(at, at + 500 * item), count = some.length / item;
        const {logits} = await session.run({input: new ort.Tensor('float32', some, [count, 1, 28, 28])});
        for (let i = 0; i < count; i++) {
            const scores = Array.from(logits.data.subarray(i * 10, i * 10 + 10));
            const [first, second] = scores.map((score, label) => [score, label]).sort((a, b) => b[0] - a[0]);
            console.log(known[first[1]] + (first[0] - second[0] < 1e-4 ? '*' : ''));
        }
    }
})();
J
same_labels() {
    node "$work/labels.cjs" "$runtime" "$data/trained/model.onnx" "$data/test/pictures.npy" "$data/names.txt" >"$work/others" || return
    paste "$work/labels" "$work/others" | awk -F'\t' '
        $2 ~ /\*$/ {close_ones++; next}
        $1 != $2 {print "# picture " NR ": " $1 ", and for onnxruntime " $2; bad = 1}
        END {if (close_ones) print "# too close to call:", close_ones; exit bad || NR != 10000 || close_ones > 3}'
}
if [ -d "$runtime" ]; then
    check "onnxruntime-node says the same of each" same_labels
else
    echo "skip the labels of onnxruntime-node: npm could not get it"
fi
# Ranks that share a pod, and so its memory.
kubectl create --dry-run=client -f $example/disttrain.yaml -o json | jq '.metadata.name = "pairs" | .spec.workers = 2 |
    .spec.slotsPerWorker = 2 | .spec.trainer.output.path = "data/pairs" | .spec.trainer.epochs = 1 | del(.spec.trainer.schedule) |
    .spec.trainer.data = {train: {synthetic: {count: 1000, classes: 10, shape: [1, 28, 28]}}}' | kubectl apply -f - >/dev/null
pairs() { told pairs Completed && [ -s "$data/pairs/model.onnx" ] && ! log pairs-0 | grep -E 'vader|Read -1|errno'; }
check "two ranks a pod" pairs; show pairs
kubectl delete dt,bs --all --wait=false >/dev/null
nothing_left() { [ -z "$(kubectl get pods,services,secrets -l windlass.dev/job -o name)" ]; }
check "deleted jobs and trainings leave nothing" until_true 90 nothing_left
exit $((failures > 0))
