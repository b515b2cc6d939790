#!/usr/bin/env bash
# `make test` runs this beside the end-to-end scripts, in the processor time they leave: a sixteenth of the unit tests
# under ASan and UBSan, and at the same time a sixteenth of the fuzzers and an eighth of the tests under TSan: which
# follows from the commit (tests/sample.sh). All of them run in `make sanitize`, `make fuzz` and `make soak`.
set -u
cd "$(dirname "$0")/.." || exit 3
export SANITIZE_PART=16
mkdir -p build
bad=0
FUZZ_ONLY=$(printf '%s\n' tests/fuzz/fuzz_*.c tests/fuzz/data/fuzz_*.c | sed 's|.*/fuzz_||; s|\.c$||' |
    tests/sample.sh $SANITIZE_PART)
export FUZZ_ONLY=${FUZZ_ONLY//$'\n'/ }
fuzzers() {
    if ! make -j"$(nproc)" --no-print-directory fuzzers-build >build/fuzz-build.log 2>&1; then
        tail -20 build/fuzz-build.log
        echo "not ok the fuzzers are built"
        return 1
    fi
    FUZZ_SHORT=yes bash tests/fuzz.sh
}
{
    fuzzers || bad=1
    tests/sanitize.sh thread || bad=1
    exit $bad
} >build/beside.log 2>&1 &
tests/sanitize.sh address || bad=1
wait $! || bad=1
cat build/beside.log
exit $bad
