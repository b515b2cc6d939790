#!/usr/bin/env bash
# windlass verify of outputs on az://, on a real Azurite: rows, files and a film of a BatchScore, a training, the
# registered version of a Sweep, signed and not. A blob that is changed, lost or added afterwards is named; a result does
# not stay when its job is run again and fails.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/azurite/own.sh
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" "${BUILD:-build}/windlass-trainer" || { echo "not ok test_azure_result: cannot be built"; exit 1; }
windlass=$build/windlass
unset OMPI_COMM_WORLD_SIZE PMIX_RANK PMIX_NAMESPACE
mkdir -p "$work/in" "$work/code" "$work/model" "$work/secrets/results"
cat >"$work/code/score.py" <<'P'
import json, os, sys
fails = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fails")
for line in sys.stdin:
    asked = json.loads(line)
    if "init" in asked:
        answer = {"ready": True}
    elif os.path.exists(fails):
        answer = {"id": asked["id"], "error": "no"}
    else:
        answer = {"id": asked["id"], "results": [open(item).read() for item in asked["items"]]}
    print(json.dumps(answer), flush=True)
P
for i in 0 1 2 3 4 5; do echo "file $i" >"$work/in/f$i"; done
python3 tests/data/models/make.py "$work/model"
ffmpeg -v error -f lavfi -i testsrc2=size=64x48:rate=10 -t 1 -c:v libx264 -pix_fmt yuv420p "$work/film.mp4" </dev/null || exit 3
openssl genpkey -algorithm ed25519 -out "$work/secrets/results/key.pem" 2>/dev/null
openssl pkey -in "$work/secrets/results/key.pem" -pubout -out "$work/public.pem"
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out "$work/other.pem"
az upload films "$place/in" "$work/in" && az upload films "$place/film.mp4" "$work/film.mp4" &&
    az upload films "$place/model" "$work/model" || exit 3
in=az://films/$place out=az://results/$place/out
signs='signingKey: {secretName: results, key: key.pem}'

