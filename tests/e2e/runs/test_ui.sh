#!/usr/bin/env bash
# `windlass ui` in Debian's Chromium: runs of this machine (one that failed, a sweep) at 390 and 1200 pixels, in light and
# dark, by keyboard; 10,000 jobs of a cluster with first paint and memory; who may ask; actions. UI_PICTURES=FOLDER keeps
# the pictures.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages chromium-headless-shell) || exit 3
build=$(realpath "${BUILD:-build}")
built "${BUILD:-build}/windlass" "${BUILD:-build}/windlass-agent" "${BUILD:-build}/windlass-trainer" || exit 3
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; [ -z "${UI_PICTURES:-}" ] || cp "$work"/*.png "$UI_PICTURES"; rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/xdg KUBECONFIG=$work/none PATH=$build:$PATH

# A run with items that fail: a name that would be markup, and a program that says so.
mkdir -p "$work/job/data/texts" "$work/job/code" "$work/job/out"
for i in 1 2 3; do echo "text $i" >"$work/job/data/texts/$i.txt"; done
echo bad >"$work/job/data/texts/<img src=x onerror=alert(1)>.txt"
cat >"$work/job/texts.yaml" <<'YAML'
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: texts}
spec:
  input: {files: {path: data/texts, pattern: "*.txt"}}
  scorer: {command: {image: example.com/none, command: [python3, $(code)/score.py]}}
  output: {path: data/out, mode: AppendRow, appendRowFileName: rows.jsonl}
  miniBatchSize: 1
  retry: {maxTries: 1}
  workers: {min: 1, max: 1}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
YAML
cat >"$work/job/code/score.py" <<'PY'
import sys
import windlass

def run(paths):
    print("the program begins", file=sys.stderr, flush=True)
    if any("<img" in str(path) for path in paths):
        raise ValueError("cannot read this")
    return [{"file": str(path)} for path in paths]

windlass.serve(run=run)
PY
cat >"$work/job/tries.yaml" <<YAML
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: tries}
spec:
  objective: {metric: accuracy, goal: Maximize}
  parameters: [{name: QUALITY, choice: [1, 2, 3]}]
  algorithm: {kind: Grid}
  maxTrials: 3
  maxConcurrentTrials: 3
  trial:
    workers: 1
    image: registry.test/any:1
    launcher: None
    restart: {maxRestarts: 0}
    command: [bash, -c, 'echo "accuracy: 0.2"; echo "accuracy: 0.5\$PARAM_QUALITY"; echo model >\$WINDLASS_OUTPUT_OUT/model']
    volumes: [{name: out, hostPath: {path: $work/job/out}}]
    outputs: [{id: OUT, path: out/models}]
YAML
(cd "$work/job" && windlass run -f texts.yaml) >"$work/texts.log" 2>&1
check "a run fails by one of its items" [ $? -eq 1 ]
(cd "$work/job" && windlass run -f tries.yaml) >"$work/tries.log" 2>&1
check "a sweep runs" [ $? -eq 0 ] || sed 's/^/# /' "$work/tries.log"

# A pipeline whose second step makes pictures of pictures.
mkdir -p "$work/pipe/data/photos" "$work/pipe/data/model"
cp docs/pictures/before.jpg "$work/pipe/data/photos/harbour.jpg"
convert_png="$work/pipe/data/photos/bars.png"
ffmpeg -v error -f lavfi -i testsrc2=size=320x240:rate=1 -frames:v 1 "$convert_png" </dev/null || exit 3
python3 tests/data/models/make.py "$work/pipe/data/model" || exit 3
step() { # NAME AFTER OUTPUT COMMAND
    printf 'apiVersion: windlass.dev/v1beta1\nkind: DistTrain\nmetadata: {name: %s}\nspec:\n  workers: 1\n  launcher: None\n  image: x\n%s  outputs: [{id: OUT, path: data/%s}]\n  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n  command: [sh, -c, "%s"]\n' \
        "$@" >"$work/pipe/$1.yaml"
}
step fetch '' in 'cp $(data)/photos/* $(data)/in'
step count '  after: [{name: invert}]
' counted 'ls $(after.invert.output) >$(data)/counted/names'
cat >"$work/pipe/invert.yaml" <<'YAML'
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: invert}
spec:
  after: [{name: fetch}]
  input: {files: {path: $(after.fetch.output), pattern: "*.[jp]*g"}}
  scorer: {onnx: {path: data/model/invert.onnx}}
  output: {path: data/inverted}
  workers: {min: 1, max: 1}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
YAML
(cd "$work/pipe" && windlass run -f .) >"$work/pipe.log" 2>&1
check "a pipeline runs" [ $? -eq 0 ] || sed 's/^/# /' "$work/pipe.log"

# serve NAME OPTION...: starts it; $address is its address, $ui its process.
serve() {
    windlass ui "${@:2}" >"$work/$1.url" 2>"$work/$1.err" &
    ui=$!
    until_true_while $ui 60 [ -s "$work/$1.url" ]
    address=$(<"$work/$1.url")
}
code() { curl -s -o /dev/null -w '%{http_code}' "$@"; }
serve runs
check "it prints one address with a token" [ "$(grep -cE '^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{48}/$' "$work/runs.url")" = 1 ]
check "and listens on 127.0.0.1 alone" [ "$(code "${address/127.0.0.1/127.0.0.2}")" = 000 ]
check "a wrong token and another Host get 404" \
    [ "$(code "${address%?}0/")$(code -H 'Host: rebound.example' "$address")$(code "$address")" = 404404200 ]
key=$(curl -s "${address}api/jobs/0" | jq -r '.jobs[][0]' | grep texts)
check "nothing is changed without --allow-actions" [ "$(code -d '' -H 'Windlass-Action: 1' "${address}api/rerun/$key")" = 403 ]

# Pictures come by their own tokens, from the job's input and output alone.
in=$work/pipe/data/in out=$work/pipe/data/inverted
cp "$convert_png" "$work/outside.png"
ln -s "$work/outside.png" "$in/a-link.png" && cp "$convert_png" "$out/a-link.png"
echo "not a picture" | tee "$in/a-text.png" >"$out/a-text.png"
drawn=$(curl -s "${address}api/jobs/0" | jq -r '.jobs[][0]' | grep invert)
curl -s "${address}api/job/$drawn" | jq -c '.pictures[]' >"$work/pictures"
pictured() { jq -r "select(.name == \"$1\") | .$2" "$work/pictures"; }
check "a job has its pictures before and after, and none behind a link" \
    [ "$(jq -r .name "$work/pictures" | tr '\n' ' ')" = "a-text.png bars.png harbour.jpg " ]
curl -s -D "$work/head" -o "$work/body" "${address}picture/$(pictured harbour.jpg before)/$drawn"
check "a picture is served as it is" [ "$(grep -ci '^content-type: image/jpeg' "$work/head")" = 1 -a -z "$(cmp "$work/body" "$in/harbour.jpg" 2>&1)" ]
check "what only has a picture's name is not, nor another token, nor one of another job" \
    [ "$(code "${address}picture/$(pictured a-text.png before)/$drawn")$(code "${address}picture/0123456789abcdef01234567/$drawn")$(code "${address}picture/$(pictured bars.png after)/$key")" = 404404404 ]
rm "$in"/a-* "$out"/a-*

browser=$(command -v chromium-headless-shell)
python3 -B tests/e2e/runs/ui_pages.py "$browser" "$work" "$address" runs
failures=$((failures + $?))
kill $ui
wait $ui
check "a signal ends it with code 0" [ $? -eq 0 ]

# An action is the command of that name: the run is done again.
mkdir "$work/bin"
printf '#!/bin/sh\necho "$@" >"%s/opened.new" && mv "%s/opened.new" "%s/opened"\n' "$work" "$work" "$work" >"$work/bin/xdg-open"
chmod +x "$work/bin/xdg-open"
PATH=$work/bin:$PATH serve acting --allow-actions --open
check "--open starts xdg-open" until_true_while $ui 60 [ -s "$work/opened" ]
opened=$(<"$work/opened")
check "with a file that only the user may read, and that leads to the address" \
    [ "$(stat -c %a "$opened") $(grep -cF "url=$address\"" "$opened")" = "600 1" ]
before=$(windlass list -a --local -o name | wc -l)
check "rerun is asked for" [ "$(code -d '' -H 'Windlass-Action: 1' "${address}api/rerun/$key")" = 202 ]
more() { [ "$(windlass list -a --local -o name | wc -l)" -gt "$before" ]; }
check "and runs" until_true 60 more
check "cancel of what does not run is refused, with the reason" \
    [ "$(curl -s -d '' -H 'Windlass-Action: 1' "${address}api/cancel/$key" | grep -c 'does not run')" = 1 ]
# A dry run does not read the manifest again: the command itself fails.
cp "$work/job/texts.yaml" "$work/texts.yaml" && echo "  nothing: 1" >>"$work/job/texts.yaml"
check "an action whose dry run is good is asked for" [ "$(code -d '' -H 'Windlass-Action: 1' "${address}api/rerun/$key")" = 202 ]
has_failed() { curl -s "${address}api/job/$key" | jq -r .actionFailed | grep -q 'rerun: windlass: .*nothing'; }
check "and when it fails then, the job says why" until_true 60 has_failed
cp "$work/texts.yaml" "$work/job/texts.yaml"
kill $ui
wait $ui
check "the file is gone at the end" [ ! -e "$opened" ]

python3 -B tests/e2e/runs/many_jobs.py "$work" 10000 &
until_true_while $! 60 [ -s "$work/kubeconfig" ]
serve many -A --kubeconfig "$work/kubeconfig" --allow-actions
all() { [ "$(curl -s "${address}api/jobs/0" | jq '.jobs | length')" -ge 10000 ]; }
check "10,000 jobs of a cluster are listed" until_true_while $ui 60 all
check "no value of a variable is in them" [ "$(curl -s "${address}api/jobs/0" "${address}api/job/job/BatchScore/team-0/job-00000" | grep -c hunter2)" = 0 ]
version=$(curl -s "${address}api/jobs/0" | jq .version)
check "an unchanged list is a few bytes" [ "$(curl -s "${address}api/jobs/$version" | wc -c)" -lt 200 ]
(
    until [ -e "$work/go" ]; do kill -0 $ui && nap 0.05 || exit; done
    jq -cn '{type: "ADDED", object: {apiVersion: "windlass.dev/v1beta1", kind: "BatchScore", metadata: {name: "just-made",
        namespace: "team-1", uid: "new", resourceVersion: "1000001"}, spec: {}, status: {startTime: "2030-01-01T00:00:00Z"}}}' >"$work/event.new"
    mv "$work/event.new" "$work/event"
) &
python3 -B tests/e2e/runs/ui_pages.py "$browser" "$work" "$address" cluster
failures=$((failures + $?))
suspended() { grep -q 'namespaces/team-0/batchscores/job-00000?fieldManager=windlass-cli .*"suspend":true' "$work/changes"; }
check "suspend in the page is windlass suspend" until_true 60 suspended

# A cluster that does not answer: job-00002 has three pods whose logs come never, job-00003 is never sent.
slow=$(curl -s "${address}api/logs/job/BatchScore/team-2/job-00002")
check "logs end at the first pod whose log does not come" [ "$(jq -c '[length, .[0].lines[0]]' <<<"$slow")" = '[1,"the API server does not answer in time"]' ] ||
    echo "# $slow"
echo "# memory, KiB: $(awk '/VmHWM/ {print $2}' /proc/$ui/status)"
check "with 10,000 jobs it takes less than 64 MiB" [ "$(awk '/VmHWM/ {print $2}' /proc/$ui/status)" -lt 65536 ]
curl -s -d '' -H 'Windlass-Action: 1' "${address}api/suspend/job/BatchScore/team-3/job-00003" >/dev/null &
check "an action waits for the cluster" until_true 60 [ -e "$work/asked" ]
kill $ui
gone() { ! kill -0 $ui; }
check "a signal ends the program meanwhile" until_true 15 gone
exit $((failures > 0))
