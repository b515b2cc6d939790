#!/usr/bin/env bash
# texts.sh [TEXTS] [TURNS] [THREADS]: texts to vectors by a network of MiniLM's size with random weights: `windlass run` with
# THREADS (1) workers of one thread, and onnxruntime-node with Hugging Face's tokenizers in one process (texts.cjs), in turns, both on
# the first THREADS processors. Prints the texts for a second of processor time of each, and those for a second by the clock, all
# processes and the start included, and how far the vectors are apart. The goal: 1.5 times.
set -eu
cd "$(dirname "$0")/../../.."
texts=${1:-2500} turns=${2:-3} threads=${3:-1}
windlass=$(realpath "${BUILD:-build}/windlass")
runtime=$(tests/onnxruntime.sh) packages=$(tests/npm.sh tokenizers 0.23.2)
on=(taskset -c "0-$((threads - 1))") # a worker has the processors of `windlass run`, divided by the workers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/texts" "$work/data/model"
python3 tests/bench/tables/make_encoder.py "$work/data/model/model.onnx" 3000
cp examples/embeddings/data/model/tokenizer.json "$work/data/model/"
# Sentences of one to five descriptions, so that lengths differ as in prose.
python3 - examples/embeddings/data/texts/packages.csv "$work" "$texts" <<'P'
import csv, json, random, sys
rows = [row["text"] for row in csv.DictReader(open(sys.argv[1], newline=""))]
draw = random.Random(7)
texts = [". ".join(draw.choices(rows, k=draw.choice([1, 1, 1, 2, 2, 3, 5]))) for _ in range(int(sys.argv[3]))]
json.dump(texts, open(f"{sys.argv[2]}/texts.json", "w"))
with open(f"{sys.argv[2]}/data/texts/a.csv", "w", newline="") as file:
    csv.writer(file).writerows([["text"]] + [[text] for text in texts])
P
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: texts}
spec:
  input: {table: {path: data/texts}}
  scorer:
    onnx:
      path: data/model/model.onnx
      tokenizer: {path: data/model/tokenizer.json, columns: [text]}
      postprocess: {type: Embedding, normalize: true}
  output: {path: data/out, format: Npy}
  workers: {min: $threads, max: $threads}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
seconds() { # COMMAND...: its processor time, with its children's, and its time by the clock
    local TIMEFORMAT='%U %S %R'
    { time "$@" >"$work/log" 2>&1 </dev/null; } 2>&1 | awk '{print $1 + $2, $3}'
}
ours() { rm -rf "$work/data/out" "$work/state" && "${on[@]}" "$windlass" run -f "$work/job.yaml" --state "$work/state"; }
theirs() { "${on[@]}" node tests/bench/tables/texts.cjs "$runtime" "$packages" "$work/data/model/model.onnx" "$work/data/model/tokenizer.json" \
    "$work/texts.json" "$work/theirs.f32" "$1" "$threads"; }
for ((turn = 0; turn < turns; turn++)); do
    a=$(seconds ours) b=$(seconds theirs 0) c=$(seconds theirs 1)
    for field in 1 2; do
        awk -v n="$texts" -v a="$a" -v b="$b" -v c="$c" -v f=$field 'function at(t, part) {split(t, part, " "); return part[f]}
            BEGIN {printf "%s: windlass %.1f texts/s, onnxruntime %.1f, sorted by length %.1f; %.2f and %.2f times\n",
            f == 1 ? "processor" : "clock", n / at(a), n / at(b), n / at(c), at(b) / at(a), at(c) / at(a)}'
    done
done
python3 - "$work/data/out/rows.npy" "$work/theirs.f32" <<'P'
import array, sys
a, b = array.array("f", open(sys.argv[1], "rb").read()[128:]), array.array("f", open(sys.argv[2], "rb").read())
assert len(a) == len(b) > 0, (len(a), len(b))
print(f"largest difference {max(abs(x - y) for x, y in zip(a, b)):.1e}")
P
