#!/usr/bin/env bash
# A real job of Batch AI (tests/data/batchai/cifar-horovod-2017.json: a script that calls mpirun with the
# service's host file, preparation, directories) -> windlass import -> the fields that the comments request are filled
# in -> windlass run. Horovod is not packaged: an MPI program in C with the same variables, folders and mpirun stands in
# for it.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" || { echo "not ok test_batchai: cannot be built"; exit 1; }
windlass=$build/windlass
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset OMPI_COMM_WORLD_SIZE PMIX_RANK
share=$work/share/storagedir
code=$share/horovod
mkdir -p "$code/data/cifar-10-batches-py"
cat >"$work/train.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Every rank's number summed into OUTPUT_MODEL/sum, and rank 0's HOROVOD_TIMELINE written. */
int main(int argc, char **argv) {
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        char path[4096];
        snprintf(path, sizeof path, "%s/sum", getenv("AZ_BATCHAI_OUTPUT_MODEL"));
        FILE *model = fopen(path, "w");
        fprintf(model, "%d of %d", sum, size);
        fclose(model);
        FILE *timeline = fopen(getenv("HOROVOD_TIMELINE"), "w");
        fprintf(timeline, "[]");
        fclose(timeline);
    }
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
C
cat >"$code/job-prep.sh" <<'S'
#!/bin/bash
echo "$AZ_BATCHAI_TASK_INDEX" >"$AZ_BATCHAI_INPUT_SCRIPTS/prepared-$AZ_BATCHAI_TASK_INDEX"
S
cat >"$code/run-cifar10.sh" <<'S'
#!/bin/bash
ls "$AZ_BATCHAI_INPUT_DATASET" >/dev/null || exit 9
echo "hosts $AZ_BATCH_HOST_LIST"
exec mpirun -np $((NUM_NODES * PROCESSES_PER_NODE)) --hostfile "$AZ_BATCHAI_MPI_HOST_FILE" -bind-to none -map-by slot -x HOROVOD_TIMELINE \
    -x AZ_BATCHAI_OUTPUT_MODEL --allow-run-as-root "$AZ_BATCHAI_INPUT_SCRIPTS/train" "$@"
S
chmod +x "$code"/*.sh

imports() {
    "$windlass" import tests/data/batchai/cifar-horovod-2017.json >"$work/imported.yaml" 2>"$work/said" &&
        grep -q '# slotsPerWorker says how many processes mpirun may place' "$work/imported.yaml" || return 1
    # The comments request the number of processes per worker. The claim is a folder here (--volume).
    sed 's/^  workers: 2/&\n  slotsPerWorker: 4/' "$work/imported.yaml" >"$work/job.yaml"
    "$windlass" check -f "$work/job.yaml" >>"$work/said" 2>&1
}
run() { timeout 300 "$windlass" run -f "$work/job.yaml" --volume external="$work/share" --state "$work/state-$1" >"$work/said" 2>&1; }
runs() {
    run good && [ "$(cat "$code/model/models/sum")" = "28 of 8" ] && [ "$(cat "$code/timeline/timelines/timeline.json")" = "[]" ] &&
        [ "$(cat "$code"/prepared-* | xargs)" = "0 1" ] && grep -qx 'hosts 127.0.0.1' "$work"/state-good/*-0.log
}
fails() {
    sed -i 's/"\$@"$/3/' "$code/run-cifar10.sh"
    sed -i 's/^  workers: 2/&\n  restart: {maxRestarts: 0}/' "$work/job.yaml"
    run bad
    [ $? -eq 1 ] && grep -q 'ended with exit code 3' "$work/said"
}
show() { [ "$failures" -eq 0 ] || { sed 's/^/# /' "$work/said"; tail -n 20 "$work"/state-*/*.log | sed 's/^/# /'; }; }

mpicc -o "$code/train" "$work/train.c" 2>/dev/null || { echo "skip Batch AI: Open MPI is not here"; exit 0; }
check "job.json becomes a manifest that check takes" imports; show
check "and runs: preparation, directories, host file, 8 processes" runs; show
check "a code of its ranks is the job's" fails; show
exit $((failures > 0))
