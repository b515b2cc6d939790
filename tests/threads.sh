#!/usr/bin/env bash
# Coordinator and workers in whole jobs under ThreadSanitizer (tests/sanitize.sh): small jobs with a program, two
# workers with two slots, so that connection, runners, publisher, log and commits run at the same time.
# BUILD: the folder of the instrumented windlass-agent. windlass itself has one thread, and is not instrumented.
set -u
cd "$(dirname "$0")/.." || exit 3
. tests/e2e/lib.sh
make -s windlass || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/code" "$work/data/in"
cp build/windlass "${BUILD:?}/windlass-agent" "$work/bin/" # windlass starts the agent beside it
cp tests/e2e/score/hostile.py tests/e2e/score/rows.py "$work/code/"
for i in $(seq 100 399); do head -c "$i" /dev/zero >"$work/data/in/f$i"; done
{ echo number,key && for i in $(seq 3000); do echo "$i,k$((i % 100))"; done; } >"$work/data/table.csv"

# job NAME MODE OUTPUT SIZE: runs a job; its exit code is in $code.
job() {
    mkdir -p "$work/data/marks-$1"
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {${INPUT:-files: {path: data/in\}}}
  scorer:
    command:
      command: [python3, \$(code)/${PROGRAM:-hostile.py}, $2]
      arguments: {marks: "$work/data/marks-$1"}
      processesPerWorker: 2
  output: {path: data/$1, mode: $3}
  ${4:+miniBatchSize: $4}
  retry: {maxTries: 3, timeoutSeconds: 30}
  workers: {min: 2, max: 2}
  coordinator: {resources: {}} # no limit of memory: TSan reserves terabytes
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    timeout 120 "$work/bin/windlass" run -f "$work/$1.yaml" --state "$work/state-$1" >"$work/$1.log" 2>&1 </dev/null
    code=$?
    check "$1: succeeds under TSan" [ $code -eq 0 ]
    check "$1: nothing races" silent "$1"
}
silent() {
    ! grep -h -A 30 'ThreadSanitizer' "$work/state-$1"/*.log "$work/$1.log" | head -60 | sed 's/^/# /' | grep .
}
job rows noise AppendRow auto
check "rows: all" [ "$(wc -l <"$work/data/rows/rows.txt")" -eq 300 ]
INPUT='table: {path: data/table.csv, partitionKeys: [key]}' PROGRAM=rows.py job keys plain AppendRow ''
check "keys: all" [ "$(wc -l <"$work/data/keys/rows.txt")" -eq 3000 ]
job files crash-once PerFile 30
check "files: all" [ "$(find "$work/data/files" -name 'f*.json' | wc -l)" -eq 300 ]
check "logs are kept" grep -qr 'what goes wrong in' "$work/data/rows/.windlass"
exit $((failures > 0))
