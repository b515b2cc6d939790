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
exit $((failures > 0))
