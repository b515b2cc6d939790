#!/usr/bin/env bash
# vectors.sh [ROWS] [FORMAT]: a job whose program gives 384 floats a row (2,000,000 rows as Parquet by default): prints
# processor seconds and the largest resident memory of its coordinator, and what joining alone took of them.
set -u
cd "$(dirname "$0")/../../.." || exit 3
rows=${1:-2000000} format=${2:-Parquet}
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/in" "$work/code"
seq 0 $((rows - 1)) | sed 's/.*/t&,some words &/' | sed '1i id,text' >"$work/data/in/texts.csv"
cat >"$work/code/score.py" <<'P'
import json, random, struct, sys
random.seed(7)
nearest = lambda value: struct.unpack("f", struct.pack("f", value))[0]
rest = [",".join("%.9g" % nearest(random.gauss(0, 0.05)) for _ in range(383)) + "]}" for _ in range(64)]
for line in sys.stdin:
    message = json.loads(line)
    if "init" in message:
        print('{"ready":true}', flush=True)
        continue
    numbers = [int(item["id"][1:]) for item in message["items"]]
    found = ",".join('{"embedding":[%.9g,%s' % (nearest(n / 1e6 + 0.5), rest[n % 64]) for n in numbers)
    sys.stdout.write('{"id":%d,"results":[%s]}\n' % (message["id"], found))
    sys.stdout.flush()
P
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: vectors}
spec:
  input: {table: {path: data/in, header: true}}
  scorer: {command: {command: [python3, \$(code)/score.py]}}
  output: {path: data/out, format: $format, columns: [text]}
  miniBatchSize: 64KB
  workers: {min: 1, max: 1}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
"$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null &
run=$!
while kill -0 $run 2>/dev/null; do
    for pid in $(pgrep -P $run -f coordinate); do
        now=$(awk '{print ($14 + $15) / 100}' "/proc/$pid/stat" 2>/dev/null)
        grep -q Joining "$work/log" || before=$now
        used=${now:-${used:-}}
        peak=$(awk '/VmHWM/ {print $2}' "/proc/$pid/status" 2>/dev/null || echo "${peak:-}")
    done
    sleep 0.2
done
wait $run || { tail -3 "$work/log"; exit 1; }
ls -l "$work/data/out/"rows.*
echo "coordinator: $used s of processor, ${before:-0} s of them before joining; largest ${peak:-?} KiB"
