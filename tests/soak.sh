#!/usr/bin/env bash
# make soak: the full counts of every proof; appends seed, commit and result to docs/soak.md.
#   SOAK_FUZZ_SECONDS (600), SOAK_SEED (random): the property tests read SOAK_SEED and SOAK_ROUNDS.
#   FUZZ_ONLY="onnx message": only these fuzzers (the record says so).
set -u
cd "$(dirname "$0")/.." || exit 3
export SOAK_SEED=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))} SOAK_ROUNDS=${SOAK_ROUNDS:-2000}
export FUZZ_SECONDS=${SOAK_FUZZ_SECONDS:-600}
log=build/soak.log
commit=$(git rev-parse --short HEAD)$(git diff --quiet HEAD -- || echo ' (with uncommitted changes)')
mkdir -p build
start=$SECONDS
TEST_TIMEOUT=$((FUZZ_SECONDS * 8 + 1800)) tests/run.sh $(find build/tests/unit -name 'test_*' -type f -perm -u+x | sort) \
    tests/e2e/test_*.sh tests/fuzz/run.sh | tee "$log"
code=${PIPESTATUS[0]}
{
    echo
    echo "## $(date -u +%Y-%m-%dT%H:%MZ), commit $commit"
    echo
    echo "\`make soak\`: ${FUZZ_ONLY:+FUZZ_ONLY=\"$FUZZ_ONLY\" }SOAK_SEED=$SOAK_SEED SOAK_ROUNDS=$SOAK_ROUNDS SOAK_FUZZ_SECONDS=$FUZZ_SECONDS, $((SECONDS - start)) s on $(nproc) cores; **$(tail -1 "$log")**"
    echo
    sed 's/^ok fuzz/- fuzz/; s/^not ok/- FAILED/' build/fuzz/results.txt
} >>docs/soak.md
exit "$code"
