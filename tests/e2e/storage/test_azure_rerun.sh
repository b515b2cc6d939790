#!/usr/bin/env bash
# A finished job on az:// is applied again, on a real Azurite behind a proxy that gives all blobs one time of change: what
# is new or changed is scored, by ETag alone, what is gone leaves the output, the rest is kept; lists of names, edited
# results, edited specs, --restart; and `latest` of a registry, which is resolved once per run. `make test` draws two of
# the four parts, of which one is PerFile or AppendRow.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/azurite/own.sh
build=$(realpath "${BUILD:-build}")
windlass=$build/windlass
through_proxy
same_time='{"lastModified": "Mon, 23 Nov 2026 10:00:00 GMT"}'
faults "[$same_time]"
mkdir -p "$work/code" "$work/in/sub" "$work/models/net"
cat >"$work/code/score.py" <<'P'
import json, os, sys
line = json.loads(sys.stdin.readline())["init"]
asked = os.open(line["arguments"]["asked"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
print('{"ready":true}', flush=True)
for text in sys.stdin:
    request = json.loads(text)
    for item in request["items"]:
        os.write(asked, f"{os.path.basename(item)}\n".encode())
    results = [open(item).read().strip() for item in request["items"]]
    print(json.dumps({"id": request["id"], "results": results}), flush=True)
P
for i in $(seq -w 0 11); do echo "file $i" >"$work/in/f$i"; done
echo below >"$work/in/sub/x"
in=az://films/$place out=az://results/$place

manifest() { # NAME MODE [MORE-ARGUMENTS [MORE-OF-THE-INPUT [OUTPUT]]]
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {files: {path: $in/$1${4:-}}}
  scorer: {command: {command: [python3, \$(code)/score.py], arguments: {asked: $work/asked-$1${3:-}}}}
  output: {path: $out/${5:-$1}, mode: $2}
  miniBatchSize: 4
  errorThreshold: -1
  retry: {maxTries: 2, timeoutSeconds: 30}
  workers: {min: 1, max: 1}
  volumes: [{name: code, hostPath: {path: $work/code}}]
  stores: [{account: films, secretName: films}, {account: results, secretName: results}]
M
}
run() { # NAME [OPTION...]: its exit code is in $code, and what it has asked its program in $asked
    : >"$work/asked-$1"
    rm -rf "$work/state-$1"
    timeout 120 "$windlass" run -f "$work/$1.yaml" --state "$work/state-$1" "${@:2}" >"$work/log-$1" 2>&1 </dev/null
    code=$?
    asked=$(sort "$work/asked-$1" | uniq | paste -sd' ')
}
says() { grep -qF -- "$2" "$work/log-$1" "$work/state-$1"/*.log; }
is() { [ "$1" = "$2" ] || { echo "# $1"; false; }; }
put() { az put films "$place/$1" "$2"; }
# What a user gets: the results, without what is about the run.
results() {
    rm -rf "$work/got-$1"
    mkdir "$work/got-$1"
    az download results "$place/$1" "$work/got-$1"
    (cd "$work/got-$1" && find . -name .windlass -prune -o -type f -print | grep -vxE './(summary.json|result.*|outputs.jsonl|report.html|.*\.csv|failed.jsonl)' |
        LC_ALL=C sort | while read -r name; do echo "== $name"; cat "$name"; done)
}
holds() { "$windlass" verify "$out/$1" >"$work/verify-$1" 2>&1 </dev/null || { sed 's/^/# /' "$work/verify-$1"; false; }; }
show() { [ "$failures" -eq 0 ] || tail -qn 8 "$work/log-$1" "$work/state-$1"/*.log | sed 's/^/# /'; }

reruns() { # MODE
    local job=${1,,} mode=$1 code asked
    az upload films "$place/$job" "$work/in"
    manifest "$job" "$mode"
    run "$job"
    check "$mode: a first run" is "$code $(wc -w <<<"$asked")" "0 13"
    run "$job"
    check "$mode: again: nothing to do" eval 'is "$code $asked" "0 " && says "$job" "nothing to do"'
    put "$job/f02b" new
    put "$job/a" first
    put "$job/z" last
    put "$job/f05" changed
    put "$job/f07" "FILE 07"
    put "$job/f08" "file 08" # the same bytes, stored again
    az remove films "$place/$job/f10" "$place/$job/sub/x"
    run "$job"
    check "$mode: what is new or stored again is asked, whatever size and time" is "$code $asked" "0 a f02b f05 f07 f08 z"
    check "$mode: it says what it found" says "$job" "$out/$job: 3 new, 3 changed, 0 tried again, 2 removed, 8 kept"
    manifest "$job" "$mode" "" "" "$job-fresh"
    run "$job"
    results "$job-fresh" >"$work/wanted-$job"
    check "$mode: the output is that of a fresh run, and holds" eval 'diff <(results "$job") "$work/wanted-$job" && holds "$job"'
    show "$job"

    # Results that are not as they were made.
    manifest "$job" "$mode"
    if [ "$mode" = PerFile ]; then
        az remove results "$place/$job/f01.json"
        run "$job"
        check "$mode: a lost result is made again" eval 'is "$code $asked" "0 f01" && holds "$job"'
    else
        az put results "$place/$job/rows.txt" other
        run "$job"
        check "$mode: rows that were edited are refused" eval 'is "$code $asked" "2 " && says "$job" "is not as the last run wrote it"'
        run "$job" --restart
        check "$mode: and made anew" eval 'is "$code $(wc -w <<<"$asked")" "0 14" && holds "$job"'
    fi
    show "$job"

    # Another spec, and fewer items: nothing of the earlier one stays.
    az remove films "$place/$job/f01" "$place/$job/z"
    manifest "$job" "$mode" ", more: 1"
    run "$job"
    check "$mode: another spec is refused by its field" eval 'is "$code $asked" "2 " && says "$job" "spec.scorer.command.arguments"'
    run "$job" --restart
    manifest "$job" "$mode" ", more: 1" "" "$job-anew"
    run "$job"
    results "$job-anew" >"$work/wanted-$job"
    check "$mode: --restart leaves no stale result" eval 'diff <(results "$job") "$work/wanted-$job" && holds "$job"'
    show "$job"
}
per_file() { reruns PerFile; }
append_row() { reruns AppendRow; }

# The list of names is the same; a blob behind it is another one.
listed() {
    local code asked
    az upload films "$place/listed" "$work/in"
    az put films "$place/list.txt" "f01
f02
f03
none
"
    manifest listed PerFile "" ", manifest: $in/list.txt"
    run listed
    check "a list: first" is "$code $asked" "0 f01 f02 f03"
    run listed
    check "a list: the mini-batch of a name without a blob is tried again" is "$code $asked" "0 f01 f02 f03"
    az put films "$place/listed/none" here
    run listed --restart
    run listed
    check "a list: nothing to do" eval 'is "$code $asked" "0 " && says listed "nothing to do"'
    put listed/f02 "FILE 02"
    run listed
    check "a list: a blob behind it has changed: never \"nothing to do\"" eval 'is "$code" 2 && ! says listed "nothing to do" && says listed "--restart"'
    run listed --restart
    check "a list: and scored with --restart" eval 'is "$code $asked" "0 f01 f02 f03 none" && [ "$(az get results "$place/listed/f02.json")" = "\"FILE 02\"" ]'
    show listed
}

# `latest` moves while the run is in its middle; a later worker and a later coordinator open what it began with.
latest() {
    local code asked wanted=()
    for version in 7 8; do
        mkdir -p "$work/models/net/$version"
        "$build/windlass-agent" model new mlp --classes 3 --shape 1x2x2 --seed $version -o "$work/models/net/$version/model.onnx" >/dev/null
    done
    python3 - "$work/a.npy" <<'P'
import struct, sys
count = 400
head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 1, 2, 2), }}".encode()
head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
values = [(i * 7 + i // 4 * 13) % 97 / 97 for i in range(count * 4)]
open(sys.argv[1], "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values))
P
    az upload films "$place/arrays/a.npy" "$work/a.npy" && az upload films "$place/models" "$work/models"
    for path in net/7 net/8 net/latest; do
        cat >"$work/latest-${path#net/}.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: moves}
spec:
  input: {npy: {path: $in/arrays}}
  scorer: {onnx: {path: $in/models/$path/model.onnx, postprocess: {type: Values}}}
  output: {path: $out/moves-${path#net/}, mode: AppendRow}
  miniBatchSize: 1
  retry: {maxTries: 2, timeoutSeconds: 60}
  workers: {min: 1, max: 1}
  stores: [{account: films, secretName: films, readOnly: true}, {account: results, secretName: results}]
M
    done
    rows() { az get results "$place/moves-$1/rows.txt" | sha256sum | cut -d' ' -f1; }
    for version in 7 8; do run latest-$version; wanted[version]=$(rows $version); done
    check "latest: two versions score differently" [ "${wanted[7]}" != "${wanted[8]}" ]
    point() { az put films "$place/models/net/latest" "$1
"; }
    point 7
    hold /arrays/a.npy 100 "$same_time" # a mini-batch in the middle waits: the run has not ended
    run latest-latest &
    until_held
    local end=$((SECONDS + 60))
    until az list results "$place/moves-latest" | grep -q '/commit/000000000001$' || [ $SECONDS -ge $end ]; do nap 0.05; done
    local pods coordinator
    pods=$(for file in $(grep -lsaz '^WINDLASS_JOB=moves$' /proc/[0-9]*/environ); do
        tr '\0' '\n' <"/proc/${file//[!0-9]/}/cmdline" | grep -qx -e coordinate -e score && echo "${file//[!0-9]/}"
    done)
    # shellcheck disable=SC2086 # one word for each process
    kill -STOP $pods
    point 8
    # shellcheck disable=SC2086 # the same
    kill -9 $pods
    faults "[$same_time]"
    wait $!
    code=$?
    check "latest: the run goes on with what it began with" is "$(rows latest)" "${wanted[7]}"
    check "latest: it was in the middle" says latest-latest "this run goes on with what it began with"
    check "latest: result.json says which" is "$(az get results "$place/moves-latest/result.json" | jq -r ".paths[\"$in/models/net/latest/model.onnx\"]")" "$in/models/net/7/model.onnx"
    run latest-latest
    check "latest: a rerun says what has moved" eval 'is "$code" 2 && says latest-latest "spec.scorer.onnx.path: latest is now 8, was 7: rerun with --restart"'
    run latest-latest --restart
    check "latest: --restart takes the newer one" is "$code $(rows latest)" "0 ${wanted[8]}"
    run latest-latest
    check "latest: once more: nothing to do" says latest-latest "nothing to do"
    show latest-latest
}
draw "reruns" 2 per_file listed append_row latest
side_by_side "${drawn[@]}"
exit $((failures > 0))
