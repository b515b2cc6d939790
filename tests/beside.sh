#!/usr/bin/env bash
# What `make test` does beside the end-to-end scripts, with the processor time they leave: the unit tests under
# sanitizers, and the fuzzers.
set -u
cd "$(dirname "$0")/.." || exit 3
bad=0
tests/sanitize.sh || bad=1
if ! make -j"$(nproc)" --no-print-directory fuzzers-build >build/fuzz-build.log 2>&1; then
    tail -20 build/fuzz-build.log
    echo "not ok the fuzzers are built"
    exit 1
fi
bash tests/fuzz/run.sh || bad=1
exit $bad
