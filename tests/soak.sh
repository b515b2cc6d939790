#!/usr/bin/env bash
# make soak: the full counts of every proof. Each proof that passed replaces its row in docs/soak.md, except in a tree with
# changes that are not committed: a row names the commit that it proves.
#   SOAK_FUZZ_SECONDS (600), SOAK_SEED (random), SOAK_ROUNDS (2000): the property tests read the last two.
#   SOAK_PARTS="tests sanitize fuzz": only these parts. SOAK_ONLY="test_link test_table": only these proofs,
#   SOAK_SKIP="test_commit": all except these. FUZZ_ONLY="onnx message": only these fuzzers; FUZZ_JOBS: the number at a
#   time. SOAK_PAGE: a page other than docs/soak.md.
set -u
cd "$(dirname "$0")/.." || exit 3
export SOAK_SEED=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))} SOAK_ROUNDS=${SOAK_ROUNDS:-2000}
export FUZZ_SECONDS=${SOAK_FUZZ_SECONDS:-600}
log=build/soak.log
# (The page itself may have rows of an earlier soak.)
commit=$(git rev-parse --short=8 HEAD) && git diff --quiet HEAD -- . ':!docs/soak.md' || commit=
[ -n "$commit" ] || echo "soak.sh: this tree has changes that are not committed: no row is recorded" >&2
mkdir -p build
: "${SOAK_PARTS:=tests sanitize fuzz}"
proofs=()
if [[ $SOAK_PARTS == *tests* ]]; then
    folders=(build/tests/unit build/tests/conformance/test_{commit_race,device,gradient})
    # The emulated card's (where nvcc is), without a row.
    [ ! -d build/emulated ] || folders+=(build/emulated)
    mapfile -t proofs < <(find "${folders[@]}" -name 'test_*' -type f -perm -u+x | sort)
    proofs+=(tests/e2e/*/test_*.sh)
fi
[[ $SOAK_PARTS != *sanitize* ]] || proofs+=(tests/sanitize.sh)
has() { # word, words...
    local word=$1 one
    shift
    for one in "$@"; do [ "$one" != "$word" ] || return 0; done
    return 1
}
for at in "${!proofs[@]}"; do
    name=$(basename "${proofs[at]}" .sh)
    # shellcheck disable=SC2086
    if has "$name" ${SOAK_SKIP:-} || { [ -n "${SOAK_ONLY:-}" ] && ! has "$name" $SOAK_ONLY; }; then
        unset "proofs[at]"
    fi
done
fuzz=()
if [[ $SOAK_PARTS == *fuzz* ]]; then
    proofs+=(tests/fuzz.sh)
    fuzz=(--fuzz build/fuzz/results.txt)
    rm -f build/fuzz/results.txt
fi
TEST_TIMEOUT=$((FUZZ_SECONDS * 8 + 21600)) tests/run.sh "${proofs[@]}" | tee "$log"
code=${PIPESTATUS[0]}
[ -n "$commit" ] || exit "$code"

# Proofs that draw: their sources read the seed or the rounds, directly or through a header of tests/.
for proof in "${proofs[@]}"; do
    source=$proof
    [[ $proof == *.sh ]] || source=${proof#build/}.c
    ! grep -qE 'SOAK_(SEED|ROUNDS)|test_(seed|rounds)|seed\.h|draws\.h|made_up\.h|tables\.h|broken_store\.h|_world\.h|once\.sh' \
        "$source" 2>/dev/null || echo "${proof#build/}"
done >build/soak.draws
command="SOAK_SEED=$SOAK_SEED SOAK_ROUNDS=$SOAK_ROUNDS"
[[ $SOAK_PARTS != *fuzz* ]] || command+=" SOAK_FUZZ_SECONDS=$FUZZ_SECONDS${FUZZ_JOBS:+ FUZZ_JOBS=$FUZZ_JOBS}"
python3 tests/soak_record.py "${SOAK_PAGE:-docs/soak.md}" --log "$log" "${fuzz[@]}" --draws build/soak.draws \
    --seed "$SOAK_SEED" --rounds "$SOAK_ROUNDS" --date "$(date -u +%Y-%m-%dT%H:%MZ)" --commit "$commit" \
    --command "$command make soak" || code=1
exit "$code"
