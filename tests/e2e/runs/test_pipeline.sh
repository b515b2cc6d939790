#!/usr/bin/env bash
# examples/pipeline on this machine: the steps run in the order of spec.after, a second run runs only what changed, a
# failed step stops those after it, and circles are refused before anything starts. No cluster is there.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/xdg KUBECONFIG=$work/none PATH=$(realpath "${BUILD:-build}"):$PATH
cp -r examples/pipeline "$work/pipe"
cd "$work/pipe" || exit 3
# w WORDS...: windlass; $code and the file all are what it left.
w() { windlass "$@" >"$work/all" 2>&1 </dev/null; code=$?; }
said() { grep -qF -- "$1" "$work/all"; }
kept() { sed -n 's/^windlass: \(.*\) has succeeded before.*/\1/p' "$work/all" | tr '\n' ' '; }
ended() { sed -n 's/^\([a-z]*\) succeeded.*/\1/p' "$work/all" | tr '\n' ' '; }

w check -f .
check "check: four steps are right" [ "$code $(grep -c 'is OK$' "$work/all") $(wc -l <"$work/all")" = "0 4 4" ]
w check -f score.yaml
check "check: names that are in none of the files are noted" [ $code -eq 0 -a -n "$(grep 'score waits for train, which is in none' "$work/all")" ]
w run -f report.yaml
check "a step alone wants what it waits for" [ $code -eq 2 -a -n "$(grep 'spec.after: score is in none of these files' "$work/all")" ]

w run -f .
check "run: all steps, in the order of spec.after" [ "$code $(ended)" = "0 prepare train score report " ]
check "run: the last step has read what the one before wrote" [ "$(cat data/report/rows.txt)" = 4 ]
w run -f .
check "again: none runs" [ "$code $(kept)$(ended)" = "0 prepare train score report " ]
check "again: and each says so" [ "$(kept)" = "prepare train score report " ]
sed -i 's/rows.txt/count.txt/' report.yaml
w run -f .
check "a changed spec: that step runs" [ "$code $(kept)/ $(ended)" = "0 prepare train score / report " ]
w run -f report.yaml
check "a step alone: the others have succeeded before" [ $code -eq 0 ]

sed -i 's/set -e;/exit 7;/; s#data/pictures#data/broken#' prepare.yaml
w run -f .
check "a failed step: the exit code says so" [ $code -eq 1 ]
check "a failed step: those after it are skipped" [ "$(grep -c '^windlass: skipped: [a-z]*, because prepare failed$' "$work/all") $(ended)" = "2 " ]
check "a failed step: and those after these" said 'skipped: report, because score failed'

sed -i 's/^spec:$/spec:\n  after: [{name: report}]/' prepare.yaml
w check -f .
check "a circle: check tells it" [ $code -eq 2 -a -n "$(grep 'prepare.yaml: spec.after goes in a circle: prepare, report, score, prepare' "$work/all")" ]
w run -f .
check "a circle: nothing runs" [ "$code $(ended)" = "2 " ]
sed -i 's/after.score.output/after.train.output/' report.yaml
w check -f report.yaml
check "a reference to another job: with its line" said 'report.yaml:15: spec.command[2]: $(after.train.output) is of a job that spec.after does not name'

# Two short steps, and what makes them run again.
# step NAME AFTER COMMAND [MORE]
step() {
    printf 'apiVersion: windlass.dev/v1beta1\nkind: DistTrain\nmetadata: {name: %s}\nspec:\n  workers: 1\n  launcher: None\n  image: x\n%s  outputs: [{id: OUT, path: d/%s}]\n  volumes: [{name: d, persistentVolumeClaim: {claimName: d}}]\n  command: [sh, -c, "%s"]\n' \
        "$1" "$2" "$1" "$3" >"$work/mini/$1.yaml"
}
mkdir -p "$work/mini/d" "$work/other"
cd "$work/mini" || exit 3
echo 1 >d/v1
ln -s v1 d/input
step aa '  inputs: [{id: IN, path: d/input}]
' 'cp $(d)/input $(d)/aa/x'
step bb '  after: [{name: aa}]
' 'cp $(after.aa.output)/x $(d)/bb/x'
w run -f .
w run -f .
check "two steps: kept" [ "$code $(kept)/ $(ended)" = "0 aa bb / " ]
w run --restart -f aa.yaml
w run -f .
check "the step before ran alone: those after it run again" [ "$code $(kept)/ $(ended)" = "0 aa / bb " ]
rm d/bb/result.json
w run -f .
check "an output without its result: runs again" [ "$code $(kept)/ $(ended)" = "0 aa / bb " ]
rm d/bb/x
w run -f .
check "an output without one of its files: runs again" [ "$code $(kept)/ $(ended)$(cat d/bb/x)" = "0 aa / bb 1" ]
sed 's/{name: aa}/{name: cc}/; s/input /v1 /' aa.yaml >"$work/cc.yaml"
w run -f "$work/cc.yaml" --volume d=d
w run -f .
check "another job has written to the output: runs again" [ "$code $(kept)/ $(ended)" = "0 / aa bb " ]
touch -d '2020-01-01' d/v1
w run -f .
check "an input with an old time: runs again" [ "$code $(kept)/ $(ended)" = "0 / aa bb " ]
mkdir -p "$work/apart/d/aa"
cp bb.yaml "$work/apart/"
w run -f aa.yaml -f "$work/apart/bb.yaml"
check "an output in another folder of the same name is not read" [ $code -eq 2 -a -n "$(grep "spec.volumes: d is $work/apart/d here, but $work/mini/d in aa" "$work/all")" ]
touch -d '+1 hour' d/v1
w run -f .
check "an input behind a link was changed: runs again" [ "$code $(kept)/ $(ended)" = "0 / aa bb " ]
touch -d '-1 hour' d/v1
cp d/v1 "$work/other/input"
w run -f . --volume d="$work/other"
check "another folder for the volume: all run, there" [ "$code $(kept)/ $(ended)$(cat "$work/other/bb/x")" = "0 / aa bb 1" ]
cp -r "$work/mini" "$work/copy"
cd "$work/copy" || exit 3
w run -f . --volume d="$work/other"
check "manifests that were copied: all run" [ "$code $(kept)/ $(ended)" = "0 / aa bb " ]
sed -i 's#command:#environment: {URL: "https://host/x"}\n  command:#' bb.yaml
w run -f . --volume d="$work/other"
w run -f . --volume d="$work/other"
check "an address in the spec: never kept" [ "$code $(kept)/ $(ended)" = "0 aa / bb " ]

