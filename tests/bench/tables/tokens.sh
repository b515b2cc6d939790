#!/usr/bin/env bash
# tokens.sh [LINES]: texts to tokens by examples/embeddings' tokenizer, on one thread: `windlass-agent model tokenize`, which reads the
# file and writes the ids as JSON, and Hugging Face's library (tokens.cjs), whose start does not count, in turns, the least of three.
set -euo pipefail
cd "$(dirname "$0")/../../.."
lines=${1:-60000}
agent=${BUILD:-build}/windlass-agent tokenizer=examples/embeddings/data/model/tokenizer.json
packages=$(tests/npm.sh tokenizers 0.23.2)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 - examples/embeddings/data/texts/packages.csv "$work/lines.txt" "$lines" <<'P'
import csv, sys
rows = [row["text"].replace("\n", " ") for row in csv.DictReader(open(sys.argv[1], newline=""))]
open(sys.argv[2], "w").writelines(rows[i % len(rows)] + "\n" for i in range(int(sys.argv[3])))
P
TIMEFORMAT='%U %S'
ours() { { time "$agent" model tokenize "$tokenizer" <"$work/lines.txt" >/dev/null; } 2>&1 | awk '{print $1 + $2}'; }
theirs() { RAYON_NUM_THREADS=1 TOKENIZERS_PARALLELISM=false node tests/bench/tables/tokens.cjs "$packages" "$tokenizer" "$work/lines.txt"; }
a=$(for _ in 1 2 3; do ours; done | sort -n | head -1) b=$(for _ in 1 2 3; do theirs; done | sort -n | head -1)
awk -v n="$lines" -v a="$a" -v b="$b" 'BEGIN {printf "%d texts: windlass %.2f s, Hugging Face %.2f s, %.1f times\n", n, a, b, b / a}'
