#!/usr/bin/env bash
# input.table in whole jobs, by `windlass run`: CSV with and without header, TSV, JSON Lines, in many small blocks on
# two workers, compared with Python's csv; invalid rows; a program that dies on a block; a
# worker that is killed; the same job again; side by side. SOAK_SEED (1), TABLE_ROWS (300; in a soak 20000).
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
seed=${SOAK_SEED:-1}
rows=${TABLE_ROWS:-$([ -z "${SOAK_ROUNDS:-}" ] && echo 300 || echo 20000)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "# SOAK_SEED=$seed, $rows rows a file"
python3 tests/e2e/score/tables.py make "$work/data" "$seed" "$rows" || exit 3
places=$work/places
python3 tests/e2e/score/tables.py bad "$work/data/bad" >"$places" || exit 3
bad=$(wc -l <"$places")

# own NAME: gives the following part a separate folder with the same tables.
own() {
    mkdir -p "$work/$1/code"
    cp -r "$work/data" "$work/$1/data"
    work=$work/$1
    cp tests/e2e/score/rows.py "$work/code/"
    out=$work/data/out/rows.txt
}
# manifest TABLE MODE MORE-OF-THE-SPEC
manifest() {
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: rows}
spec:
  input: {table: $1}
  scorer: {command: {command: [python3, \$(code)/rows.py, $2]}}
  output: {path: data/out}
  retry: {maxTries: 2, timeoutSeconds: 30}
  workers: {min: 2, max: 2}
  $3
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
}
run() {
    rm -rf "$work/state"
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
    code=$?
}
job() { # runs a new job; its exit code is in $code
    discard "$work/data/out"
    manifest "$1" "$2" "${3:-miniBatchSize: 4KB}"
    run
}
oracle() { python3 tests/e2e/score/tables.py check "$@"; }
count() { jq -r "$1" "$work/data/out/summary.json"; }
show() {
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    tail -n 8 "$work/log" | sed 's/^/# /'
    tail -qn 6 "$work"/state/*.log | sed 's/^/# /'
}

##### the formats ##################################################################################
formats() {
    own formats
    job '{path: data/csv}' plain
    check "CSV: each row once, in order, as Python's csv reads it" oracle csv "$work/data/csv" "$out"
    check "all rows are counted" [ "$code $(count '.items | "\(.total) \(.done)"')" = "0 $((rows * 3)) $((rows * 3))" ]
    check "in many mini-batches" [ "$(count .miniBatches.total)" -gt 20 ]
    job '{path: data/csv}' plain 'miniBatchSize: auto'
    check "miniBatchSize auto: the same rows" oracle csv "$work/data/csv" "$out"
    show
    job '{path: data/bare, header: false}' plain
    check "without a header: lists" oracle bare "$work/data/bare" "$out"
    show
    job '{path: data/tsv, format: TSV}' plain
    check "TSV: quotes are text" oracle tsv "$work/data/tsv" "$out"
    show
}

##### and more of them #############################################################################
single() {
    own single
    job '{path: data/jsonl, format: JSONLines}' raw
    check "JSON Lines: every value as it was written" oracle jsonl "$work/data/jsonl" "$out"
    show
    mkdir -p "$work/one"
    cp "$work/data/csv/deep/ü.csv" "$work/one/"
    job '{path: data/csv/deep/ü.csv}' plain ' '
    check "one file, in mini-batches of 1 MB" oracle csv "$work/one" "$out"
    check "which are few" [ "$code $(($(count .miniBatches.total) <= 64))" = "0 1" ]
    show
    for name in rows.txt summary.json; do # the results would replace the input
        discard "$work/data/out"
        mkdir "$work/data/out"
        cp "$work/one/ü.csv" "$work/data/out/$name"
        manifest "{path: data/out/$name}" plain "miniBatchSize: 4KB"
        run
        check "output/$name as the input is refused" grep -q "spec.output.path: data/out/$name is the input itself" "$work/log"
        check "and stays as it was" [ "$code $(cmp "$work/one/ü.csv" "$work/data/out/$name" && echo same)" = "2 same" ]
    done
    show
}

##### rows that are none ###########################################################################
bad() {
    own bad
    job '{path: data/bad}' plain "miniBatchSize: 4KB"$'\n'"  errorThreshold: $bad"
    check "rows that are none have failed" [ "$code $(count '.items | "\(.total) \(.failed)"')" = "0 1000 $bad" ]
    check "each by name and place" diff <(jq -r .item "$work/data/out/failed.jsonl" | sort -V) "$places"
    check "with its cause" [ "$(jq -r .cause "$work/data/out/failed.jsonl" | sed 's/^[ab].csv:[0-9]*: //; s/byte [0-9]*/byte N/' | sort | uniq -c | xargs)" = \
        "12 1 fields, the header has 2 12 3 fields, the header has 2 10 invalid UTF-8 at byte N of the row" ]
    check "the others are there, in order" diff <(jq -r '.n' "$out") <(for _ in a b; do seq 0 499 | awk '$1 % 97 < 13 || $1 % 97 > 15'; done)
    show
    job '{path: data/bad}' plain "miniBatchSize: 4KB"$'\n'"  errorThreshold: $((bad - 1))"
    check "one more than the threshold: the job has failed, and says why" \
        [ "$code $(grep -cE '[ab].csv:[0-9]+: (3 fields|1 fields|invalid UTF-8)' "$work/log" | sed 's/[1-9][0-9]*/yes/')" = "1 yes" ]
    show
    printf 'n,x\n1,"a\n' | cat - <(head -c 70000000 /dev/zero | tr '\0' 'x') >"$work/data/open.csv"
    job '{path: data/open.csv}' plain
    check "a quote that is never closed: file and byte" grep -q 'data/open.csv: the row at byte 4 is longer than 67108864 bytes; is a quote not closed?' "$work/log"
    check "is the manifest's to correct" [ $code -eq 2 ]
    rm "$work/data/open.csv"
    show
}

