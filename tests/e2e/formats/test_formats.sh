#!/usr/bin/env bash
# output.format: rows of every type from a table in small blocks on two workers, as Parquet, CSV, JSON Lines and Npy,
# with rows and whole mini-batches that fail; read again by DuckDB, hyparquet, Arrow, Python. Reruns of an input of files
# keep rows, and coordinators are killed while they join: the bytes are those of a fresh run. SOAK_SEED (1),
# FORMAT_ROWS (500; in a soak 20000), SOAK_ROUNDS (2): kills.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
seed=${SOAK_SEED:-1}
rows=${FORMAT_ROWS:-$([ -z "${SOAK_ROUNDS:-}" ] && echo 500 || echo 20000)}
rounds=${SOAK_ROUNDS:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "# SOAK_SEED=$seed SOAK_ROUNDS=${SOAK_ROUNDS:-}, $rows rows a file"
RANDOM=$seed
python3 tests/e2e/formats/formats.py make "$work/tables" "$seed" "$rows" || exit 3
python3 tests/e2e/formats/formats.py expect "$work/tables" "$seed" place >"$work/by-place" || exit 3
python3 tests/e2e/formats/formats.py expect "$work/tables" "$seed" id >"$work/by-id" || exit 3

# own NAME: gives the following part a separate folder.
own() {
    mkdir -p "$work/$1/code" "$work/$1/data"
    cp -r "$work/tables" "$work/$1/data/in"
    work=$work/$1
    cp tests/e2e/formats/formats.py "$work/code/"
}
# manifest OUTPUT INPUT SIZE ARGUMENTS
manifest() {
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: formats}
spec:
  input: $2
  scorer: {command: {command: [python3, \$(code)/formats.py], arguments: {seed: $seed${4:-}}}}
  output: {path: data/out, $1}
  miniBatchSize: $3
  errorThreshold: -1
  retry: {maxTries: 1, timeoutSeconds: 60}
  workers: {min: 2, max: 2}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
}
run() {
    rm -rf "$work/state"
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" "$@" >"$work/log" 2>&1 </dev/null
    code=$?
}
table='{table: {path: data/in, header: true}}'
job() { # OUTPUT [ARGUMENTS]
    discard "$work/data/out"
    manifest "$1" "$table" 4KB "${2:-}"
    run
}
is() { # a COMMAND about an output that the job should have made
    [ $code -eq 0 ] || { tail -n 3 "$work/log" | sed 's/^/# /'; return 1; }
    "$@"
}
oracle() { python3 tests/e2e/formats/formats.py "$@"; }

# Without these programs the bytes are at least compared with those of other runs.
duckdb=$(tests/npm.sh @duckdb/node-api 1.5.6-r.1) && bindings=$(tests/npm.sh @duckdb/node-bindings-linux-x64 1.5.6-r.1) &&
    hyparquet=$(tests/npm.sh hyparquet 1.33.0) && compressors=$(tests/npm.sh hyparquet-compressors 1.1.2) &&
    wasm=$(tests/npm.sh parquet-wasm 0.8.0) && arrow=$(tests/npm.sh apache-arrow 21.1.0) || duckdb=
parquet() { # FILE EXPECTED
    [ -n "$duckdb" ] || { echo "# npm could not get DuckDB, hyparquet and Arrow"; return 0; }
    node tests/e2e/formats/formats.cjs "$duckdb" "$bindings" "$hyparquet" "$compressors" "$wasm" "$arrow" "$1" "$2"
}

of_parquet() {
    own parquet
    local more='columns: [name, price], types: {price: Number, vector: Vector, nested: JSON}'
    job "format: Parquet, $more"
    check "Parquet: every value, as DuckDB, hyparquet and Arrow read it" is parquet "$work/data/out/rows.parquet" "$work/../by-place"
    check "the output has this name only" is [ "$(cd "$work/data/out" && echo rows*)" = rows.parquet ]
    cp "$work/data/out/rows.parquet" "$work/first"
    job "format: Parquet, compression: None, key: [id], $more"
    check "Parquet by a key, not compressed" is parquet "$work/data/out/rows.parquet" "$work/../by-id"
    discard "$work/data/out"
    manifest "format: Parquet, $more" "$table" auto
    run
    check "sizes that are tuned give the same bytes" is cmp "$work/first" "$work/data/out/rows.parquet"
    job "format: Parquet, columns: [name], types: {text: Number}"
    check "a value of another type fails its row" is [ "$(jq '.items.failed > 0' "$work/data/out/summary.json")" = true ]
    check "... and says so" grep -qE 'column ..?"text..?": .* is not of type Number, which spec.output.types names' "$work/data/out/failed.jsonl"
    job "format: Parquet, columns: [name], types: {name: Integer}"
    check "... also one that is carried along" grep -qE 'column ..?"name..?": .* is not of type Integer' "$work/data/out/failed.jsonl"
}
of_csv() {
    own csv
    job 'format: CSV, columns: [name, price], types: {price: Number}'
    check "CSV: every value, as Python reads it" is oracle csv "$work/data/out/rows.csv" "$work/../by-place"
    check "lines end as RFC 4180 says" grep -q $'^file,row,name,price,.*\r$' "$work/data/out/rows.csv"
}
of_lines() {
    own lines
    job 'format: JSONLines, key: [id], columns: [name]'
    check "JSON Lines by a key" is [ "$(jq -c .whole "$work/data/out/rows.jsonl" | sha256sum)" = "$(jq -c .whole "$work/../by-id" | sha256sum)" ]
    cut -d, -f1 "$work/data/out/rows.jsonl" >"$work/ids"
    job 'format: JSONLines, columns: [name], appendRowFileName: x.jsonl'
    check "JSON Lines with file and row" is [ "$(jq -c '[.file, .row, .name]' "$work/data/out/x.jsonl" | sha256sum)" = "$(jq -c '[.file, .row, .name]' "$work/../by-place" | sha256sum)" ]
}
of_npy() {
    own npy
    job 'format: Npy, key: [id]' ', only: vector'
    cp "$work/data/out/rows.npy" "$work/rows.npy" 2>/dev/null
    check "the keys are beside the array" is [ "$(tr -d '\r' <"$work/data/out/rows.keys.csv" | sha256sum)" = "$( (echo id; jq -r .id "$work/../by-id") | sha256sum)" ]
    check "result.json names both" is [ "$(jq -r '[.outputs[].name] | sort | join(" ")' "$work/data/out/result.json")" = "rows.keys.csv rows.npy" ]
    job 'format: JSONLines, key: [id]' ', only: vector'
    check "Npy: every float, bit by bit" is oracle npy "$work/rows.npy" "$work/data/out/rows.jsonl"
    job 'format: Npy'
    check "rows that do not make an array end the job" [ $code -eq 1 ]
    check "... and it says what is wrong" grep -q 'has values of type Boolean, and an npy file numbers: use spec.output.format: Parquet' "$work/log"
}

