#!/usr/bin/env bash
# Rows of a table through a network, by `windlass run`: the unchanged examples/trees, against xgboost's own scores and
# the truth; columns in another order, missing values, words, JSON Lines; a mismatch is refused before any worker
# starts.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r examples/trees "$work/example"
job=$work/example/batchscore.yaml data=$work/example/data
run() { # its exit code is in $code
    discard "$data/scores" "$work/state"
    timeout 300 "$windlass" run -f "$job" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
}
says() { grep -qF -- "$1" "$work/log" || { tail -5 "$work/log" | sed 's/^/# /'; false; }; }
# Every row in order, with xgboost's class, its score to 1e-5, and the same accuracy.
scored() { # [the wanted ROWS, default all]
    python3 - "$data" "${1:-169}" <<'P'
import csv, sys
data, count = sys.argv[1], int(sys.argv[2])
told = list(csv.DictReader(open(data + "/scores/scores.csv", newline="")))
shares = [float(line) for line in open(data + "/xgboost.txt")][:count]
truth = open(data + "/truth.txt").read().split()[:count]
assert len(told) == count, len(told)
for row, share in zip(told, shares):
    assert row["patient"].startswith("P"), row
    assert row["label"] == ("malignant" if share > 0.5 else "benign"), (row, share)
    assert abs(float(row["score"]) - max(share, 1 - share)) < 1e-5, (row, share)
right = sum(row["label"] == label for row, label in zip(told, truth))
assert right > 0.93 * count, right
P
}
run
check "examples/trees runs as it is written" [ $code -eq 0 ]
check "it says what xgboost says, of every row in order" scored

# The table's columns in another order, with one more; the same as JSON Lines.
python3 - "$data" <<'P'
import csv, glob, sys
for name in glob.glob(sys.argv[1] + "/rows/*.csv"):
    rows = list(csv.reader(open(name)))
    with open(name, "w", newline="") as file:
        csv.writer(file).writerows([row[:0:-1] + ['of "no" use, here', row[0]] if k else row[:0:-1] + ["more", row[0]] for k, row in enumerate(rows)])
P
run
check "columns are found by their names" [ $code -eq 0 ]
check "and give the same scores" scored
python3 - "$data" <<'P'
import csv, glob, json, os, sys
for name in sorted(glob.glob(sys.argv[1] + "/rows/*.csv")):
    with open(name[:-4] + ".jsonl", "w") as file:
        for row in csv.DictReader(open(name)):
            file.write(json.dumps({k: float(v) if k not in ("more", "patient") else v for k, v in row.items()}) + "\n")
    os.remove(name)
P
sed -i 's/pattern: "\*.csv"/pattern: "*.jsonl"\n      format: JSONLines/' "$job"
run
check "rows of JSON Lines with numbers do as well" [ $code -eq 0 ]
check "with the same scores" scored

# A word, a row without a column, a missing value (as null, and as nothing).
sed -i '5s/"mean_area": [0-9.]*/"mean_area": "large"/; 6s/"mean_area": [0-9.]*, //; 7s/"worst_area": [0-9.]*/"worst_area": null/; 8s/"worst_area": [0-9.]*/"worst_area": " "/' "$data/rows/clinic-1.jsonl"
run
check "a word in a column ends the job" [ $code -eq 1 ]
check "and is named" says 'column "mean_area" is "large", a number is expected'
sed -i 's/^  miniBatchSize/  errorThreshold: 2\n  miniBatchSize/' "$job"
run
check "two rows may fail" [ $code -eq 0 ]
failed() {
    [ "$(wc -l <"$data/scores/scores.csv")" -eq 168 ] && [ "$(wc -l <"$data/scores/failed.jsonl")" -eq 2 ] &&
        grep -q 'it has no column \\"mean_area\\"' "$data/scores/failed.jsonl"
}
check "and these two alone, each with its cause; missing values are none" failed

##### what is refused before anything is scored ###################################################
sed -i 's/- worst_fractal_dimension/- worst_fractal/' "$job"
run
check "a column that the table lacks is refused" [ $code -eq 2 ]
check "by name, and by the row" says 'it has no column "worst_fractal"'
# Coordinator (2) and workers (then 1) find the same fault in the model; the first to report it ends the job.
refused() { [ $code -eq 2 ] || [ $code -eq 1 ]; }
sed -i '/- worst_fractal/d' "$job"
run
check "fewer columns than the network has are refused" refused
check "with both numbers" says 'names 29 columns, the network'"'"'s input rows is ?x30'
exit $((failures > 0))
