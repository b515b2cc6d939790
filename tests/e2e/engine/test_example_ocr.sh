#!/usr/bin/env bash
# examples/ocr as it is written: PaddleOCR's network, if its package can be fetched, reads every line as it was drawn.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r examples/ocr "$work/example"
rm -rf "$work/example/data/read"
"$work/example/fetch.sh" >"$work/log" 2>&1 || { tail -n 2 "$work/log" | sed 's/^/# /'; echo "skip examples/ocr: its network could not be fetched"; exit 0; }
(cd "$work" && timeout 300 "$windlass" run -f example/batchscore.yaml --state "$work/state" >"$work/log" 2>&1 </dev/null)
code=$?
check "examples/ocr runs as written" [ $code -eq 0 ]
[ $code -eq 0 ] || tail -n 5 "$work/log" | sed 's/^/# /'
table() { python3 -c 'import csv, sys; print([(row["file"], row["text"].strip()) for row in csv.DictReader(open(sys.argv[1], newline=""))])' "$1"; }
check "and reads each line" [ "$(table "$work/example/data/read/text.csv")" = "$(table examples/ocr/data/wanted.csv)" ]
check "surely" [ "$(awk -F, 'NR > 1 && $NF < 0.9' "$work/example/data/read/text.csv" | wc -l)" = 0 ]
exit $((failures > 0))