##### programs that fail ###########################################################################
programs() {
    own programs
    job '{path: data/csv}' crash $'miniBatchSize: 4KB\n  errorThreshold: -1'
    check "a program that dies of a block: the block has failed, no other" [ "$code $(count .miniBatches.failed)" = "0 1" ]
    check "every row of it is named by its place" [ "$(jq -r .item "$work/data/out/failed.jsonl" | sort -u | grep -c '^a.csv:')" = "$(count .items.failed)" ]
    check "and every row has ended once" [ "$(($(wc -l <"$out") + $(wc -l <"$work/data/out/failed.jsonl")))" = $((rows * 3)) ]
    show
    job '{path: data/csv}' failed $'miniBatchSize: 4KB\n  errorThreshold: -1'
    check "rows that the program fails are named by their places" \
        diff <(jq -r .item "$work/data/out/failed.jsonl" | sort) <(python3 - "$work/data/csv" <<'P' | sort
import csv, io, sys, os
sys.path.insert(0, "tests/e2e/score")
import tables
for path in tables.files(sys.argv[1]):
    data = open(path, "rb").read()
    at = 0
    class Lines:  # counts the bytes that csv has read
        def __init__(self): self.rest = io.BytesIO(data); self.last = 0
        def __iter__(self): return self
        def __next__(self):
            line = self.rest.readline()
            if not line: raise StopIteration
            return line.decode("utf-8")
    lines = Lines()
    reader, place = csv.reader(lines), 0
    for row in reader:
        if row and row[0].endswith("7"):
            print(f"{os.path.relpath(path, sys.argv[1])}:{place}")
        place = lines.rest.tell()
P
        )
    show
}

