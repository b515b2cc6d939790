#!/usr/bin/env bash
# Texts into networks, in whole jobs by `windlass run`: columns of CSV and JSON Lines, pairs, and files, with padding
# that a mask hides and without one; each row is what the network makes of that text alone. Bad texts are failed items.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/engine/onnx_job.sh
mkdir -p "$work/data/rows" "$work/data/pairs" "$work/data/texts" "$work/data/bad" "$work/data/long"
python3 tests/data/models/make_texts.py "$work/model"
python3 - "$work/data" <<'P'
import csv, json, random, sys
random.seed(7)
words = ["the", "cat", "sat", "dog", "ran", "Zebra", "quick", ".", "über", "x"]
texts = [" ".join(random.choices(words, k=random.randint(0, 60))) for _ in range(900)]
with open(f"{sys.argv[1]}/rows/a.csv", "w", newline="") as file:
    csv.writer(file).writerows([["id", "text"]] + [[i, text] for i, text in enumerate(texts)])
with open(f"{sys.argv[1]}/pairs/a.jsonl", "w") as file:
    file.writelines(json.dumps({"query": a[:80], "passage": b}) + "\n" for a, b in zip(texts[:300], texts[300:600]))
for i in range(20):
    open(f"{sys.argv[1]}/texts/t{i:02}.txt", "w").write(texts[600 + i])
with open(f"{sys.argv[1]}/bad/a.jsonl", "w") as file:
    file.write('{"text": "the cat"}\n{"text": 7}\n{"other": "x"}\n{"text": "' + "a" * (17 << 20) + '"}\n{"text": "sat"}\n')
    file.write('{"text": "' + "a" * (100 << 20) + '"}\n{"text": "ran"}\n')
open(f"{sys.argv[1]}/long/a.txt", "w").write("the cat")
open(f"{sys.argv[1]}/long/b.txt", "w").write("a " * (50 << 20))
P
fields='  errorThreshold: -1'
job() { # INPUT MODEL TOKENIZER-FIELDS [FIELDS-OF-ONNX]
    onnx_job "$1" "path: model/$2.onnx, tokenizer: {path: model/${tokenizer:-tokenizer}.json$3}, postprocess: {type: Values}${4:+, $4}" \
        'mode: AppendRow'
}
# Every row is the mean of its tokens' vectors, in order. The tokens are those of `model tokenize`.
means() { # FILE-OF-JSON-TEXTS [--max-length N]
    "$agent" model tokenize "$work/model/tokenizer.json" --json "${@:2}" <"$1" >"$work/tokens" || return 1
    PYTHONPATH=tests/data/models python3 - "$work/data/out/rows.txt" "$work/tokens" <<'P'
import json, sys
from make_texts import vector
side = [0.0] * 4, [1.0, 0.5, 0.25, -1.0]
rows = [json.loads(line)["values"] for line in open(sys.argv[1])]
tokens = [json.loads(line) for line in open(sys.argv[2])]
if len(rows) != len(tokens):
    sys.exit(f"# {len(rows)} rows of {len(tokens)}")
for i, (row, told) in enumerate(zip(rows, tokens)):
    vectors = [[v + s for v, s in zip(vector(t), side[k])] for t, k in zip(told["ids"], told["types"])]
    wanted = [sum(column) / len(vectors) for column in zip(*vectors)]
    if any(abs(a - b) > 1e-5 for a, b in zip(row, wanted)):
        sys.exit(f"# row {i}: {row}, not {wanted}")
P
}
rows='{table: {path: data/rows}}'
python3 -c '
import csv, json, sys
for row in csv.DictReader(open(sys.argv[1], newline="")): print(json.dumps(row["text"]))' "$work/data/rows/a.csv" >"$work/rows.json"
jq -c '[.query, .passage]' "$work/data/pairs/a.jsonl" >"$work/pairs.json"
for file in "$work"/data/texts/*.txt; do jq -Rs . "$file"; done >"$work/texts.json"

job "$rows" mean ', columns: [text]'
check "a column of texts, padded under a mask" means "$work/rows.json"
job "$rows" mean ', columns: [text], maxLength: 9'
check "cut to 9 tokens" means "$work/rows.json" --max-length 9
job "$rows" unmasked ', columns: [text]' 'inputs: [{name: x, tokens: IDs}]'
check "a network without a mask sees no padding" means "$work/rows.json"
job '{table: {path: data/pairs, format: JSONLines}}' mean ', columns: [query, passage]'
check "pairs of texts of JSON Lines" means "$work/pairs.json"
job '{files: {path: data/texts}}' mean ''
check "files of text" means "$work/texts.json"

# The sentences of our own pages, whose lengths are those of a natural text.
mkdir -p "$work/data/natural"
python3 - "$work/data/natural/a.jsonl" docs/*.md docs/*/*.md <<'P'
import json, re, sys
with open(sys.argv[1], "w") as file:
    for path in sorted(sys.argv[2:]):
        for text in re.split(r"(?<=[.!?])\s", open(path, encoding="utf-8").read()):
            if text.strip():
                file.write(json.dumps({"text": text}) + "\n")
P
size=256KB
job '{table: {path: data/natural, format: JSONLines}}' padding ', columns: [text]'
check "sorted by length: less than 8 % is padding" python3 - "$work/data/out/rows.txt" <<'P'
import json, sys
rows = [json.loads(line)["values"] for line in open(sys.argv[1])]
tokens, places = (sum(row[k] for row in rows) for k in (0, 1))
print(f"# {len(rows)} texts, {tokens:.0f} tokens, {100 * (places / tokens - 1):.1f} % more places")
sys.exit(not len(rows) > 3000 or not tokens <= places < 1.08 * tokens)
P
size=

##### what does not fit ##########################################################################
wanted=0
job '{table: {path: data/bad, format: JSONLines}}' mean ', columns: [text]'
failed() { grep -qF -- "$1" "$work/data/out/failed.jsonl"; }
check "the other rows are scored" [ "$(jq -s length "$work/data/out/rows.txt")" = 3 ]
check "a number for a text" failed 'a.jsonl:20: column \"text\": a string is expected'
check "no such column" failed 'it has no column \"text\"'
check "a text of 17 MiB" failed 'column \"text\": the text has 17825792 bytes, at most 16777216 are read'
check "a row with a text of 100 MiB" failed 'a.jsonl:17825868: row of 104857613 bytes, at most 67108864 are scored'
job '{files: {path: data/long}}' mean ''
check "a file of 100 MiB" failed 'b.txt: larger than the limit of 16777216 bytes'
check "the other one is scored" [ "$(jq -r .file "$work/data/out/rows.txt")" = a.txt ]
wanted=2
job "$rows" unmasked ', columns: [text]'
check "an input of an unknown name" says "what feeds the network's input x? By their names only input_ids"
job "$rows" mean ''
check "a table without a column of texts" says "spec.scorer.onnx.tokenizer.columns: names a table's column of texts"
printf '{"model": {"type": "WordPiece", "vocab": [' >"$work/model/cut.json"
tokenizer=cut job "$rows" mean ', columns: [text]'
check "a tokenizer file that is cut" says "spec.scorer.onnx.tokenizer.path: model/cut.json: "
wanted=0
cp "$work/model/tokenizer.json" "$work/model/other.json"
tokenizer=other job "$rows" mean ', columns: [text]'
wanted=2
echo >>"$work/model/other.json"
again=1 tokenizer=other job "$rows" mean ', columns: [text]'
check "run again with another tokenizer under the old name" says "started with a different spec: spec.scorer.onnx.tokenizer.path: the file's SHA-256 was "
exit $((failures > 0))
