#!/usr/bin/env bash
# examples/embeddings as it is written: every text has a vector of length 1, beside its key, and near.py finds games beside games.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r examples/embeddings "$work/example"
rm -rf "$work/example/data/vectors"
(cd "$work" && timeout 300 "$windlass" run -f example/batchscore.yaml --state "$work/state" >"$work/log" 2>&1 </dev/null)
code=$?
check "examples/embeddings runs as written" [ $code -eq 0 ]
[ $code -eq 0 ] || tail -n 5 "$work/log" | sed 's/^/# /'
# The vectors are those of the network's table, computed here: the mean of the rows of the words that it knows and does not.
check "each vector is the mean of its words" python3 - "$work/example/data" <<'P'
import array, csv, json, math, re, sys
folder, size = sys.argv[1], 48
words = json.load(open(f"{folder}/model/tokenizer.json"))["model"]["vocab"]
data = open(f"{folder}/model/model.onnx", "rb").read()
at = data.index(b"\x42\x05words\x4a") + 8  # the tensor's name, its data and their length
while data[at] > 127:
    at += 1
table = array.array("f", data[at + 1:at + 1 + 4 * size * len(words)])
seen = array.array("f", open(f"{folder}/vectors/vectors.npy", "rb").read()[128:])
texts = list(csv.DictReader(open(f"{folder}/texts/packages.csv", newline="")))
keys = list(csv.DictReader(open(f"{folder}/vectors/vectors.keys.csv", newline="")))
assert keys == texts and len(seen) == size * len(texts) == size * 2500, (len(keys), len(seen))
for i, text in enumerate(texts):
    sums = [0.0] * size
    for word in re.findall(r"\w+|[^\w\s]+", text["text"].lower()):
        row = words.get(word, 1)
        sums = [a + b for a, b in zip(sums, table[row * size:(row + 1) * size])]
    length = math.hypot(*sums)
    assert all(abs(a / length - b) < 1e-4 for a, b in zip(sums, seen[i * size:(i + 1) * size])), text
P
near() { python3 "$work/example/near.py" fillets-ng | tail -n +2 | grep -c game; }
check "games are near a game" [ "$(near)" = 3 ]
exit $((failures > 0))
