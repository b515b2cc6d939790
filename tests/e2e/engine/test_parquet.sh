#!/usr/bin/env bash
# input.table with Parquet files in whole jobs, by `windlass run`: files of DuckDB (tests/fuzz/corpus/parquet) through a
# program and through a network, all columns and some, in few mini-batches and many, by keys; a damaged page, a file that
# is none, columns that are missing or differ. And columns by JSON pointers and lists, of JSON Lines.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
files=tests/fuzz/corpus/parquet
rows=$(realpath tests/data/parquet/rows.jsonl)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/code" "$work/data/three/deep" "$work/data/lines"
cp tests/e2e/score/rows.py "$work/code/"
cp $files/duckdb-snappy-v1 "$work/data/three/a.parquet"
cp $files/duckdb-zstd-v2 "$work/data/three/b.parquet"
cp $files/duckdb-plain "$work/data/three/deep/c.parquet"
python3 tests/data/models/make.py "$work/code" || exit 3
for i in 0 1 2 3; do echo "{\"user\":{\"age\":$i},\"v\":[$((i * 2)),$((i * 3))]}"; done >"$work/data/lines/a.jsonl"

# own NAME: gives the following part a folder of its own with the same data.
own() {
    mkdir "$work/$1"
    cp -r "$work/data" "$work/code" "$work/$1/"
    work=$work/$1
}
job() { # TABLE SCORER [MORE-OF-THE-SPEC]; its exit code is in $code
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: parquet}
spec:
  input: {table: $1}
  scorer: $2
  output: {path: data/out, mode: AppendRow}
  retry: {maxTries: 2, timeoutSeconds: 30}
  workers: {min: 2, max: 2}
  ${3:-miniBatchSize: 4KB}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    discard "$work/data/out" "$work/state"
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
    [ $code -eq "${wanted:-0}" ] || tail -n 5 "$work/log" | sed 's/^/# /'
}
program() { echo "{command: {command: [python3, \$(code)/rows.py, $1]}}"; }
network() { echo "{onnx: {path: code/joined.onnx, postprocess: {type: Values}, inputs: [$1]}}"; }
three='path: data/three, pattern: "*.parquet", format: Parquet'
# Each row once and in order, spelled as in rows.jsonl: of these columns, or of all that DuckDB has written.
same() { # [COLUMN...]
    python3 - "$work/data/out/rows.txt" "$rows" "$@" <<'P'
import json, sys
def load(path):  # numbers stay as they are spelled
    return [json.loads(line, parse_int=lambda text: "#" + text, parse_float=lambda text: "#" + text) for line in open(path)]
seen, table, columns = load(sys.argv[1]), load(sys.argv[2]), sys.argv[3:]
wanted = [{name: value for name, value in row.items() if (name in columns if columns else name != "half")} for row in table]
for i, row in enumerate(seen):
    if row != wanted[i % len(wanted)]:
        sys.exit(f"# row {i}: {row}")
sys.exit(len(seen) != 3 * len(wanted) and f"# {len(seen)} rows")
P
}
count() { jq -r "$1" "$work/data/out/summary.json"; }
says() { grep -qF -- "$1" "$work/log" || { tail -n 3 "$work/log" | sed 's/^/# /'; false; }; }

##### through a program ############################################################################
commands() {
    own commands
    job "{$three}" "$(program raw)"
    check "three files, each row once and in order, value by value" same
    check "in more mini-batches than files" [ "$(count .miniBatches.total)" -gt 6 ]
    job "{$three, columns: [id, tags, /user/age]}" "$(program raw)" 'miniBatchSize: 10MB'
    check "some of the columns" same id tags /user/age
    check "a mini-batch is a file of them" [ "$(count .miniBatches.total)" = 3 ]
    job "{$three, columns: [text]}" "$(program raw)" 'miniBatchSize: auto'
    check "miniBatchSize auto" same text
}
keys() {
    own keys
    job "{$three, partitionKeys: [color]}" "$(program batch)" ' '
    check "by keys: a mini-batch has all rows of one key" python3 -c '
import json, sys
batches = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    batches.setdefault(row["miniBatch"], []).append(row["row"])
wanted = [json.loads(line) for line in open(sys.argv[2])]
for rows in batches.values():
    colors = {row["color"] for row in rows}
    assert len(colors) == 1, colors
    assert [row["id"] for row in rows] == [row["id"] for row in wanted if row["color"] in colors] * 3
assert sum(map(len, batches.values())) == 3 * len(wanted)' "$work/data/out/rows.txt" "$rows"

}

