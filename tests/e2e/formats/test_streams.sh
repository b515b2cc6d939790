#!/usr/bin/env bash
# Answers of scorer.command in many pieces, with `import windlass` of what comes with Windlass: arrays of float32 bit for
# bit, members, a mini-batch whose results are larger than a line may be, items that fail, a program that dies within an
# array. STREAM_ROWS (3000).
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
rows=${STREAM_ROWS:-3000}
python=/usr/bin/python3 # Debian's, which has NumPy
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/code" "$work/data/in" "$work/data/few" "$work/data/marks"
cp tests/e2e/formats/streams.py "$work/code/"
(echo n && seq 0 $((rows - 1))) >"$work/data/in/a.csv"
(echo n && seq 1 9 && seq 1 9 && seq 1 9) >"$work/data/few/a.csv"

# job WHAT INPUT SIZE OUTPUT
job() {
    discard "$work/data/out" "$work/state"
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: streams}
spec:
  input: {table: {path: data/$2, header: true}}
  scorer: {command: {command: [$python, \$(code)/streams.py, $1, \$(data)/marks], environment: {PYTHONDONTWRITEBYTECODE: "1"}}}
  output: {path: data/out, $4}
  miniBatchSize: $3
  errorThreshold: -1
  retry: {maxTries: 2, timeoutSeconds: 120}
  workers: {min: 2, max: 2}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
    [ $code -eq 0 ] || tail -n 5 "$work/log" | sed 's/^/# /'
}
same() { [ "$($python tests/e2e/formats/streams.py wanted "$work/data/out/rows.npy" "$rows")" = "uint32 ($rows, 96) True True True" ]; }

job arrays in 5KB 'format: Npy'
check "arrays: every float, bit for bit" same
job members in 5KB 'format: JSONLines'
check "members: a row has one of each array" [ "$(jq -c '[.double, .third, .odd]' "$work/data/out/rows.jsonl" | sed -n 2,3p | xargs)" = "[2,0.333333343,true] [4,0.666666687,false]" ]
check "... and all rows are there" [ "$(jq -s 'map(.double) == [range(0; length) | . * 2] and length' "$work/data/out/rows.jsonl")" = true ]
job large few 1MB 'mode: AppendRow'
check "a mini-batch's results may be larger than a line: $(stat -c %s "$work/data/out/rows.txt") bytes" [ "$(stat -c %s "$work/data/out/rows.txt")" = $((27 * 4000001)) ]
check "... each of them whole" [ "$(tr -s 1-9 <"$work/data/out/rows.txt" | xargs)" = "1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9" ]
job some few 1MB 'mode: AppendRow'
check "an exception as a result fails its item alone" [ "$(jq -r .n "$work/data/out/rows.txt" | xargs) $(jq -r .cause "$work/data/out/failed.jsonl" | sort -u)" = "1 2 3 4 5 6 8 9 1 2 3 4 5 6 8 9 1 2 3 4 5 6 8 9 ValueError: seven" ]
job dies in 1MB 'format: Npy'
check "a program that dies within an array: the next try has all rows" same
check "... and one try is counted" [ "$code $(jq .miniBatches.retried "$work/data/out/summary.json")" = "0 1" ]
exit $((failures > 0))
