#!/usr/bin/env bash
# make soak: the full counts of every proof; appends seed, commit and result to docs/soak.md.
#   SOAK_FUZZ_SECONDS (600), SOAK_SEED (random): the property tests read SOAK_SEED and SOAK_ROUNDS.
#   SOAK_PARTS="tests fuzz": the tests, or the fuzzers, alone; FUZZ_ONLY="onnx message": only these fuzzers; FUZZ_JOBS:
#   that many at a time. SOAK_SKIP="test_commit": proofs that are left out. The record says which.
set -u
cd "$(dirname "$0")/.." || exit 3
export SOAK_SEED=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))} SOAK_ROUNDS=${SOAK_ROUNDS:-2000}
export FUZZ_SECONDS=${SOAK_FUZZ_SECONDS:-600}
log=build/soak.log
commit=$(git rev-parse --short HEAD)$(git diff --quiet HEAD -- || echo ' (with uncommitted changes)')
mkdir -p build
start=$SECONDS
: "${SOAK_PARTS:=tests fuzz}"
proofs=()
[[ $SOAK_PARTS != *tests* ]] || mapfile -t proofs < <(find build/tests/unit build/tests/conformance/test_commit_race build/tests/conformance/test_gradient -name 'test_*' -type f -perm -u+x | sort)
[[ $SOAK_PARTS != *tests* ]] || proofs+=(tests/e2e/*/test_*.sh)
[[ $SOAK_PARTS != *fuzz* ]] || proofs+=(tests/fuzz/run.sh)
for name in ${SOAK_SKIP:-}; do
    for at in "${!proofs[@]}"; do
        [ "$(basename "${proofs[at]}" .sh)" != "$name" ] || unset "proofs[at]"
    done
done
rm -f build/fuzz/results.txt
TEST_TIMEOUT=$((FUZZ_SECONDS * 8 + 21600)) tests/run.sh "${proofs[@]}" | tee "$log"
code=${PIPESTATUS[0]}
{
    echo
    echo "## $(date -u +%Y-%m-%dT%H:%MZ), commit $commit"
    echo
    echo "\`make soak\`: SOAK_PARTS=\"$SOAK_PARTS\" ${SOAK_SKIP:+SOAK_SKIP=\"$SOAK_SKIP\" }${FUZZ_ONLY:+FUZZ_ONLY=\"$FUZZ_ONLY\" }${FUZZ_JOBS:+FUZZ_JOBS=$FUZZ_JOBS }SOAK_SEED=$SOAK_SEED SOAK_ROUNDS=$SOAK_ROUNDS SOAK_FUZZ_SECONDS=$FUZZ_SECONDS, $((SECONDS - start)) s on $(nproc) cores; **$(tail -1 "$log")**"
    echo
    [ ! -e build/fuzz/results.txt ] || sed 's/^ok fuzz/- fuzz/; s/^not ok/- FAILED/' build/fuzz/results.txt
    sed -n 's/^not ok/- FAILED/p' "$log"
} >>docs/soak.md
exit "$code"
