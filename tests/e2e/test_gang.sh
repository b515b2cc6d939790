#!/usr/bin/env bash
# DistTrains with `command` on a real Kubernetes with a real kubelet, in an image with nothing of ours and no ssh server
# (Debian's Python, mpi4py, Open MPI): mpirun over three pods, secrets that its ranks have and it has not; processes that
# find each other by torchrun's variables; a command in each pod, as user 65532 on a read-only root; a rank that fails, a pod
# that is deleted, a job that is. One cluster per machine: it waits for another one of ours to end.
set -u
cd "$(dirname "$0")/../.." || exit 3
. tests/e2e/lib.sh
script=test_gang.sh
. tests/cluster/lib.sh
. tests/cluster/env.sh
if [ "$(id -u)" != 0 ]; then echo "skip gangs on a cluster: it needs root"; exit 0; fi
mkdir -p "$cache"
exec 8>"$cache/cluster.lock"
flock 8
if running apiserver; then echo "skip gangs on a cluster: one runs already (make cluster-down)"; exit 0; fi
work=$(mktemp -d)
trap 'tests/cluster/down.sh; rm -rf "$work"' EXIT
image=$(tests/cluster/mpi-image.sh) || exit 3
tests/cluster/up.sh >"$work/up" 2>&1 || { sed 's/^/# /' "$work/up"; echo "not ok the cluster starts"; exit 1; }
"${ctr[@]}" images import --all-platforms=false "$image" >/dev/null || exit 3
export KUBECONFIG=$folder/kubeconfig PATH=$bin:$PATH
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
helm install windlass charts/windlass --namespace windlass --create-namespace --set image.registry=localhost \
    --wait --timeout 3m >"$work/helm.out" 2>&1 || { sed 's/^/# /' "$work/helm.out"; echo "not ok the chart installs"; exit 1; }
until_true() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    shift
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || { echo "# not in time: $*"; return 1; }
        sleep 0.2
    done
}
status_of() { kubectl get dt "$1" -o "jsonpath={.status.conditions[?(@.type==\"Succeeded\")].$2}"; }
says() { [ "$(status_of "$1" reason)" = "$2" ] && status_of "$1" message | grep -qE -- "${3:-}"; }
ended() { case $(status_of "$1" status) in True | False) ;; *) return 1 ;; esac }
# told NAME REASON [WORDS]: how it ended
told() { until_true "${patience:-180}" ended "$1" && says "$@" || { echo "# $(status_of "$1" reason): $(status_of "$1" message)"; return 1; }; }
pods_of() { kubectl get pods -l "windlass.dev/job=$1" -o name; }
show() { # NAME: what there is to see of a job
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    kubectl get dt,pods -o wide 2>&1 | sed 's/^/# /'
    kubectl get events --sort-by=.lastTimestamp 2>&1 | grep -F "$1" | tail -n 8 | cut -c1-220 | sed 's/^/# /'
    local pod
    for pod in $(pods_of "$1"); do kubectl logs "$pod" --tail=8 2>&1 | sed "s|^|# $pod: |"; done
}
# job NAME WORKERS: spec's other fields come on stdin
job() {
    {
        printf 'apiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: %s}\nspec:\n  workers: %s\n  image: registry.test/mpi:1\n' "$1" "$2"
        sed 's/^/  /'
    } >"$work/$1.yaml"
    kubectl apply -f "$work/$1.yaml" >/dev/null
}
# (Of pods that run: they go when all is over; what was said is in spec.logs.)
log() { kubectl logs "$1" 2>/dev/null; }
out=$(tests/cluster/volume.sh out) || exit 3

##### a command in each pod #######################################################################
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
        cat "$out/logs/rank.00$i/stdout"/* >"$work/log"
        grep -qx "rank $i of 3 as 65532 windlass" "$work/log" && grep -qx read-only "$work/log" && grep -qx room "$work/log" || return 1
    done
}
check "a command in each of three pods, restricted, known by name, its output kept" each; show each

##### Open MPI ####################################################################################
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
    cat "$out"/mpi/command/stdout/* | grep -v '^-- ' >"$work/log"
    for i in 0 1 2 3 4 5; do grep -qx "rank $i of 6 in mpi-$((i / 2)): 15 12" "$work/log" || return 1; done
    [ "$(head -n 20 "$work/log" | grep -cx 0)" = 1 ] && ! grep -rqF quiet-please "$out/mpi" <(kubectl get dt,pods,events -o json)
}
check "mpirun over three pods without ssh: mpi4py, ranks with their secret, mpirun without" mpi; show mpi

##### torchrun's variables ########################################################################
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

##### what fails ##################################################################################
job code 2 <<'Y'
launcher: None
restart: {maxRestarts: 0}
command: [sh, -c, 'echo last words; [ $WINDLASS_RANK = 0 ] && sleep 600; exit 7']
Y
check "a rank's code and last words are in the status" told code RankFailed '^worker 1, rank 1 ended with exit code 7: last words'; show code
none_runs() { [ -z "$(kubectl get pods -l windlass.dev/job=code --field-selector=status.phase=Running -o name)" ]; }
check "and no pod of it runs on" until_true 60 none_runs

##### who is deleted ##############################################################################
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
kubectl delete dt each mpi torch code waits --wait=false >/dev/null
nothing_left() { [ -z "$(kubectl get pods,services,secrets -l windlass.dev/job -o name)" ]; }
check "deleted jobs leave nothing" until_true 90 nothing_left
exit $((failures > 0))
