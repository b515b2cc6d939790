#!/usr/bin/env bash
# Texts to vectors at length, with the network of examples/embeddings: 150,000 texts, 2,000,000 in a soak, while workers are killed.
# Each text has its vector, once and in order, and no worker takes 1 GB.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
texts=${TEXTS:-$([ -z "${SOAK_ROUNDS:-}" ] && echo 150000 || echo 2000000)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/texts"
cp -r examples/embeddings/data/model "$work/data/model"
# Text i is text i of the example, modulo their number, so its vector is that of the first text alike.
python3 - examples/embeddings/data/texts/packages.csv "$work/data/texts/a.csv" "$texts" <<'P'
import csv, sys
rows = [row["text"] for row in csv.DictReader(open(sys.argv[1], newline=""))]
with open(sys.argv[2], "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["id", "text"])
    out.writerows([i, rows[i % len(rows)]] for i in range(int(sys.argv[3])))
P
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: many-texts}
spec:
  input: {table: {path: data/texts}}
  scorer:
    onnx:
      path: data/model/model.onnx
      tokenizer: {path: data/model/tokenizer.json, columns: [text]}
      postprocess: {type: Embedding, normalize: true}
  output: {path: data/out, format: Npy, key: [id]}
  miniBatchSize: 16KB
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
"$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null &
run=$!
declare -A seen=()
peak=0
while kill -0 $run 2>/dev/null; do
    for pid in $(pgrep -P $run -f ' score'); do
        now=$(awk '/VmHWM/ {print $2}' "/proc/$pid/status" 2>/dev/null)
        [ "${now:-0}" -le $peak ] || peak=$now
        [ -z "${seen[$pid]:-}" ] || continue
        seen[$pid]=1
        # The system kills it after these seconds of computing, whenever this loop looks: the first two soon, later ones rarely.
        # What it had in hand is scored again.
        [ ${#seen[@]} -le 2 ] && seconds=1 || seconds=60
        prlimit --pid "$pid" --cpu=$seconds:$seconds 2>/dev/null
    done
    sleep 0.1
done
wait $run
code=$?
check "$texts texts" [ $code = 0 ]
[ $code = 0 ] || tail -n 5 "$work/log" | sed 's/^/# /'
killed=$((${#seen[@]} - 2)) # for each another one has begun
echo "# $killed workers were killed; the largest worker had $peak KiB"
check "a worker was killed meanwhile" [ $killed -ge 1 ]
check "no worker takes 1 GB" [ "$peak" -lt 1000000 ]
check "each text has its vector, once and in order" python3 - "$work/data/out" "$texts" <<'P'
import csv, sys
folder, wanted, size, period = sys.argv[1], int(sys.argv[2]), 4 * 48, 2500
with open(f"{folder}/rows.keys.csv", newline="") as file:
    seen = 0
    for row in csv.DictReader(file):
        assert int(row["id"]) == seen, (row, seen)
        seen += 1
assert seen == wanted, seen
with open(f"{folder}/rows.npy", "rb") as file:
    file.read(128)
    first = [file.read(size) for _ in range(min(wanted, period))]
    assert len(set(first)) > 2000
    for i in range(period, wanted):
        assert file.read(size) == first[i % period], i
    assert file.read(1) == b""
P
exit $((failures > 0))
