#!/usr/bin/env bash
# Runs every fuzzer, FUZZ_JOBS (one a processor) at a time, from its seeds: for FUZZ_SECONDS if it is set; otherwise the
# parsers of foreign data (manifest, onnx, message) for 60 s and the others for 10 s; FUZZ_SHORT: a tenth of that (make
# test). Findings are kept in build/fuzz/findings/. FUZZ_ONLY="manifest onnx" picks some. One ok / not ok line each.
set -u
cd "$(dirname "$0")/.." || exit 3
mkdir -p build/fuzz/findings
one() {
    name=$1 program=build/fuzz/fuzz_$1 seconds=${FUZZ_SECONDS:-10}
    case $name in manifest | onnx | message) seconds=${FUZZ_SECONDS:-60} ;; esac
    [ -z "${FUZZ_SHORT:-}" ] || seconds=$((seconds / 10))
    mkdir -p "build/fuzz/corpus/$name"
    seeds=tests/fuzz/corpus/$name
    [ -d "$seeds" ] || seeds=
    # shellcheck disable=SC2086
    if timeout $((seconds + 600)) "$program" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=3000 \
        -malloc_limit_mb=2000 -artifact_prefix="build/fuzz/findings/$name-" "build/fuzz/corpus/$name" $seeds \
        >"build/fuzz/$name.log" 2>&1; then
        echo "ok fuzz $name ${seconds}s ($(grep -oE 'Done [0-9]+ runs' "build/fuzz/$name.log" | tail -1))"
    else
        grep -E 'ERROR|SUMMARY|runtime error|Test unit written' "build/fuzz/$name.log" | head -8 | sed 's/^/# /'
        echo "not ok fuzz $name (build/fuzz/$name.log)"
    fi
}
export -f one
names=${FUZZ_ONLY:-$(for source in tests/fuzz/fuzz_*.c tests/fuzz/data/fuzz_*.c; do basename "$source" .c | sed 's/^fuzz_//'; done)}
printf '%s\n' $names | xargs -P "${FUZZ_JOBS:-$(nproc)}" -I{} bash -c 'one {}' >build/fuzz/results.txt
cat build/fuzz/results.txt
! grep -q '^not ok' build/fuzz/results.txt
