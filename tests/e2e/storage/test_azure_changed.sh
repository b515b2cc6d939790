#!/usr/bin/env bash
# A blob of the input that is stored again between its listing and its reading is not scored as if it were the listed one,
# on a real Azurite, with equal size and equal time of change: files for programs, pictures, tables and arrays are
# failed items or mini-batches with that reason, tried once. A model or labels that are stored again in mid-run end the job.
# `make test`: files for programs, and two of the others, drawn by the commit.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/azurite/own.sh
build=$(realpath "${BUILD:-build}")
through_proxy
listed='{"lastModified": "Mon, 23 Nov 2026 10:00:00 GMT"}'
faults "[$listed]"
in=az://films/$place out=az://results/$place
mkdir -p "$work/code" "$work/pictures" "$work/model"
# The first request waits until the file `go` exists.
cat >"$work/code/score.py" <<'P'
import json, os, sys, time
folder = json.loads(sys.stdin.readline())["init"]["arguments"]["folder"]
print('{"ready":true}', flush=True)
for line in sys.stdin:
    request = json.loads(line)
    open(folder + "/began", "w").close()
    while not os.path.exists(folder + "/go"):
        time.sleep(0.02)
    results = [open(item).read().strip() if isinstance(item, str) else item["name"] for item in request["items"]]
    with open(folder + "/asked", "a") as asked:
        print(*results, sep="\n", file=asked)
    print(json.dumps({"id": request["id"], "results": results}), flush=True)