# Steps that read no file: only the records tell that the step before ran again, or in which folder.
mkdir -p "$work/order/d" "$work/third"
cd "$work/order" || exit 3
sed '/inputs:/d; s#cp $(d)/input#echo 1 >#' "$work/mini/aa.yaml" >aa.yaml
sed 's#cp $(after.aa.output)/x#echo 1 >#' "$work/mini/bb.yaml" >bb.yaml
w run -f .
w run --restart -f aa.yaml
w run -f .
check "steps without inputs: those after one that ran alone run again" [ "$code $(kept)/ $(ended)" = "0 aa / bb " ]
w run -f . --volume d="$work/third"
check "steps without inputs, another folder: all run, there" [ "$code $(kept)/ $(ended)$(cat "$work/third/bb/x")" = "0 / aa bb 1" ]

# A parameter of both steps, in what one writes and the other reads; and in a run of a series.
cd "$work/mini" || exit 3
sed -i 's#^spec:#spec:\n  parameters: [{name: day, value: monday}]#; s#path: d/aa#path: d/$(parameters.day)#; s#$(d)/aa/x#$(d)/$(parameters.day)/x#' aa.yaml
step bb '  after: [{name: aa}]
  parameters: [{name: day, value: monday}, {name: second, value: "1"}]
' 'echo $(parameters.day) >$(d)/bb/day; cp $(after.aa.output)/x $(d)/bb/x'
w check -f . --set days=friday
check "--set of no parameter: refused, with the nearest" [ $code -eq 2 -a -n "$(grep 'no job of these files has that parameter.*did you mean day' "$work/all")" ]
w check -f . --set day=../friday
check "--set to what leaves the volume: refused, with the field" [ $code -eq 2 -a -n "$(grep 'aa.yaml:.*spec.outputs\[0\].path: a path may not contain' "$work/all")" ]
w check -f aa.yaml --set day=friday --show
check "check --set --show: the manifest for a cluster has the value" [ "$code $(jq -r '.spec.parameters[0].value + " " + .spec.outputs[0].path' "$work/all")" = '0 friday d/$(parameters.day)' ]
w run -f . --set day=friday --set second=2
check "run --set: both steps have it" [ "$code $(ended)$(cat d/bb/day d/friday/x | tr '\n' ' ')" = "0 aa bb friday 1 " ]
# The newest record of a job: the words that started it.
words_of() { jq -rs --arg name "$1" 'map(select(.name == $name)) | max_by(.startMilliseconds).arguments | join(" ")' "$XDG_STATE_HOME"/windlass/runs/*.json; }
check "a record has the values that its job has" [ "$(words_of aa)/$(words_of bb)" = "--set day=friday/--set day=friday --set second=2" ]
w run -f . --set day=friday --set second=2
check "run --set again: kept" [ "$code $(kept)" = "0 aa bb " ]
w diff -f aa.yaml --set day=friday
check "diff --set: the same as that run" [ $code -eq 0 ]
rm d/friday/x
w rerun aa
check "rerun: with the value of that run" [ $code -eq 0 -a -e d/friday/x ]
w run -f .
check "another value: another run" [ "$code $(ended)$(cat d/bb/day)" = "0 aa bb monday" ]

cd "$work/pipe" || exit 3
for day in $(date -u +%F) $(date -u -d tomorrow +%F); do
    mkdir "data/$day" && cp data/pictures/new/four.npy "data/$day"
done
sed 's#^  after:#  schedule: {cron: "0 3 * * *"}\n  parameters: [{name: day, from: Date}]#; /^    - name: [pt]/d; s#$(after.prepare.output)/new#data/$(parameters.day)#; s#$(after.train.model)#data/model/model.onnx#; s#data/scores#data/daily#; s#name: score#name: daily#' score.yaml >"$work/daily.yaml"
w run -f "$work/daily.yaml" --once --volume data=data
check "a run of a series: has its date" [ $code -eq 0 -a "$(cat data/daily/runs/*/classes.jsonl | wc -l)" = 4 ]
rm -r data/20??-*
mkdir data/2026-11-20 && cp data/pictures/new/four.npy data/2026-11-20
w run -f "$work/daily.yaml" --once --volume data=data --set day=2026-11-20
check "for another day: --set" [ $code -eq 0 -a "$(cat data/daily/runs/*/classes.jsonl | wc -l)" = 8 ]

cd "$work/copy" || exit 3
mkdir "$work/spaces"
for space in one two; do
    sed "s/{name: \([ab]*\)}\$/{name: \1, namespace: $space}/" aa.yaml >"$work/spaces/$space-aa.yaml"
    sed "s/^metadata: {name: bb}/metadata: {name: bb, namespace: $space}/" bb.yaml >"$work/spaces/$space-bb.yaml"
done
w check -f "$work/spaces"
check "check: the same names in two namespaces are right" [ "$code $(grep -c 'is OK$' "$work/all")" = "0 4" ]
exit $((failures > 0))