##### through a network ############################################################################
networks() {
    own networks
    job "{$three}" "$(network '{name: b, columns: [double, /user/age]}, {name: a, columns: [id]}')"
    check "columns of a network's inputs; what is missing is NaN" python3 -c '
import json, math, sys
table = [json.loads(line) for line in open(sys.argv[2])] * 3
seen = [json.loads(line)["values"] for line in open(sys.argv[1])]
def near(a, b):
    b = math.nan if b is None else float(b)
    return a is None and not math.isfinite(b) or abs(float(a) - b) < 1e-3 * max(1, abs(b)) or float(a) == b
assert len(seen) == len(table)
for values, row in zip(seen, table):
    wanted = [row["id"], row["double"], row["/user/age"]]
    assert all(map(near, values, wanted)), (values, wanted)' "$work/data/out/rows.txt" "$rows"
    job '{path: data/lines, format: JSONLines}' "$(network '{name: b, columns: [v]}, {name: a, columns: [/user/age]}')"
    check "JSON Lines: a pointer into a row, and a list for an input" \
        [ "$code $(jq -c .values "$work/data/out/rows.txt" | xargs)" = "0 [0,0,0] [1,2,3] [2,4,6] [3,6,9]" ]
    echo '{"user":{"age":4},"v":[1,2,3]}' >>"$work/data/lines/a.jsonl"
    echo '{"user":[5],"v":[1,2]}' >>"$work/data/lines/a.jsonl"
    job '{path: data/lines, format: JSONLines}' "$(network '{name: b, columns: [v]}, {name: a, columns: [/user/age]}')" 'errorThreshold: 2'
    check "a list of another length, and a row without the column, have failed" \
        [ "$code $(jq -r .cause "$work/data/out/failed.jsonl" | sed 's/.*: //' | xargs)" = \
        '0 column v is not a list of 2 values, which b takes it has no column /user/age' ]
}

##### what does not fit ############################################################################
damaged() {
    own damaged
    python3 - $files/hyparquet-uncompressed "$work/data/damaged.parquet" <<'P'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"https://example.org")  # in the column "text"
data[at - 4 : at] = b"\xff\xff\xff\x7f"
open(sys.argv[2], "wb").write(data)
P
    job '{path: data/damaged.parquet, format: Parquet, columns: [id, text]}' "$(program raw)" $'miniBatchSize: 4KB\n  errorThreshold: -1'
    check "rows of a damaged page have failed, and name file, row and column" \
        grep -qE '"damaged.parquet:[0-9]+: column \\"text\\": damaged: ' "$work/data/out/failed.jsonl"
    check "and each row has ended once" [ "$code $(($(wc -l <"$work/data/out/rows.txt") + $(wc -l <"$work/data/out/failed.jsonl")))" = "0 40" ]
    wanted=2
    head -c 5000 $files/duckdb-plain >"$work/data/cut.parquet"
    job "{path: data/cut.parquet, format: Parquet}" "$(program raw)"
    check "a file that is cut" says 'data/cut.parquet: is not a Parquet file, or cut'
    job "{path: data/lines, format: Parquet}" "$(program raw)"
    check "text read as Parquet" says 'data/lines/a.jsonl: is not a Parquet file, or cut: it does not end with "PAR1"'
    job "{path: data/three/a.parquet}" "$(program raw)"
    check "Parquet read as text" says 'data/three/a.parquet: is a Parquet file: set spec.input.table.format to Parquet'
}
refused() {
    own refused
    wanted=2
    job "{$three, columns: [id, colour]}" "$(program raw)"
    check "a column that is missing is named" says 'spec.input.table.path: data/three/a.parquet: has no column "colour", but id, flag, tiny'
    job "{$three}" "$(network '{name: b, columns: [double, age]}, {name: a, columns: [id]}')"
    check "also one of a network" says 'data/three/a.parquet: has no column "age", but id, flag, tiny'
    job "{$three}" "$(network '{name: b, columns: [double, color]}, {name: a, columns: [id]}')"
    check "one of another type, too" says 'spec.input.table.path: a.parquet:0: column "color" is "red", a number is expected'
    cp $files/hyparquet-snappy "$work/data/three/d.parquet"
    wanted=1 # found while the first files are scored
    job "{$three}" "$(program raw)"
    check "files of other columns" says 'data/three/d.parquet: columns are ["id int","flag boolean","whole int"'
    wanted=2
    job "{path: data/lines, format: JSONLines, columns: [v]}" "$(program raw)"
    check "columns are for Parquet alone" says 'spec.input.table.columns: is for format: Parquet'
}

side_by_side commands keys networks damaged refused
exit $((failures > 0))
