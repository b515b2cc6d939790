#!/usr/bin/env bash
# Whatever faults a training has, its result is that of an undisturbed one, bit for bit: the example's network on
# pictures of Fashion-MNIST, by `windlass run` with two workers. kill -9 of a rank (also rank 0), of a worker, of the
# hub; SIGTERM of a worker, as when its pod is deleted; SIGSTOP of a rank.
#   Each day half of them; SOAK_ROUNDS: each five times, 10,000 pictures; SOAK_SEED: when, and which rank
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" "${BUILD:-build}/windlass-trainer" || { echo "not ok test_train_faults: cannot be built"; exit 1; }
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "skip test_train_faults: Open MPI is not here"; exit 0; }
work=$(mktemp -d)
resting_ranks "$work/bin" || exit 3
windlass=$work/bin/windlass
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
unset WINDLASS_STORES_FOLDER OMPI_COMM_WORLD_SIZE PMIX_RANK
seed=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))} times=${SOAK_ROUNDS:+5} pictures=${SOAK_ROUNDS:+10000} epochs=${SOAK_ROUNDS:+6}
: "${times:=1}" "${pictures:=1500}" "${epochs:=12}"
RANDOM=$((seed % 32768))
echo "# SOAK_SEED=$seed"

# The first pictures of Debian's data set, as files of the same kind.
/usr/bin/python3 - "$work" "$pictures" <<'P' || { echo "not ok test_train_faults: no pictures (dataset-fashion-mnist)"; exit 1; }
import gzip, struct, sys
for name, count in ("train", int(sys.argv[2])), ("t10k", 500):
    for kind, head, item in ("images-idx3", 16, 784), ("labels-idx1", 8, 1):
        whole = gzip.open(f"/usr/share/datasets/fashion-mnist/{name}-{kind}-ubyte.gz").read()
        with gzip.open(f"{sys.argv[1]}/{name}-{kind}-ubyte.gz", "wb", 1) as file:
            file.write(whole[:4] + struct.pack(">I", count) + whole[8:head + count * item])
P

# start NAME RESTART: starts a training.
start() {
    job=$1 out=$work/$1/out state=$work/$1/state
    mkdir -p "$out"
    cp "$work"/*.gz "$out"
    cat >"$work/$1/job.yaml" <<Y
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: $1}
spec:
  workers: 2
  trainer:
    model: {new: CNN, classes: 10, shape: [1, 28, 28]}
    data:
      train: {idx: {images: data/train-images-idx3-ubyte.gz, labels: data/train-labels-idx1-ubyte.gz}}
      test: {idx: {images: data/t10k-images-idx3-ubyte.gz, labels: data/t10k-labels-idx1-ubyte.gz}}
      augment: {flip: true}
      normalize: {mean: ["0.286"], deviation: ["0.353"]}
    epochs: $epochs
    batchSize: 32
    seed: $((seed % 1000))
    optimizer: {kind: SGD, learningRate: "0.02", momentum: "0.9"}
    checkpoint: {everySeconds: 1, keep: 2}
    output: {path: data/trained}
  restart: {backoffSeconds: 0, $2}
  volumes: [{name: data, hostPath: {path: $out}}]
Y
    timeout -k 5 600 "$windlass" run --keep -f "$work/$1/job.yaml" --state "$state" >"$work/$1/said" 2>&1 &
    run_pid=$!
}
# process PROGRAM VARIABLE=VALUE: the id of that process of this job
process() {
    local pid
    for pid in $(pgrep -f "^$1"); do
        [ "$(tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -cxe "$2" -e "WINDLASS_JOB=$job")" = 2 ] && echo "$pid" && return
    done
    return 1
}
rank() { process "$build/windlass-trainer train" "OMPI_COMM_WORLD_RANK=$1"; }
agent() { process 'windlass-trainer launch' "WINDLASS_INDEX=$1"; }
kept() { compgen -G "$out/trained/.windlass/*/checkpoint/*" >/dev/null; }
some_step() { until_true_while "$run_pid" 120 kept && sleep 0.$((RANDOM % 10)); }
said() { jq -r "$1" "$(ls -t "$state/pods/$job-0"*/termination-log | head -n 1)" 2>/dev/null; }
# Every weight of the network, and the figures of each epoch. (The running statistics of norms are averaged over the
# ranks when a checkpoint is written, and checkpoints depend on the clock: they and the test's loss are equal except for
# rounding.)
result() {
    /usr/bin/python3 - "$out/trained" <<'P'
import csv, hashlib, sys
import onnx, onnx.numpy_helper as helper
for tensor in onnx.load(sys.argv[1] + "/model.onnx").graph.initializer:
    values = helper.to_array(tensor)
    is_statistic = ".running_" in tensor.name
    print(tensor.name, values.shape if is_statistic else hashlib.sha256(values.tobytes()).hexdigest()[:16])
for row in csv.DictReader(open(sys.argv[1] + "/metrics.csv")):
    if not row["test_loss"]: # within a slow epoch: these rows depend on the clock, too
        continue
    print(row["step"], row["epoch"], row["loss"], row["accuracy"], row["test_accuracy"], row["test_loss"])
P
}
# same_result FILE FILE: equal lines; the last column of an epoch's line, the test's loss, within 0.0001
same_result() {
    awk 'FNR == NR { one[++lines] = $0; next }
        { split(one[FNR], was); change = $NF - was[NF]; stem = $0; old = one[FNR]
          if (NF == 6) { sub(/ [^ ]*$/, "", stem); sub(/ [^ ]*$/, "", old) }
          if (stem != old || (NF == 6 && (change > 1e-4 || change < -1e-4))) { differs = 1; exit } }
        END { exit differs || FNR != lines }' "$1" "$2"
}
# as_quiet COUNTS CAUSE: it succeeded after COUNTS restarts with that CAUSE, and its result equals the undisturbed one's
as_quiet() {
    wait "$run_pid" && [ "$(said '"\(.restarts.counted) \(.restarts.disrupted)"')" = "$1" ] && [ "$(said '.restarts.last.cause // "none"')" = "$2" ] &&
        ! rank 0 && ! rank 1 && result >"$work/$job/result" && same_result "$work/$job/result" "$work/quiet.result"
}
show() {
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    {
        tail -n 8 "$work/$job/said" | sed 's/^/# /'
        echo "# hub: $(said .)"
        result | diff - "$work/quiet.result" | head -n 5 | sed 's/^/# /'
    } 2>/dev/null
}

