#!/usr/bin/env bash
# The controller against kube-controller-manager's Job controller, on the same real API server (1.20, no limits of
# its own): jobs to pods requested, memory, idle processor time, start to ready.
#   JOBS=10000 FINISHED=10000 RUNNING=1000 WORKERS=1000    counts; JOBS_DEFAULT=200: for the manager's default limits
#   OPTIONS=--no-network-policy   of our controller
# Every job has two pods. All are created before the measured controller starts, so that neither waits for the load.
set -eu
cd "$(dirname "$0")/../.."
# As servers of a cluster run: those of tests collect less garbage.
export GOGC=${GOGC:-400} GOMEMLIMIT=${GOMEMLIMIT:-off}
: "${JOBS:=1000}" "${FINISHED:=1000}" "${RUNNING:=100}" "${WORKERS:=1000}" "${JOBS_DEFAULT:=200}"
windlass=$(realpath "${BUILD:-build}")/windlass
work=$(mktemp -d)
api=$work/api
cleanup() {
    # shellcheck disable=SC2046 # several numbers
    kill -9 $(jobs -p) 2>/dev/null || true
    tests/cluster/api-server.sh stop "$api" >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap cleanup EXIT
# An empty server, so that no measurement includes the objects of an earlier one.
fresh() {
    tests/cluster/api-server.sh stop "$api" >/dev/null 2>&1 || true
    rm -rf "$api"
    tests/cluster/api-server.sh start "$api" --owner $$ -- --max-requests-inflight=0 --max-mutating-requests-inflight=0 \
        --feature-gates=APIPriorityAndFairness=false >"$work/api.log"
    "$api/kubectl" apply --validate=false -f crds/batchscore.yaml >/dev/null
    # A definition of this very moment has no conditions yet, and kubectl ends with an error.
    until "$api/kubectl" wait --for=condition=Established crd/batchscores.windlass.dev >/dev/null 2>&1; do sleep 0.1; done
    # By bearer token, as controllers do in a cluster: a client's certificate would be verified with every request.
    "$api/kubectl" config set-credentials admin --token="$(cat "$api/token")" >/dev/null
    "$api/kubectl" config unset users.admin.client-certificate >/dev/null
    "$api/kubectl" config unset users.admin.client-key >/dev/null
    settle
}
# A new server still works on the descriptions of its kinds: until it has used less than 0.1 s in a second, for 60 s.
settle() {
    local pid before now=0
    pid=$(cat "$api/pids/apiserver.pid")
    for _ in $(seq 60); do
        before=$now now=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
        [ $((now - before)) -ge 10 ] || return 0
        sleep 1
    done
    echo "controller.sh: the API server does not settle" >&2
    return 1
}
load() { python3 tests/bench/load.py "$api" "$@"; }
namespace() { "$api/kubectl" create namespace "$1" >/dev/null; }
now() { date +%s%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.3f", (b - a) / 1e9 }'; }
rate() { awk -v n="$1" -v s="$2" 'BEGIN { printf "%.1f", n / s }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }
controller() { # NAMESPACE: starts one; $pid, $port
    : >"$work/log" # first: the port of an earlier one must not be read
    "$windlass" controller --kubeconfig "$api/kubeconfig" --no-leader-election --listen 127.0.0.1:0 --namespace "$1" \
        ${OPTIONS:-} 2>"$work/log" &
    pid=$!
    until port=$(sed -n 's/.*pages=http:\/\/127.0.0.1:\([0-9]*\).*/\1/p' "$work/log") && [ -n "$port" ]; do sleep 0.002; done
}
end() { kill $pid; wait $pid || true; }
is_ready() { curl -sf --max-time 2 -o /dev/null "http://127.0.0.1:$port/readyz"; }
manager() { # FLAGS
    tests/cluster/api-server.sh controller-manager "$api" "$@" >/dev/null
    manager_pid=$(cat "$api/pids/controller-manager.pid")
}
all() { # NAMESPACE PODS: seconds from $start until PODS pods exist
    local got
    got=$(load wait "$1" "$2" 3600)
    [ "$got" -ge "$2" ] || { echo "controller.sh: only $got of $2 pods in $1" >&2; exit 1; }
    since "$start"
}

fresh
##### start to ready, nothing there ###############################################################
namespace empty
ready=999
for _ in 1 2 3 4 5; do
    start=$(now)
    controller empty
    until is_ready; do :; done
    took=$(since "$start")
    ready=$(awk -v a="$took" -v b="$ready" 'BEGIN { print a < b ? a : b }')
    end
done

##### jobs to pods requested ######################################################################
namespace scores
load batchscores scores "$JOBS"
start=$(now)
controller scores
ours_s=$(all scores $((JOBS * 2)))
ours=$(rate "$JOBS" "$ours_s")
echo "# ours: $ours jobs/s" >&2
ours_cpu=$(awk '{ printf "%.2f", ($14 + $15) / 100 }' "/proc/$pid/stat")
peak=$(awk '/VmHWM/ { printf "%.1f", $2 / 1024 }' "/proc/$pid/status")
end

measure_manager() { # NAMESPACE COUNT FLAGS...: jobs a second in $theirs
    fresh
    namespace "$1"
    load jobs "$1" "$2"
    start=$(now)
    local name=$1 count=$2 seconds
    shift 2
    manager "$@"
    seconds=$(all "$name" $((count * 2)))
    theirs=$(rate "$count" "$seconds")
    theirs_cpu=$(awk '{ printf "%.2f", ($14 + $15) / 100 }' "/proc/$manager_pid/stat")
    kill -9 "$manager_pid"
}
measure_manager lifted "$JOBS" --kube-api-qps=100000 --kube-api-burst=100000
lifted=$theirs lifted_cpu=$theirs_cpu
echo "# the Job controller: $lifted jobs/s" >&2
measure_manager limited "$JOBS_DEFAULT"
limited=$theirs

##### one job of many workers #####################################################################
fresh
namespace wide
controller wide
until is_ready; do :; done
start=$(now)
load wide wide "$WORKERS"
wide_s=$(all wide $((WORKERS + 1)))
end

##### memory and idle processor time ###############################################################
fresh
namespace memory
load batchscores memory "$FINISHED" finished
load batchscores memory "$RUNNING" running
start=$(now)
controller memory
until is_ready; do :; done
full_ready=$(since "$start")
until grep -q ' listed ' "$work/log"; do sleep 0.01; done
listed=$(since "$start")
load wait memory $((RUNNING * 2)) 3600 >/dev/null
# Status writes follow the pods: a controller is idle if it sends no request to the server for five seconds.
requests() { curl -s "http://127.0.0.1:$port/metrics" | awk '/^windlass_apiserver_requests_total/ { n += $2 } END { printf "%.0f", n }'; }
until last=$(requests) && sleep 5 && [ "$(requests)" = "$last" ]; do :; done
busy() { cat /proc/$pid/task/*/schedstat | awk '{ n += $1 } END { printf "%.0f", n }'; }
before=$(busy)
sleep 20
idle=$(awk -v n=$(($(busy) - before)) 'BEGIN { printf "%.3f", n / 20e9 * 100 }')
rss=$(awk '/VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$pid/status")
end

cat <<TABLE
controller, beside kube-controller-manager 1.20 on the same API server ($(nproc) cores)
  $JOBS jobs of 2 pods to pods requested   $ours jobs/s ($ours_s s, $ours_cpu s of a processor, peak $peak MiB)
  the Job controller, limits lifted         $lifted jobs/s   ratio $(ratio "$ours" "$lifted") ($lifted_cpu s of a processor)
  the Job controller, default limits        $limited jobs/s   ratio $(ratio "$ours" "$limited") ($JOBS_DEFAULT jobs)
  one job of $WORKERS workers               $wide_s s to all pods requested
  start to ready                            $ready s (nothing there), $full_ready s ($((FINISHED + RUNNING)) jobs; all of them listed after $listed s)
  memory                                    $rss MiB with $FINISHED finished and $RUNNING running jobs
  idle                                      $idle % of a processor, with them
TABLE
mkdir -p build/bench
cat >build/bench/controller.json <<JSON
{"jobs": $JOBS, "jobsPerSecond": $ours, "cpuSeconds": $ours_cpu, "peakMiB": $peak, "jobControllerLifted": $lifted, "jobControllerCpuSeconds": $lifted_cpu,
 "jobControllerDefault": $limited, "workers": $WORKERS, "wideSeconds": $wide_s, "readySeconds": $ready,
 "readyFullSeconds": $full_ready, "listedSeconds": $listed, "finished": $FINISHED, "running": $RUNNING, "rssMiB": $rss, "idlePercent": $idle}
JSON