P
python3 tests/data/models/make.py "$work/model"
manifest() { # NAME INPUT SCORER MODE [MORE]
    mkdir -p "$work/$1"
    cat >"$work/$1/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: $1}
spec:
  input: $2
  scorer: $3
  output: {path: $out/$1, mode: $4}
  ${5:-miniBatchSize: 1}
  errorThreshold: -1
  retry: {maxTries: 3, timeoutSeconds: 60}
  workers: {min: 1, max: 1}
  volumes: [{name: code, hostPath: {path: $work/code}}]
  stores: [{account: films, secretName: films}, {account: results, secretName: results}]
M
}
program() { echo "{command: {command: [python3, \$(code)/score.py], arguments: {folder: $work/$1}}}"; }
launch() { rm -rf "$work/$1/state"; timeout 300 "$build/windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" >"$work/$1/log" 2>&1 </dev/null & run=$!; }
ends() { wait $run; code=$?; }
summary() { az get results "$place/$1/summary.json" | jq -r "$2"; }
reasons() { az get results "$place/$1/failed.jsonl" | grep -c 'has changed since it was listed'; }
is() { [ "$1" = "$2" ] || { echo "# $1"; false; }; }
show() { [ $failures -eq 0 ] || tail -qn 8 "$work/$1/log" "$work/$1"/state/*.log | sed 's/^/# /'; }

files() {
    local code run
    manifest files "{files: {path: $in/files}}" "$(program files)" AppendRow
    mkdir "$work/files/in"
    for i in 0 1 2 3 4 5; do echo "content $i" >"$work/files/in/f$i"; done
    az upload films "$place/files" "$work/files/in"
    launch files
    until_true 60 [ -e "$work/files/began" ]
    az put films "$place/files/f4" "another 4
"
    az put films "$place/files/f5" "content 5
" # the same bytes: another blob all the same
    touch "$work/files/go"
    ends
    check "files: stored again, of equal size and time, are failed items" is "$code $(summary files '[.items.done, .items.failed, .items.retried] | join(" ")')" "0 4 2 0"
    check "files: with the reason" is "$(reasons files)" 2
    check "files: nothing of them was scored" eval '! grep -q another "$work/files/asked"'
    launch files
    ends
    check "files: applied again they are scored" is "$code $(summary files '[.items.done, .items.failed] | join(" ")') $(az get results "$place/files/rows.txt" | tail -2 | xargs)" "0 6 0 another 4 content 5"
    show files
}
table() {
    local code run
    manifest table "{table: {path: $in/table}}" "$(program table)" AppendRow "miniBatchSize: 4KB"
    { echo name; for i in $(seq 10000 29999); do echo "row $i"; done; } >"$work/table/a.csv"
    az upload films "$place/table/a.csv" "$work/table/a.csv"
    launch table
    until_true 60 [ -e "$work/table/began" ]
    sed -i s/row/ROW/ "$work/table/a.csv"
    az upload films "$place/table/a.csv" "$work/table/a.csv"
    touch "$work/table/go"
    ends
    check "a table: its mini-batches fail (code $code)" is "$(summary table '[.miniBatches.failed > 0, .miniBatches.retried == 0] | join(" ")')" "true true"
    check "a table: with the reason" [ "$(reasons table)" -gt 0 ]
    check "a table: nothing of the other one was scored" eval '! grep -q ROW "$work/table/asked"'
    show table
}
# What no program reads is stored again while the proxy holds a worker's request for it.
pictures() {
    local code run
    for i in 1 2 3 4; do cp "$work/one.png" "$work/pictures/p$i.png"; done
    az upload films "$place/pictures" "$work/pictures"
    manifest pictures "{files: {path: $in/pictures, pattern: \"*.png\"}}" "{onnx: {path: $in/model/invert.onnx}}" PerFile
    hold /pictures/p 0 "$listed"
    launch pictures
    until_held
    az upload films "$place/pictures/p3.png" "$work/other.png"
    faults "[$listed]"
    ends
    check "pictures: one that was stored again is a failed item" is "$code $(summary pictures '[.items.done, .items.failed, .items.retried] | join(" ")') $(reasons pictures)" "0 3 1 0 1"
    show pictures
}
# Stored again while a mini-batch in the middle is being read.
in_mid_run() { # NAME BLOB FILE [READS]
    local code run
    hold "/$2" "${4:-100}" "$listed"
    launch "$1"
    until_held
    az upload films "$place/$2" "$3"
    faults "[$listed]"
    ends
    check "$1: stored again in mid-run, the rest fails (code $code)" is "$(summary "$1" '[.miniBatches.done > 0, .miniBatches.failed > 0, .miniBatches.retried == 0] | join(" ")')" "true true true"
    check "$1: with the reason" [ "$(reasons "$1")" -gt 0 ]
    show "$1"
}
arrays() {
    az upload films "$place/arrays/a.npy" "$work/a0.npy"
    manifest arrays "{npy: {path: $in/arrays}}" "{onnx: {path: $in/model/7.onnx, postprocess: {type: Values}}}" AppendRow
    in_mid_run arrays arrays/a.npy "$work/a1.npy"
}
# 39 MB in pieces of 4 MiB: the coordinator reads all of them for its index, the last 32 MiB once more to see whether the
# film is cut, and so does the worker.
film() {
    az upload films "$place/film/a.nut" "$work/film0.nut"
    manifest film "{video: {path: $in/film/a.nut}}" "{onnx: {path: $in/model/invert.onnx}}" PerFile "miniBatchSize: 8"
    in_mid_run film film/a.nut "$work/film1.nut" 26
}
# A worker that starts later reads another model, or other labels, than the first one has reported.
scorer() { # NAME BLOB FILE FIELD
    local code run file
    az upload films "$place/$1/a.npy" "$work/a0.npy" && az upload films "$place/$1-of/7.onnx" "$work/model/7.onnx"
    az put films "$place/$1-of/labels.txt" "$(printf 'red\ngreen\nblue\n')"
    manifest "$1" "{npy: {path: $in/$1}}" "{onnx: {path: $in/$1-of/7.onnx, postprocess: {type: Classes, labels: $in/$1-of/labels.txt}}}" AppendRow
    hold "/$1/a.npy" 100 "$listed"
    launch "$1"
    until_held
    az upload films "$place/$1-of/$2" "$3"
    for file in $(grep -lsaz "^WINDLASS_JOB=$1\$" /proc/[0-9]*/environ); do
        tr '\0' '\n' <"/proc/${file//[!0-9]/}/cmdline" | grep -qx score && kill -9 "${file//[!0-9]/}"
    done
    faults "[$listed]"
    ends
    check "$1: stored again in mid-run ends the job by name" eval '[ $code -eq 1 ] && grep -q "'"$4"'" "$work/'"$1"'/log"'
    show "$1"
}
labels() {
    printf 'red\ngreen\ngray\n' >"$work/gray.txt"
    scorer labels labels.txt "$work/gray.txt" spec.scorer.onnx.postprocess.labels
}
model() { scorer model 7.onnx "$work/model/8.onnx" spec.scorer.onnx.path; }

    for value in 0 1; do
        python3 - "$work/a$value.npy" $value <<'P'
import struct, sys
count = 400
head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 1, 2, 2), }}".encode()
head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
open(sys.argv[1], "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack("<f", float(sys.argv[2])) * count * 4)
P
    done
    for seed in 7 8; do "$build/windlass-agent" model new mlp --classes 3 --shape 1x2x2 --seed $seed -o "$work/model/$seed.onnx" >/dev/null; done
ffmpeg -v error -f lavfi -i testsrc2=size=32x32:rate=10 -frames:v 1 "$work/one.png" </dev/null || exit 3
ffmpeg -v error -f lavfi -i testsrc=size=32x32:rate=10 -frames:v 1 "$work/other.png" </dev/null || exit 3
draw "inputs that change" 2 table film arrays labels model pictures
! is_drawn film || for turn in 0 1; do
    ffmpeg -v error -f lavfi -i "testsrc2=size=256x256:rate=25,hue=h=$((90 * turn))" -frames:v 200 -c:v rawvideo -pix_fmt rgb24 "$work/film$turn.nut" </dev/null || exit 3
done
az upload films "$place/model" "$work/model" || exit 3
held() { # one after another: they hold by the same proxy
    local each
    for each in film arrays labels model pictures; do ! is_drawn $each || $each; done
}
beside=(files held)
! is_drawn table || beside+=(table)
side_by_side "${beside[@]}"
exit $((failures > 0))
