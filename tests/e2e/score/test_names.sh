#!/usr/bin/env bash
# Files whose name, link or output cannot be used, by `windlass run`: each is a failed item with its reason, found when
# the input is listed; the others are scored, and nothing is skipped, replaced or found out at the end.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
in=$work/data/in
mkdir -p "$in/a.json" "$in/deep" "$work/model"
python3 tests/data/models/make.py "$work/model"
cat >"$work/score.py" <<'P'
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"ready": True} if "init" in asked else {"id": asked["id"], "results": [open(p).read() for p in asked["items"]]}), flush=True)
P
run() { # OUTPUT FILES [MORE [SCORER]]: its exit code is in $code
    local command="{command: {command: [python3, $work/score.py]}}"
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: names}
spec:
  input: {files: $2}
  scorer: ${4:-$command}
  output: {path: data/$1}
  miniBatchSize: 3
  ${3:-errorThreshold: -1}
  workers: {max: 1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: model, persistentVolumeClaim: {claimName: model}}
M
    timeout 60 "$windlass" run -f "$work/job.yaml" --state "$work/state-$1" >"$work/log" 2>&1 </dev/null
    code=$?
    [ $code -eq "${5:-0}" ] || sed 's/^/# /' "$work/log"
}
long=$(printf 'l%.0s' {1..251})
for name in a a.json/b summary deep/summary fine $'caf\xe9' "$long" "${long}1234"; do
    echo "$name" >"$in/$name"
done
ln -s /etc/hostname "$in/leaves"
ln -s nowhere "$in/broken"
ln -s fine "$in/linked"
mkdir -p "$work/data/other/.hidden"
echo other >"$work/data/other/missed"
ln -s ../other "$in/folder"
ln -s deep "$in/same" # its files are listed under their own names
# Paths that are too long, two of them in one folder, and one that is too deep in folders.
wide=wide/$(printf 'w%.0s' {1..240}) && wide=$wide/$wide/$wide && wide=$wide/$wide/$wide
down=$(printf 'd/%.0s' {1..65})
mkdir -p "$in/$wide" "$in/$down"
touch "$in/$wide/one" "$in/$wide/two" "$in/${down}three"

run out '{path: data/in}'
out=$work/data/out
check "a job within its threshold succeeds" [ $code -eq 0 ]
made() { (cd "$out" && find . -path ./.windlass -prune -o -type f -name '*.json*' -print | sort | tr '\n' ' '); }
# 251 bytes and ".json" are 256.
check "what can be written is there" [ "$(made)" = "./a.json ./deep/summary.json ./failed.jsonl ./fine.json ./linked.json ./outputs.jsonl ./result.json ./summary.json " ]
check "and the run's summary is its own" [ "$(jq -r '.state, .items.done, .items.failed' "$out/summary.json" | xargs)" = "Succeeded 4 10" ]
fault() { jq -r --arg name "$1" 'to_entries | map(.value) | select(index($name)) | map(tostring) | join(" ")' "$out/failed.jsonl"; }
failed() { fault "$1" | grep -qF -- "$2" || { sed 's/^/# /' "$out/failed.jsonl"; false; }; }
check "a name that is the summary's has failed" failed summary 'its output would be summary.json, which is a file of the run'
check "a name that is not UTF-8" failed 'caf\xe9' 'its name is not UTF-8'
check "a name that is too long with .json" failed "$long" "is longer than 255 bytes"
check "one that is too long already" failed "${long}1234" "is longer than 255 bytes"
check "a link that leaves the volume" failed leaves 'a symbolic link in the path leaves the volume'
check "a link to a folder that is not listed itself" failed folder 'it is a link to a folder, and such links are not followed'
check "a broken link" failed broken 'no such file'
check "a path of more than 2,048 bytes" failed "${wide:0:2048}" 'a name that begins so is longer than 2048 bytes'
check "a folder that is too deep" failed "$(printf 'd/%.0s' {1..64})" 'what is in this folder has names of more than 64 parts'
check "a file below a folder with the name of an output" failed a.json/b 'its folder has the name of the output of a: rename one of them'

