#!/usr/bin/env bash
# `make test` runs this beside the end-to-end scripts, in the processor time they leave: the unit tests under
# ASan and UBSan, and at the same time the fuzzers and the tests under TSan.
set -u
cd "$(dirname "$0")/.." || exit 3
mkdir -p build
bad=0
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
