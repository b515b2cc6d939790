#!/usr/bin/env bash
# A file of the input is changed between its listing and its reading: it is not scored as if it were the listed one. It
# is a failed item (of a table: its mini-batches) with the reason, tried once; applied again, a file is scored.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
mkdir -p "$work/code"
# Answers with the content of each file, or the row; the first request waits until the file `go` exists.
cat >"$work/code/score.py" <<'P'
import json, os, sys, time
folder = json.loads(sys.stdin.readline())["init"]["arguments"]["folder"]
print('{"ready":true}', flush=True)
for line in sys.stdin:
    request = json.loads(line)
    open(folder + "/began", "w").close()
    while not os.path.exists(folder + "/go"):
        time.sleep(0.02)
    results = []
    for item in request["items"]:
        asked = os.open(folder + "/asked", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(asked, (os.path.basename(item) if isinstance(item, str) else "row").encode() + b"\n")
        text = open(item).read().strip() if isinstance(item, str) else item["name"]
        if text == "touches":  # it is changed while the program has it
            os.utime(item)
        results.append(text)
    print(json.dumps({"id": request["id"], "results": results}), flush=True)
P
manifest() { # NAME INPUT MODE [MORE]
    mkdir -p "$work/$1/in" "$work/$1/out"
    cat >"$work/$1/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  input: $2
  scorer: {command: {command: [python3, \$(code)/score.py], arguments: {folder: $work/$1}}}
  output: {path: out/scored, mode: $3}
  ${4:-miniBatchSize: 1}
  errorThreshold: -1
  retry: {maxTries: 3, timeoutSeconds: 60}
  workers: {min: 1, max: 1}
  volumes:
    - {name: in, hostPath: {path: $work/$1/in}}
    - {name: out, hostPath: {path: $work/$1/out}}
    - {name: code, hostPath: {path: $work/code}}
M
}
launch() { rm -rf "$work/$1/state"; timeout 120 "$windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" >"$work/$1/log" 2>&1 </dev/null & run=$!; }
until_there() { local end=$((SECONDS + 60)); until [ -e "$1" ] || [ $SECONDS -ge $end ]; do nap 0.05; done; }
summary() { jq -r "$2" "$work/$1/out/scored/summary.json"; }
failed() { jq -r '[.item // .name, .cause // .error] | join(": ")' "$work/$1/out/scored/failed.jsonl" 2>/dev/null | sort; }
names() { sort "$work/$1/asked" | uniq -c | awk '{print $2 ($1 > 1 ? "*" $1 : "")}' | tr '\n' ' '; }

files() { # MODE
    local name=files-${1,,} code
    manifest "$name" '{files: {path: in}}' "$1"
    for i in 0 1 2 3 4 5 6; do echo "content $i" >"$work/$name/in/f$i"; done
    echo touches >"$work/$name/in/f6"
    nap 0.1
    launch "$name"
    until_there "$work/$name/began"
    echo "another $((1 + 1))" >"$work/$name/in/f3"                                    # the same size
    echo "replaced 4" >"$work/$name/new" && mv "$work/$name/new" "$work/$name/in/f4"
    chmod 600 "$work/$name/in/f5"
    touch "$work/$name/go"
    wait $run
    code=$?
    check "$1: changed files are failed items" [ "$code $(summary "$name" '[.items.done, .items.failed] | join(" ")')" = "0 4 3" ]
    check "$1: with the reason" [ "$(grep -c 'has changed since it was listed; apply the job again' "$work/$name/out/scored/failed.jsonl")" = 3 ]
    check "$1: they are not tried again: $(names "$name")" [ "$(summary "$name" .items.retried)" = 0 ]
    check "$1: no result of them" [ -z "$(cat "$work/$name/out/scored"/rows.txt "$work/$name/out/scored"/*.json 2>/dev/null | grep -E '^"?(another|replaced|touches)')" ]
    echo "content 6" >"$work/$name/in/f6"
    nap 0.1
    rm "$work/$name/asked"
    launch "$name"
    wait $run
    code=$?
    check "$1: applied again they are scored: $(names "$name")" [ "$code $(summary "$name" .items.failed) $(grep -c 'f[346]' "$work/$name/asked")" = "0 0 3" ]
    [ $failures -eq 0 ] || { failed "$name"; tail -n 8 "$work/$name/log" "$work/$name"/state/*.log; } | sed 's/^/# /'
}
per_file() { files PerFile; }
append_row() { files AppendRow; }
table() {
    local code
    manifest table '{table: {path: in/a.csv}}' AppendRow 'miniBatchSize: 4KB'
    { echo name; for i in $(seq 4000); do echo "row $i"; done; } >"$work/table/in/a.csv"
    nap 0.1
    launch table
    until_there "$work/table/began"
    echo "row 4001" >>"$work/table/in/a.csv"
    touch "$work/table/go"
    wait $run
    code=$?
    check "a table: its mini-batches fail (code $code)" [ "$(summary table '.miniBatches.failed > 0')" = true ]
    check "a table: with the reason" grep -q 'a.csv: has changed since it was listed' "$work/table/out/scored/failed.jsonl"
    check "a table: none is tried again" [ "$(summary table .miniBatches.retried)" = 0 ]
    [ $failures -eq 0 ] || tail -n 8 "$work/table/log" "$work/table"/state/*.log | sed 's/^/# /'
}
side_by_side per_file append_row table
exit $((failures > 0))