run strict '{path: data/in}' "errorThreshold: 0" "" 1
check "without a threshold the job fails" [ $code -eq 1 ]
run modified '{path: data/in, order: Modified}'
check "order Modified finds the same" [ "$code $(jq -r '.items.done, .items.failed' "$work/data/modified/summary.json" | xargs)" = "0 4 10" ]
run again '{path: data/in, pattern: "caf*"}'
check "an input of such names alone is not empty" [ "$code $(jq -r '.items.failed' "$work/data/again/summary.json")" = "0 4" ]
out=$work/data/again
check "files of a folder behind a link may match any pattern" failed folder 'such links are not followed'
check "and so may a path that is cut" failed "${wide:0:2048}" 'is longer than 2048 bytes'
ln -s ../other/.hidden "$work/data/other/behind"
run hidden '{path: data/other}'
out=$work/data/hidden
check "nor is a hidden folder listed" failed behind 'such links are not followed'

##### what is not an item ############################################################################
mkdir -p "$work/data/dots/.git/objects" "$work/data/dots/a"
for name in x.jpg .x.jpg a/y.jpg a/.y.txt .git/objects/z.jpg; do echo "$name" >"$work/data/dots/$name"; done
mkfifo "$work/data/dots/pipe.jpg"
counted() { jq -r '.items.done, .items.failed, .items.leftOut' "$work/data/$1/summary.json" | xargs; }
run seen '{path: data/dots, pattern: "*.jpg"}'
check "hidden names, a hidden folder and a pipe that the pattern covers are counted" [ "$code $(counted seen)" = "0 2 0 3" ]
check "and told at the end" grep -qx '  3 left out: their names begin with a dot, or they are not files' "$work/log"
rm "$work/data/dots/pipe.jpg" "$work/data/dots/.x.jpg"
echo new >"$work/data/dots/z.jpg"
run seen '{path: data/dots, pattern: "*.jpg"}'
check "a rerun counts them anew" [ "$code $(counted seen)" = "0 3 0 1" ]
run seen '{path: data/dots, pattern: "*.jpg"}'
check "and one that has nothing to do still tells" grep -qx '  1 left out: its name begins with a dot, or it is not a file' "$work/log"
run timed '{path: data/dots, pattern: "*.jpg", order: Modified}'
check "so does one in the order of times" [ "$code $(counted timed)" = "0 3 0 1" ]

##### a list of names, and pictures ################################################################
mkdir "$in/.windlassx"
echo hidden >"$in/.windlassx/h.txt"
printf '.windlassx/h.txt\nfine\n' >"$work/data/list.txt"
run listed '{path: data/in, manifest: data/list.txt}'
out=$work/data/listed
check "a name of the run's own folder, from a list" [ "$code $(made)" = "0 ./failed.jsonl ./fine.json ./outputs.jsonl ./result.json ./summary.json " ]
check "has failed" failed .windlassx/h.txt "its output would begin with .windlass, the run's own state"
{ printf 'fine\nlinked\nfine\n%s\n%s\ndeep/summary\nleaves\n' "$wide/one" "${down:0:-1}" && printf 'caf\xe9\n'; } >"$work/data/list.txt"
run twice '{path: data/in, manifest: data/list.txt}'
out=$work/data/twice
check "a name that is listed twice" failed fine 'has the name of that of an item before it: list it once'
check "and a listed link that leaves the volume" failed leaves 'a symbolic link in the path leaves the volume'
check "a listed path that is too long" failed "${wide:0:2048}" 'a path that begins so is longer than 2,048 bytes'
check "and one that is too deep" failed "${down:0:-1}" 'a path of more than 64 parts'
check "and one that is not UTF-8" failed 'caf\xe9' 'its name is not UTF-8'
check "the others are scored, once" [ "$code $(made)" = "0 ./deep/summary.json ./failed.jsonl ./fine.json ./linked.json ./outputs.jsonl ./result.json ./summary.json " ]
check "and none is tried again" [ "$(jq -r ".items.done, .items.failed, .items.retried" "$out/summary.json" | xargs)" = "3 5 0" ]
mkdir -p "$work/data/upper" "$work/data/folded/.windlass"
for name in A.txt a.txt b.txt; do echo "$name" >"$work/data/upper/$name"; done
run cased '{path: data/upper}'
check "storage that keeps case has room for both" [ "$code $(jq -r '.items.done, .items.failed' "$work/data/cased/summary.json" | xargs)" = "0 3 0" ]
# As on storage that ignores case, the run's own state is there under every spelling.
ln -s owner "$work/data/folded/.windlass/OWNER"
ln -s .windlass "$work/data/folded/.WINDLASS"
run folded '{path: data/upper}'
out=$work/data/folded
check "where case is ignored the second of two names has failed" failed a.txt 'its storage ignores the case of letters: rename one of them'
check "and the first is whole" [ "$code $(jq -r . "$out/A.txt.json" | xargs) $(jq -r '.items.done, .items.failed' "$out/summary.json" | xargs)" = "0 A.txt 2 1" ]
mkdir "$work/data/pictures"
ffmpeg -v error -f lavfi -i testsrc2=size=32x32:rate=10 -frames:v 1 "$work/data/pictures/p.png" </dev/null || exit 3
cp "$work/data/pictures/p.png" "$work/data/pictures/report.html"
run painted '{path: data/pictures}' "" "{onnx: {path: model/invert.onnx}}"
out=$work/data/painted
check "a picture with the name of the report" failed report.html 'which is a file of the run'
check "the other one is painted" [ "$code $([ -s "$out/p.png" ] && grep -c '<html' "$out/report.html")" = "0 1" ]