quiet() {
    start quiet 'maxRestarts: 0'
    wait "$run_pid" || return
    result >"$work/quiet.result" && tail -n 1 "$work/quiet.result" | sed 's/^/# step, epoch, loss, accuracy, of the test, its loss: /'
}
rank_killed() { # RANK LANE
    start "rank-$1-$2-$round" 'maxRestarts: 1'
    some_step && kill -9 "$(rank "$1")"
    as_quiet "1 0" App
}
worker_killed() { # INDEX COUNTS CAUSE
    start "worker-$1-$round" 'maxRestarts: 1'
    some_step && kill -9 "$(agent "$1")"
    as_quiet "$2" "$3"
}
worker_leaves() {
    start "leaves-$round" 'maxRestarts: 0'
    some_step && kill -TERM "$(agent 1)"
    as_quiet "0 1" Disruption
}
rank_stopped() {
    start "stopped-$round" 'maxRestarts: 1, hangSeconds: 5'
    some_step && kill -STOP "$(rank "$1")"
    as_quiet "1 0" Hang && said .restarts.last.message | grep -q 'gave up.*nothing from the other ranks for 5.0 s: one of them is dead, stopped or cut off$'
}
check "a quiet training" quiet
# sampled_check NAME COMMAND...: every second one, or all.
sampled_check() { sampled 2 || return; check "$@"; show; }
killed() {
    for round in $(seq $times); do
        sampled_check "kill -9 of a rank: the same network, $round" rank_killed $((RANDOM % 2)) a
        sampled_check "kill -9 of a worker: the same network, $round" worker_killed 1 "0 1" Disruption
    done
}
replaced() {
    for round in $(seq $times); do
        sampled_check "kill -9 of worker 0: the same network, $round" worker_killed 0 "1 0" none
        sampled_check "a worker receives SIGTERM: the same network, $round" worker_leaves
    done
}
stands() {
    for round in $(seq $times); do
        sampled_check "SIGSTOP of a rank: the same network, $round" rank_stopped 1
        [ $times -eq 1 ] || check "kill -9 of rank 0: the same network, $round" rank_killed 0 b; show
    done
}
[ $failures -gt 0 ] || side_by_side killed replaced stands
exit $((failures > 0))