##### many of one mini-batch #######################################################################
many() {
    own many
    mkdir "$work/data/many"
    seq 0 99999 | awk 'BEGIN { print "n,x" } { print $1 ",a" }' >"$work/data/many/a.csv"
    printf 'n,x\n100000,b\n' >"$work/data/many/b.csv"
    manifest '{path: data/many, partitionKeys: [x]}' half 'errorThreshold: -1'
    discard "$work/data/out" "$work/state"
    timeout 300 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null &
    run=$!
    committed() { cat "$work"/data/out/.windlass/*/commit/* 2>/dev/null | grep '^\["p",0,'; }
    for _ in $(seq 300); do
        [ -z "$(committed)" ] || break
        nap 0.05
    done
    check "half of the rows of one key fail: what failed is an object beside the try" \
        grep -qE '^\["p",0,1,100000,50000,.*\[\[1,"odd: 1"\]\],[0-9]+,"[0-9a-f]{8}"\]$' <(committed)
    file=$(grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ 2>/dev/null | xargs grep -ls WINDLASS_BIND= | head -n 1)
    file=${file#/proc/}
    check "its coordinator is killed" kill -9 "${file%/environ}"
    wait $run
    code=$?
    check "the good rows are there, once, in order" diff -q <(jq -r .n "$out") <(seq 0 2 100000)
    check "the others are listed, once, by place and cause" diff -q <(jq -r '"\(.item) \(.cause)"' "$work/data/out/failed.jsonl") \
        <(awk 'NR > 1 && $1 % 2 { print "a.csv:" place " odd: " $1 + 0 } { place += length($0) + 1 }' FS=, "$work/data/many/a.csv")
    check "and counted, once" [ "$code $(count '.items | "\(.total) \(.done) \(.failed)"')" = "0 100001 50001 50000" ]
    check "no object of theirs is left" [ -z "$(find "$work/data/out/.windlass" -name '*.failed')" ]
    show
}

##### by key #######################################################################################
keyed() {
    own keyed
    python3 tests/e2e/score/tables.py keyed "$work/data/keyed" "$seed" 12000 || exit 3
    by_key() { python3 tests/e2e/score/tables.py keys "$work/data/keyed" "$out" "$@"; }
    job '{path: data/keyed, partitionKeys: [shop, day]}' batch ' '
    check "partitionKeys: each key is one mini-batch, each row once, by key and place" by_key shop day
    check "of which one has more ranges than a line holds" [ "$code $(find "$work/data/out/.windlass" -name 'key-*' | wc -l)" = "0 1" ]
    show
    job '{path: data/keyed, partitionKeys: [shop, week]}' batch ' '
    check "a column that is not there is refused, by name" \
        [ "$code $(grep -c 'a.csv: has no column "week" (spec.input.table.partitionKeys), but \["n","shop","day"\]' "$work/log")" = "2 1" ]
    job '{path: data/bad, partitionKeys: [x]}' plain "errorThreshold: $bad"
    check "rows without a key are named by their places" diff <(jq -r .item "$work/data/out/failed.jsonl" | sort -V) "$places"
    show
}

##### again, and while somebody dies ###############################################################
again() {
    own again
    job '{path: data/csv}' plain
    before=$(stat -c %Y.%i "$out")
    run
    check "a finished run does nothing" [ "$code $(stat -c %Y.%i "$out")" = "0 $before" ]
    echo "3-1,more,rows" >>"$work/data/csv/z.csv"
    run
    check "with a row more it is refused" [ "$code $(grep -cE 'mini-batches.* this run began' "$work/log")" = "2 1" ]
    discard "$work/data/out" "$work/state"
    "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null &
    run=$!
    killed=0
    while [ $killed -lt 3 ] && kill -0 $run 2>/dev/null; do
        sleep 0.3
        file=$(grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ 2>/dev/null | xargs grep -ls WINDLASS_COORDINATOR= | head -n 1)
        file=${file#/proc/}
        [ -n "$file" ] && kill -9 "${file%/environ}" 2>/dev/null && killed=$((killed + 1))
    done
    wait $run
    check "workers were killed with -9" [ $killed -gt 0 ]
    check "and the rows are the same" oracle csv "$work/data/csv" "$out"
    show
}

##### the example ##################################################################################
example() {
    own example
    cp -r examples/table "$work/copy"
    timeout 300 "$windlass" run -f "$work/copy/batchscore.yaml" --state "$work/state2" >"$work/log" 2>&1 </dev/null
    check "examples/table runs as written" [ $? -eq 0 ]
    check "and makes a line a row, but for the one that is none" [ "$(jq -s length "$work/copy/data/scores/scores.txt") $(jq -r .item "$work/copy/data/scores/failed.jsonl")" = "8 2026-11-21.csv:75" ]
}

side_by_side formats single bad programs many keyed again example
exit $((failures > 0))