##### links in a folder of rows ####################################################################
mkdir "$work/data/rows"
printf 'a\n1\n' >"$work/data/rows/x.csv"
ln -s /etc/hostname "$work/data/rows/y.csv"
sed -i 's/files: .*/table: {path: data\/rows}}/; s/path: data\/painted/path: data\/table/; s/miniBatchSize: 3//; s/scorer: .*/scorer: {command: {command: [cat]}}/' "$work/job.yaml"
timeout 60 "$windlass" run -f "$work/job.yaml" --state "$work/state-table" >"$work/log" 2>&1 </dev/null
code=$?
check "rows behind a link that leaves the volume are missed, by name" [ "$code $(grep -c 'data/rows/y.csv: a symbolic link in the path leaves the volume: remove it' "$work/log" | sed 's/[1-9]/some/')" = "1 some" ]
rm "$work/data/rows/y.csv"
ln -s ../other "$work/data/rows/z"
timeout 60 "$windlass" run -f "$work/job.yaml" --state "$work/state-table" >"$work/log" 2>&1 </dev/null
code=$?
check "and so are those in a folder behind a link" [ "$code $(grep -c 'data/rows/z: it is a link to a folder, and such links are not followed: remove it' "$work/log" | sed 's/[1-9]/some/')" = "1 some" ]
rm "$work/data/rows/z"
mkdir -p "$work/data/rows/$wide"
cp "$work/data/rows/x.csv" "$work/data/rows/$wide"
timeout 60 "$windlass" run -f "$work/job.yaml" --state "$work/state-table" >"$work/log" 2>&1 </dev/null
code=$?
check "and those in a file whose path is too long" [ "$code $(grep -c 'data/rows/wide/w*\.\.\.: a name that begins so is longer than 2048 bytes: remove it' "$work/log" | sed 's/[1-9]/some/')" = "2 some" ]
rm -r "$work/data/rows/wide"
cp "$work/data/rows/x.csv" "$work/data/rows/._x.csv"
sed 's/open(p).read()/p/' "$work/score.py" >"$work/rows.py"
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: rows}
spec:
  input: {table: {path: data/rows}}
  scorer: {command: {command: [python3, $work/rows.py]}}
  output: {path: data/hidden-rows, mode: AppendRow}
  workers: {max: 1}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
M
timeout 60 "$windlass" run -f "$work/job.yaml" --state "$work/state-table" >"$work/log" 2>&1 </dev/null
code=$?
check "a hidden table is counted" [ "$code $(jq -c "[.items.done, .items.leftOut]" "$work/data/hidden-rows/summary.json")" = "0 [1,1]" ]
exit $((failures > 0))