job() { # NAME KIND: the spec comes on stdin
    { printf 'apiVersion: windlass.dev/v1beta1\nkind: %s\nmetadata: {name: %s}\nspec:\n' "$2" "$1"; sed 's/^/  /'; } >"$work/$1.yaml"
}
run() { # NAME [OPTION...]: its exit code is in $code
    timeout -k 5 120 "$windlass" run -f "$work/$1.yaml" --state "$work/state-$1" --secrets "$work/secrets" "${@:2}" >"$work/$1.log" 2>&1 </dev/null
    code=$?
}
verify() { "$windlass" verify "$out/$1" "${@:2}" >"$work/said-${1//\//-}" 2>&1 </dev/null; }
# What verify reports: its exit code, and the lines of faults.
verdict() { verify "$@"; echo "$? $(grep -E '^(changed|missing|not made|named twice|signature)' "$work/said-${1//\//-}" | sed -E 's/  +/ /' | paste -sd';')"; }
is() { [ "$1" = "$2" ] || { echo "# $1"; false; }; }
names() { az list results "$place/out/$1" | grep -v '^[.]windlass' | LC_ALL=C sort | paste -sd' '; }
put() { az put results "$place/out/$1" "$2"; }
remove() { az remove results "$place/out/$1"; }
forget() { az clear results "$place/out/$1"; }
# tampers OUTPUT BLOB OTHER: one blob is changed, another one lost, a third one added.
tampers() {
    check "$1: a blob that is added is found" eval "put $1/stale/x y; is \"\$(verdict $1)\" '1 not made by this run stale/x'"
    check "$1: it may be allowed" eval "is \"\$(verdict $1 --allow-extra)\" '0 not made by this run stale/x'"
    check "$1: a changed blob is found, with the added one" eval "put $1/$2 other; is \"\$(verdict $1)\" '1 changed $2;not made by this run stale/x'"
    check "$1: a lost blob is found, with both" eval "remove $1/$3; is \"\$(verdict $1)\" '1 missing $3;changed $2;not made by this run stale/x' || is \"\$(verdict $1)\" '1 changed $2;missing $3;not made by this run stale/x'"
    check "$1: as JSON, too" eval "is \"\$($windlass verify $out/$1 -o json | jq -c '[.holds, .changed.names, .missing.names, .extra.names]')\" '[false,[\"$2\"],[\"$3\"],[\"stale/x\"]]'"
}
show() { [ "$failures" -eq 0 ] || { tail -qn 6 "$work/$1.log" "$work/said-$1" "$work/state-$1"/*.log | sed 's/^/# /'; } 2>/dev/null; }

scores() { # NAME MODE [MORE]
    job "$1" BatchScore <<M
input: {files: {path: $in/in}}
scorer: {command: {command: [python3, \$(code)/score.py]}}
output: {path: $out/$1, mode: $2}
miniBatchSize: 2
retry: {maxTries: 1, timeoutSeconds: 20}
workers: {min: 1, max: 1}
volumes: [{name: code, hostPath: {path: $work/code}}]
stores: [{account: films, secretName: films}, {account: results, secretName: results}]
${3:-}
M
}
rows() {
    scores rows AppendRow "$signs"
    run rows
    check "rows hold, and are signed" eval 'is "$code $(verdict rows --key "$work/public.pem")" "0 0 "'
    check "another key has not signed them" eval 'is "$(verdict rows --key "$work/other.pem" | cut -d";" -f1 | cut -c1-11)" "1 signature"'
    az get results "$place/out/rows/result.json" | sed 's/"done": 6/"done": 5/' >"$work/told.json"
    az upload results "$place/out/rows/result.json" "$work/told.json"
    check "a result that was changed after it was signed is found" eval '[ "$(verdict rows --key "$work/public.pem" | cut -c1)" = 1 ] && grep -q "about another result.json" "$work/said-rows"'
    run rows --restart
    check "made anew they hold again" eval 'is "$code $(verdict rows --key "$work/public.pem")" "0 0 "'
    tampers rows rows.txt summary.json
    show rows
    forget rows
}
files() {
    scores files PerFile
    run files
    check "files hold" eval 'is "$code $(verdict files)" "0 0 "'
    check "without a signature a key does not hold" eval 'is "$(verdict files --key "$work/public.pem")" "1 signature result.intoto.jsonl is missing"'
    check "nothing else is there" eval 'is "$(names files)" "f0.json f1.json f2.json f3.json f4.json f5.json failed.jsonl mini_batches.csv outputs.jsonl report.html result.json summary.json workers.csv"'
    tampers files f3.json f1.json
    show files
    forget files
}
stale() {
    mkdir "$work/code/stale"
    sed 's/fails")/..\/stale\/fails")/' "$work/code/score.py" >"$work/code/stale/score.py"
    scores stale PerFile
    sed -i 's#/score.py#/stale/score.py#' "$work/stale.yaml"
    run stale
    check "a result is there" eval 'is "$code $(verdict stale)" "0 0 "'
    touch "$work/code/stale/fails"
    run stale --restart
    check "it is gone when its job is run again and fails" eval '[ $code -eq 1 ] && ! names stale | grep -q result'
    check "and verify says so" eval '[ "$(verdict stale | cut -c1)" = 2 ] && grep -q "has no result.json: job stale is still running there or has not succeeded" "$work/said-stale"'
    show stale
}
film() {
    job film BatchScore <<M
input: {video: {path: $in/film.mp4}}
scorer: {onnx: {path: $in/model/invert.onnx}}
output: {path: $out/film}
workers: {max: 1}
stores: [{account: films, secretName: films, readOnly: true}, {account: results, secretName: results}]
$signs
M
    run film
    check "a film holds, and is signed" eval 'is "$code $(verdict film --key "$work/public.pem")" "0 0 "'
    tampers film film.mp4 report.html
    show film
    forget film
}
fields='workers: 1
trainer:
  model: {new: MLP, classes: 4, shape: [1, 4, 4]}
  data:
    train: {synthetic: {count: 64, classes: 4, shape: [1, 4, 4]}}
    test: {synthetic: {count: 32, classes: 4, shape: [1, 4, 4]}}
  epochs: 2
  batchSize: 32
  optimizer: {learningRate: RATE}
  output: {path: OUT}
stores: [{account: results, secretName: results}]'
training() {
    { sed "s#OUT#$out/training#; s/RATE/'0.1'/" <<<"$fields"; echo "$signs"; } | job training DistTrain
    run training
    check "a training holds, and is signed" eval 'is "$code $(verdict training --key "$work/public.pem")" "0 0 "'
    local claim
    claim=.windlass/$(az get results "$place/out/training/result.json" | jq -r '.run + "/claim/" + (.generation + 1 + 1000000000000 | tostring | .[1:])')
    put "training/$claim" stranger
    check "that of an overtaken start does not hold" eval '[ "$(verdict training | cut -c1)" = 1 ] && grep -q "^a newer start .*$claim" "$work/said-training"'
    remove "training/$claim"
    tampers training model.onnx metrics.csv
    sed -i 's/learningRate: .*}/learningRate: "0.2"}/; s/epochs: 2/epochs: 3/' "$work/training.yaml"
    run training --restart
    check "trained anew, with other settings, the result is the new one" eval 'is "$code $(verdict training --key "$work/public.pem")" "0 1 not made by this run stale/x"'
    show training
    remove training/stale/x
}
sweep() {
    {
        printf 'objective: {metric: accuracy, goal: Maximize}\nparameters: [{name: RATE, choice: ["0.1", "0.3"]}]\nalgorithm: {kind: Grid}\n'
        printf 'maxTrials: 2\nmaxConcurrentTrials: 2\nregister: {path: %s/models}\ntrial:\n' "$out"
        { sed "s#OUT#$out/trials#; s/RATE/\$(RATE)/" <<<"$fields"; echo "$signs"; } | sed 's/^/  /'
    } | job sweep Sweep
    run sweep
    local version trial
    version=models/sweep/$(az get results "$place/out/models/sweep/latest")
    check "a registered version holds, and is signed (code $code)" eval 'is "$code $(verdict "$version" --key "$work/public.pem")" "0 0 "'
    trial=trials/$(az list results "$place/out/trials" | sed -n 's#/0000/result.json$#/0000#p')
    check "and so does each trial" eval 'is "$(verdict "$trial" --key "$work/public.pem")" "0 "'
    tampers "$version" model.onnx metrics.csv
    show sweep
    forget "$version"
}
command_outputs() {
    job command DistTrain <<M
workers: 1
image: registry.test/any:1
launcher: None
command: ["true"]
outputs: [{id: MODEL, path: "$out/command"}]
stores: [{account: results, secretName: results}]
M
    "$windlass" check -f "$work/command.yaml" >"$work/command.log" 2>&1
    check "a program writes into folders: an output of it on az:// is refused" eval '[ $? -ne 0 ]; grep -q "spec.outputs\[0\].path" "$work/command.log"'
}
side_by_side rows files stale film training sweep command_outputs
exit $((failures > 0))