# Files by name: unchanged ones keep their rows.
sums() { (cd "$work/data/out" && sha256sum rows.parquet result.json 2>/dev/null | head -1); }
fresh() {
    discard "$work/data/out"
    run
    sums >"$work/wanted"
}
of_reruns() {
    own reruns
    local round coordinator
    mkdir "$work/data/files"
    for ((i = 0; i < 60; i++)); do echo "$i" >"$work/data/files/f$i"; done
    manifest 'mode: AppendRow, format: Parquet' '{files: {path: data/files}}' 5
    run
    check "rows of files" is [ -s "$work/data/out/rows.parquet" ]
    rm "$work/data/files/f3"
    echo more >"$work/data/files/f4"
    echo new >"$work/data/files/f99"
    run
    check "a rerun" is grep -q "1 new, 1 changed" "$work/log"
    sums >"$work/seen"
    verify_outputs "$work/data"
    fresh
    check "... makes the bytes of a fresh run" is cmp "$work/seen" "$work/wanted"
    echo 5 >"$work/data/files/f100"
    cp "$work/data/out/rows.parquet" "$work/kept"
    echo >>"$work/data/out/rows.parquet"
    run
    check "rows of a file that has changed are not kept" [ $code -eq 2 ]
    check "... and it is named" grep -q 'rows.parquet is not as the last run wrote it' "$work/log"
    cp "$work/kept" "$work/data/out/rows.parquet"
    run
    sums >"$work/seen"
    fresh
    check "... it is put back" is cmp "$work/seen" "$work/wanted"
    for ((round = 0; round < rounds; round++)); do
        echo "$round" >"$work/data/files/g$round"
        rm -rf "$work/state"
        timeout 120 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null &
        sleep "0.$((RANDOM % 10))$((RANDOM % 10))" # any moment is right
        coordinator=$(pgrep -P $! -f coordinate)
        [ -z "$coordinator" ] || kill -9 "$coordinator"
        wait $!
        run
        sums >"$work/seen.$round"
        check "round $round: a coordinator is killed" is [ -s "$work/seen.$round" ]
        verify_outputs "$work/data"
    done
    sums >"$work/seen"
    fresh
    check "... and the bytes are those of a fresh run" is cmp "$work/seen" "$work/wanted"
}

# What a failed job has not scored is the end of its input, and need not be read again: here it is gone.
of_failed() {
    own failed
    rm -rf "$work/data/in"
    mkdir "$work/data/in"
    for ((i = 0; i < 40; i++)); do echo "{\"n\": $i}"; done >"$work/data/in/a.jsonl"
    for ((i = 0; i < 20000; i++)); do echo "{\"n\": \"$i of a file whose rows all fail\"}"; done >"$work/data/in/b.jsonl"
    cat >"$work/code/fail.py" <<'PY'
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "init" in asked:
        print('{"ready":true}', flush=True)
        continue
    if any(isinstance(item["n"], str) for item in asked["items"]):
        os.remove(sys.argv[1])
        sys.exit(1)
    print(json.dumps({"id": asked["id"], "results": asked["items"]}), flush=True)
PY
    manifest 'format: JSONLines' '{table: {path: data/in, format: JSONLines}}' 4KB
    sed -i 's|command: \[.*|command: [python3, $(code)/fail.py, $(data)/in/b.jsonl]}}|; s/errorThreshold: -1/errorThreshold: 0/; s/min: 2, max: 2/max: 1/' "$work/job.yaml"
    run
    check "a job that fails keeps the rows that it has made, though the others are gone" \
        [ "$code $(jq -c '[.file, .row, .n]' "$work/data/out/rows.jsonl" | sha256sum)" = \
        "1 $(for ((i = 0; i < 40; i++)); do echo "[\"a.jsonl\",$i,$i]"; done | sha256sum)" ]
}

side_by_side of_failed of_parquet of_csv of_lines of_npy of_reruns
exit $((failures > 0))
