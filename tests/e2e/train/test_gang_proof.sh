#!/usr/bin/env bash
# A gang succeeds only by the exits of its ranks, by `windlass run`: a stranger ends mpirun (Open MPI's HALT_VM message),
# mpirun is killed by a script that ends with 0, a script that swallows mpirun's exit code; scripts that are right:
# several mpiruns, a second try, two programs under one mpirun, none; MPICH's mpiexec; a training that a stranger ends
# goes on from its checkpoint and leaves its model. What programs leave in their working folders.
#   SOAK_ROUNDS: the stranger's message comes five times, at other moments
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" "${BUILD:-build}/windlass-trainer" || { echo "not ok test_gang_proof: cannot be built"; exit 1; }
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "skip test_gang_proof: Open MPI is not here"; exit 0; }
work=$(mktemp -d)
windlass=$work/bin/windlass
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
unset WINDLASS_STORES_FOLDER OMPI_COMM_WORLD_SIZE PMIX_RANK PMIX_NAMESPACE
resting_ranks "$work/bin" || exit 3
address=$(hostname -I | cut -d' ' -f1)

# manifest NAME <FIELDS: two workers of two slots, no restarts unless a field says so
manifest() {
    mkdir -p "$work/$1/out"
    {
        printf 'apiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: %s}\nspec:\n  workers: 2\n' "$1"
        printf '  slotsPerWorker: 2\n  volumes: [{name: out, hostPath: {path: %s}}]\n' "$work/$1/out"
        sed 's/^/  /'
    } >"$work/$1/job.yaml"
}
# command NAME SCRIPT: a job of that shell script, in which $1 is its folder
command_job() {
    jq -nc --arg script "$2" '["bash", "-c", $script, "bash", "$(out)"]' | sed 's/^/command: /; s/$/\nimage: registry.test\/any:1\nrestart: {maxRestarts: 0}/' | manifest "$1"
}
run() {
    timeout -k 5 120 "$windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" >"$work/$1/said" 2>&1
    code=$?
}
says() { grep -qE -- "$2" "$work/$1/said"; }
show() { [ "$failures" -eq 0 ] || { sed 's/^/# /' "$work/$1/said"; tail -n 5 "$work/$1"/state/*.log | sed 's/^/# /'; } 2>/dev/null; }
# succeeds NAME SCRIPT PROOF; fails NAME SCRIPT MESSAGE
succeeds() {
    local code
    command_job "$1" "$2"
    run "$1"
    [ $code -eq 0 ] && if [ "$3" ]; then says "$1" "^  proof    $3\$"; else ! says "$1" '^  proof'; fi
}
fails() {
    local code
    command_job "$1" "$2"
    run "$1"
    [ $code -eq 1 ] && says "$1" "$3"
}

##### a stranger ##################################################################################
# halt NAME: finds the mpirun of that job, and sends it the message over this machine's own address.
mpirun_of() {
    local pid
    for pid in $(pgrep -x mpirun); do
        tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qx "WINDLASS_JOB=$1" && echo "$pid" && return
    done
    return 1
}
namespace_of() {
    local pid
    for pid in $(pgrep -P "$1"); do tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | sed -n 's/^PMIX_NAMESPACE=//p'; done | head -1
}
# The port for commands: of the sockets of that process that listen, the last one that it opened; the first is for the
# ranks of this machine.
port_of() {
    find "/proc/$1/fd" -lname 'socket:*' -printf '%f %l\n' 2>/dev/null | tr -d 'a-z:[]' | sort -rn |
        awk 'FNR == NR { if ($4 == "0A") { split($2, at, ":"); ports[$10] = at[2] } next } $2 in ports { print ports[$2]; exit }' /proc/net/tcp -
}
# Over the machine's own address nothing answers, over loopback it still does.
halt() {
    local pid namespace port
    pid=$(mpirun_of "$1") && namespace=$(namespace_of "$pid") && port=$((16#$(port_of "$pid"))) || return 1
    if [ "$address" ] && python3 tests/e2e/train/halt_vm.py "$address" "$port" "$namespace" 2>"$work/refused"; then
        echo "not ok mpirun listens on $address"
        return 1
    fi
    python3 tests/e2e/train/halt_vm.py 127.0.0.1 "$port" "$namespace" && return
    # Its answer may be lost when it ends, and its successor must not get the message, too.
    for _ in $(seq 600); do kill -0 "$pid" 2>/dev/null || return 0; nap 0.1; done
    return 1
}
# Its ranks answer SIGTERM with exit code 0.
stranger() {
    local code pid
    command_job halted 'exec mpirun -np 4 bash -c '\''trap "exit 0" TERM; echo >"$0/rank-$OMPI_COMM_WORLD_RANK"; sleep 60 & wait'\'' "$1"'
    run halted &
    pid=$!
    until_true 60 test -e "$work/halted/out/rank-3" && sleep 0.5 && halt halted
    wait $pid
    grep -qE 'halted failed: worker 0, rank [0-3] ended with exit code [0-9]+.*: a signal asked it to end.*spec.command ended with 0 all the same' "$work/halted/said"
}
is_kept() { compgen -G "$work/$1/out/trained/.windlass/*/checkpoint/*" >/dev/null; }
training() {
    local pid times=${SOAK_ROUNDS:+5} i
    : "${times:=1}"
    manifest trained <<Y
trainer:
  model: {new: CNN, classes: 6, shape: [2, 12, 12]}
  data:
    train: {synthetic: {count: 250, classes: 6, shape: [2, 12, 12]}}
  epochs: $((400 * times))
  batchSize: 64
  checkpoint: {everySeconds: 1, keep: 2}
  output: {path: out/trained}
restart: {maxRestarts: $times, backoffSeconds: 0}
Y
    "$windlass" run -f "$work/trained/job.yaml" --state "$work/trained/state" >"$work/trained/said" 2>&1 &
    pid=$!
    until_true 60 is_kept trained || return 1
    for i in $(seq "$times"); do
        until_true 60 mpirun_of trained >/dev/null && sleep "0.$((RANDOM % 10))" && until_true 20 halt trained
    done
    wait $pid && says trained "started again $times time" && says trained '^  proof    4 ranks ended with 0; the model is as it was written, SHA-256 ' &&
        says trained "SHA-256 $(sha256sum "$work/trained/out/trained/model.onnx" | cut -d' ' -f1)" &&
        grep -q '^continues from the checkpoint of step' "$work/trained/state/trained-0.log" &&
        grep -q "^epoch $((400 * times)) of $((400 * times)), step" "$work/trained/state/trained-0.log"
}
strangers() {
    check "a stranger's message ends mpirun with 0: the job fails" stranger; show halted
    check "it ends a training: that goes on from its checkpoint, and its model is whole" training; show trained
}

##### scripts #####################################################################################
wrong() {
    check "mpirun's exit code is swallowed: the rank's counts" fails swallowed 'mpirun -np 4 bash -c '\''exit $((7 * (OMPI_COMM_WORLD_RANK == 2)))'\'' || true' \
        'failed: worker 0, rank 2 ended with exit code 7: .*spec.command ended with 0 all the same; but each rank.s exit counts'; show swallowed
    check "mpirun is killed and the script ends with 0" fails shot 'mpirun -np 2 bash -c "touch $1/has-begun; sleep 60" & until [ -e $1/has-begun ]; do sleep 0.1; done; kill -9 $!; exit 0' \
        'failed: worker 0, rank [01] ended with exit code (137|143) '; show shot
    check "a second try of fewer ranks is not enough" fails fewer 'mpirun -np 4 false; mpirun -np 2 true' 'rank [0-3] ended with exit code 1: '; show fewer
    check "mpirun ends its ranks after a time limit" fails timed 'mpirun --timeout 2 -np 2 sleep 60; exit 0' 'failed: worker 0, rank [01] ended with exit code [0-9]+.*: a signal asked it to end'; show timed
    check "MPI_Abort with 0" fails aborted "mpirun -np 2 $work/abort; exit 0" 'failed: worker 0, rank [01] '; show aborted
}
right() {
    check "one mpirun after the other" succeeds both 'mpirun -np 4 true && mpirun -np 2 true' '6 ranks ended with 0'; show both
    check "a second try" succeeds again 'mpirun -np 4 false || mpirun -np 4 true' '4 ranks ended with 0'; show again
    check "a second try, after the ranks were killed with what reports their end" succeeds killed 'mpirun -np 2 bash -c "kill -9 \$PPID; sleep 60" || mpirun -np 2 true' '2 ranks ended with 0'; show killed
    check "two programs under one mpirun" succeeds mpmd 'mpirun -np 1 true : -np 3 sleep 0.2' '4 ranks ended with 0'; show mpmd
    check "ranks that start others, and signal their own" succeeds forks 'mpirun -np 2 bash -c '\''trap : TERM; sleep 100 & kill 0; exit 0'\' '2 ranks ended with 0'; show forks
    check "ranks that leave processes behind" succeeds lingers 'mpirun -np 2 bash -c "sleep 100 & exit 0"' '2 ranks ended with 0'; show lingers
    check "no MPI at all" succeeds none 'echo done' ''; show none
}
mpich() {
    command -v mpiexec.hydra >/dev/null || { echo "skip MPICH: it is not here"; return; }
    check "MPICH: the proxies of its ranks have ended with 0" succeeds hydra 'mpiexec.hydra -np 4 true' '1 proxy of MPI ended with 0'; show hydra
    check "MPICH: a rank's exit code is mpiexec's" fails hydra-code 'mpiexec.hydra -np 4 bash -c '\''exit $((7 * PMI_RANK))'\' 'worker 0 ended with exit code [0-9]+'; show hydra-code
    check "MPICH: mpiexec's exit code is swallowed: the rank's counts" fails hydra-swallowed 'mpiexec.hydra -np 4 bash -c '\''exit $((7 * (PMI_RANK == 2)))'\'' || true' \
        'failed: worker 0, rank 0 ended with exit code [0-9]+: the proxy of MPI: a rank that it started ended so'; show hydra-swallowed
    check "MPICH: a second try" succeeds hydra-again 'mpiexec.hydra -np 4 false || mpiexec.hydra -np 4 true' '1 proxy of MPI ended with 0'; show hydra-again
    check "MPICH: a rank's own mpiexec fails, and the rank goes on" succeeds hydra-inner \
        'mpiexec.hydra -np 1 bash -c "unset \${!HYDRA_*}; mpiexec.hydra -np 1 false || true"' '1 proxy of MPI ended with 0'; show hydra-inner
    check "MPICH: mpiexec is killed and the script ends with 0" fails hydra-shot 'mpiexec.hydra -np 4 bash -c "touch $1/has-begun; sleep 60" & until [ -e $1/has-begun ]; do sleep 0.1; done; kill -9 $!; exit 0' \
        'failed: worker 0, rank 0 ended with exit code [0-9]+.*: the proxy of MPI'; show hydra-shot
}
##### files that would be deleted with the run #####################################################
lost() {
    fails lost 'echo weights >model.bin; mkdir a .cache; echo x >a/b.txt; touch a/c a/d .cache/e' \
        'lost failed: its programs left 4 files \(10 bytes\) in their working folder, which ends with the run: (model.bin|a/[bcd].*), .*, \.\.\.$' &&
        says lost "kept: $work/lost/state/left" && [ "$(cat "$work/lost/state/left/lost-0/model.bin")" = weights ] && [ ! -e "$work/lost/state/pods" ]
}
not_lost() {
    succeeds scratch 'echo x >"$TMPDIR/x"; mkdir empty .cache __pycache__; touch .cache/x __pycache__/x core.7; ln -s /etc/passwd link; echo y >"$1/result"' '' &&
        [ -s "$work/scratch/out/result" ] && [ ! -e "$work/scratch/state/left" ]
}
files() {
    check "what a program wrote into its working folder is an error, and kept" lost; show lost
    check "what it wrote below TMPDIR, caches and core files are none" not_lost; show scratch
    check "the same state folder again: an earlier run's files are not counted" lost_before; show lost
}
lost_before() {
    local code
    command_job lost 'true'
    run lost
    [ $code -eq 0 ] && [ -s "$work/lost/state/left/lost-0/model.bin" ]
}
cat >"$work/abort.c" <<'C'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Abort(MPI_COMM_WORLD, 0);
    }
    sleep(60);
    return 0;
}
C
mpicc -o "$work/abort" "$work/abort.c" || echo "not ok abort.c: cannot be compiled"
side_by_side strangers wrong right mpich files
exit $((failures > 0))
