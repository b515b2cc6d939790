#!/usr/bin/env bash
# Files that others wrote to a job's volume, by `windlass run` as it is: each job ends by itself, with the right exit code and
# a message that names the file or its row, and no process of it takes more than 2.5 GiB (hostile_files.py has the files).
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
for program in windlass windlass-agent; do
    built "${BUILD:-build}/$program" || { echo "not ok ${0##*/}: cannot be built"; exit 1; }
done
begin_here
mkdir -p "$work/data"
python3 tests/e2e/security/hostile_files.py make "$work/data" >"$work/jobs" || { echo "not ok the files are made"; exit 1; }
mv "$work/data/model" "$work/model"

job() { # INPUT SCORER CODE PATTERN
    local code seconds=600
    [ "$name" != "a network that does not end" ] || seconds=5
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: hostile}
spec:
  input: $1
  scorer: ${2//@DATA@/$work/data}
  output: {path: out/rows, mode: AppendRow}
  retry: {maxTries: 1, timeoutSeconds: $seconds}
  workers: {min: 1, max: 1}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}, {name: model, persistentVolumeClaim: {claimName: model}}, {name: out, persistentVolumeClaim: {claimName: out}}]
M
    discard "$work/out" "$work/state"
    mkdir "$work/out"
    timeout -k 5 ${LIMIT:-300} python3 tests/e2e/security/hostile_files.py run 2560 "$build/windlass" run -f "$work/job.yaml" --state "$work/state" \
        --volume data="$work/data" --volume model="$work/model" --volume out="$work/out" >"$work/said" 2>&1 </dev/null
    code=$?
    [ -z "${SHOW:-}" ] || grep -h "^# [0-9]* MiB" "$work/said"
    [ $code = "$3" ] && cat "$work/said" "$work/out/rows/failed.jsonl" 2>/dev/null | grep -qE -- "$4" && return 0
    echo "# exit code $code, wanted $3; wanted: $4"
    cat "$work/said" "$work/out/rows/failed.jsonl" 2>/dev/null | cut -c1-400 | sed 's/^/# /'
    return 1
}
while IFS=$'\t' read -r name input scorer code pattern; do
    if [ -n "${ONLY:-}" ]; then [[ $name == *$ONLY* ]]; else sampled 4; fi || continue
    check "$name" job "$input" "$scorer" "$code" "$pattern"
done <"$work/jobs"
# What is printed of a network, and a manifest for it: its names stay in their line and quotes.
named() {
    python3 tests/e2e/security/hostile_files.py named "$work/named.onnx" && "$build/windlass-agent" model check "$work/named.onnx" >"$work/said" &&
        [ "$(grep -cF '{name: "k\", constant: [9]} ' "$work/said")" = 1 ] && ! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae' "$work/said" && return 0
    sed 's/^/# /' "$work/said" | cat -v
    return 1
}
check "names of a network stay in their quotes" named
exit $((failures > 0))
