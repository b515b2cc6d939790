#!/usr/bin/env bash
# What `make test` does beside the end-to-end scripts, with the processor time they leave: builds what the
# sanitizers' tests and the fuzzers want, and runs the fuzzers.
set -u
cd "$(dirname "$0")/.." || exit 3
tests/sanitize.sh build # what does not build is told when its tests run
if ! make -j"$(nproc)" --no-print-directory fuzzers-build >build/fuzz-build.log 2>&1; then
    tail -20 build/fuzz-build.log
    echo "not ok the fuzzers are built"
    exit 1
fi
exec bash tests/fuzz/run.sh
