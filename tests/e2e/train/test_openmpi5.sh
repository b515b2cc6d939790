#!/usr/bin/env bash
# Open MPI 5's mpirun in a DistTrain's command, by `windlass run`: four ranks add up, each one's exit proves the success,
# and one that fails is named. Debian 13's packages: a soak fetches them (openmpi5.sh), other runs use what is there.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
five=$(tests/e2e/train/openmpi5.sh ${SOAK_ROUNDS:-there}) || { echo "skip test_openmpi5: Open MPI 5 is not here: tests/e2e/train/openmpi5.sh fetches it"; exit 0; }
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset WINDLASS_STORES_FOLDER OMPI_COMM_WORLD_SIZE PMIX_RANK PMIX_NAMESPACE
# shellcheck disable=SC2046 # several options
mpicc -o "$work/sum" tests/e2e/train/sum.c $(cat "$five/flags") 2>/dev/null || { echo "skip test_openmpi5: mpicc is not here"; exit 0; }
job() { # NAME WORDS...: its exit code is in $code
    local name=$1
    mkdir -p "$work/$name/out"
    cat >"$work/$name/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: DistTrain
metadata: {name: $name}
spec:
  workers: 2
  slotsPerWorker: 2
  image: registry.test/any:1
  restart: {maxRestarts: 0}
  volumes: [{name: out, hostPath: {path: $work/$name/out}}]
  outputs: [{id: MODEL, path: out/models}]
  command: $(jq -nc '$ARGS.positional' --args -- "${@:2}")
M
    timeout 120 "$windlass" run -f "$work/$name/job.yaml" --state "$work/$name/state" >"$work/$name/said" 2>&1 </dev/null
    code=$?
}
says() { grep -qE -- "$2" "$work/$1/said" || { sed 's/^/# /' "$work/$1/said"; false; }; }
job sums "$five/mpirun" -np 4 "$work/sum"
check "four ranks of two workers add up" [ "$code $(grep -c '^rank [0-3] of 4 in pod 0: 6' "$work/sums/state/sums-0.log")" = "0 4" ]
check "each rank's exit is known" says sums '^  proof    4 ranks ended with 0$'
check "and in result.json" [ "$(jq -c '[.proof.by, .proof.count, ([.proof.exits[] | [.rank, .exitCode]] | sort)]' "$work/sums/out/models/result.json")" = '["Ranks",4,[[0,0],[1,0],[2,0],[3,0]]]' ]
job swallowed bash -c "$five/mpirun -np 4 bash -c 'exit \$((7 * (PMIX_RANK == 2)))' || true"
check "a rank's exit counts, whatever the command's is" eval '[ $code -eq 1 ] && says swallowed "failed: worker 0, rank 2 ended with exit code 7: .*each rank.s exit counts"'
exit $((failures > 0))
