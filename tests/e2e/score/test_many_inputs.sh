#!/usr/bin/env bash
# Inputs too large to hold in memory: many tiny files in one folder, and one large CSV, through `windlass run` and a
# program that answers immediately. The first result is committed within 5 s, the coordinator stays below 64 MiB of
# memory (VmHWM), every file and every row is in the output once, in order.
#   MANY_FILES (50,000; in a soak 1,000,000), MANY_BYTES (100 MB; in a soak 5 GB), 0: skips them; MANY_FOLDER (/tmp):
#   where they are made and removed.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
if [ -z "${SOAK_ROUNDS:-}" ]; then sizes=(50000 100000000) within=30000; else sizes=(1000000 5000000000) within=5000; fi
files=${MANY_FILES:-${sizes[0]}} bytes=${MANY_BYTES:-${sizes[1]}}
work=$(mktemp -d -p "${MANY_FOLDER:-/tmp}")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/code" "$work/data/in"
cp tests/e2e/score/rows.py "$work/code/"

# job INPUT MODE SIZE: runs a job; its exit code is in $code, milliseconds to the first committed result in $first and
# to the end in $took, the coordinator's most memory in $peak (KiB).
job() {
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: many}
spec:
  input: $1
  scorer: {command: {command: [python3, \$(code)/rows.py, $2]}}
  output: {path: data/out, mode: AppendRow}
  miniBatchSize: $3
  workers: {min: 2, max: 2}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    discard "$work/data/out" "$work/state"
    local start coordinator='' value
    start=$(date +%s%N) first=-1 peak=0
    timeout 3000 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null &
    local run=$!
    while kill -0 $run 2>/dev/null; do
        if [ -z "$coordinator" ]; then
            coordinator=$(grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ 2>/dev/null | xargs -r grep -ls WINDLASS_BIND= | head -n 1)
        else
            value=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "${coordinator%environ}status" 2>/dev/null)
            peak=${value:-$peak}
        fi
        nap 0.05
    done
    wait $run
    code=$?
    took=$((($(date +%s%N) - start) / 1000000))
    value=$(find "$work/data/out/.windlass" -path '*/commit/*' | sort | xargs -r grep -ls '^\["d"' 2>/dev/null | head -n 1)
    [ -z "$value" ] || first=$((($(date -r "$value" +%s%N) - start) / 1000000)) # when it was written
    [ $code -eq 0 ] || { tail -n 5 "$work/log"; tail -qn 5 "$work"/state/*.log; } | sed 's/^/# /'
}
judge() { # what
    echo "# $1: first result after $first ms, all after $took ms, coordinator $peak KiB"
    check "$1: the first result within $((within / 1000)) s ($first ms)" [ "$first" -ge 0 -a "$first" -le $within ]
    check "$1: the coordinator stays below 64 MiB ($peak KiB)" [ "$peak" -gt 0 -a "$peak" -lt 65536 ]
}

##### files ######################################################################################
many_files() {
    python3 - "$work/data/in" "$files" <<'P'
import os, sys
folder, count = os.open(sys.argv[1], os.O_RDONLY), int(sys.argv[2])
for i in range(count):
    file = os.open(f"f{i:07d}", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=folder)
    os.write(file, b"%d" % i)
    os.close(file)
P
    job '{files: {path: data/in}}' name 100
    judge "$files files"
    check "$files files: each once, in order" cmp <(seq -f 'f%07.0f' 0 $((files - 1))) "$work/data/out/rows.txt"
    check "and it has succeeded ($((files * 1000 / (took + 1))) files/s)" [ $code -eq 0 ]
}
[ "$files" -eq 0 ] || many_files

##### a table ####################################################################################
many_rows() {
    rows=$((bytes / 500))
    python3 - "$work/data/rows.csv" "$rows" <<'P'
import sys
path, count = sys.argv[1], int(sys.argv[2])
with open(path, "w", newline="") as file:
    file.write("number,text,more\n")
    for first in range(0, count, 10000):
        last = min(first + 10000, count)
        file.write("".join(f'{i},"a ""quoted"" text, of\nlines",{"x" * 462}\n' for i in range(first, last)))
P
    echo "# $(stat -c %s "$work/data/rows.csv") bytes"
    job '{table: {path: data/rows.csv}}' number 4MB
    judge "$bytes bytes of CSV"
    check "$rows rows: each once, in order" cmp <(seq 0 $((rows - 1))) "$work/data/out/rows.txt"
    check "and it has succeeded ($((bytes / 1000 / (took + 1))) MB/s)" [ $code -eq 0 ]
}
[ "$bytes" -eq 0 ] || many_rows
exit $((failures > 0))
