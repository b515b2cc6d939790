#!/usr/bin/env bash
# Jobs of other systems that `windlass import` made run on this machine: an indexed Job, whose indices are tried again and
# counted, a batch deployment of Azure ML with an entry script that knows nothing of Windlass, and an Experiment of Katib.
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=${BUILD:-build}/windlass
built "$windlass" "${BUILD:-build}/windlass-agent" || { echo "not ok test_import: cannot be built"; exit 1; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
fail() { echo "not ok test_import: $1"; cat "$work/said" 2>/dev/null; exit 1; }
# imported NAME: the manifest of tests/data/import/NAME.yaml, changed by sed's commands, with the claim as a folder here.
imported() { # NAME [SED...]
    local name=$1
    shift
    sed -e '' "$@" "tests/data/import/$name.yaml" >"$work/$name.from.yaml"
    "$windlass" import "$work/$name.from.yaml" --name "$name" 2>"$work/said" |
        sed "s#persistentVolumeClaim: {claimName: $name-work}#hostPath: {path: $work/volume}#" >"$work/$name.yaml"
    "$windlass" check -f "$work/$name.yaml" >"$work/said" 2>&1 || fail "$name: the result is refused"
}
run() { "$windlass" run -f "$work/$1.yaml" --state "$work/state" >"$work/said" 2>&1 </dev/null; }

# Index 3 fails whenever it is tried: one failed index is allowed.
mkdir -p "$work/volume/indices" "$work/volume/data" "$work/volume/code"
(cd "$work/volume/indices" && touch 0 1 2 3 4)
imported indexed-job -e "s#echo \"Processing index: \$JOB_COMPLETION_INDEX\"#echo \"\$GREETING \$JOB_COMPLETION_INDEX\" >>$work/seen#" \
    -e 's/, {name: KEY.*}}}//'
run indexed-job || fail "the indexed Job failed"
[ "$(sort "$work/seen" | uniq -c | awk '{print $1 $2 $3}' | xargs)" = "1hello0 1hello1 1hello2 2hello3 1hello4" ] ||
    { sort "$work/seen"; fail "each index once, and the one that fails twice"; }
[ "$(jq .items.failed "$work/volume/done/summary.json")" = 1 ] || fail "one index has failed"
imported indexed-job -e 's/maxFailedIndexes: 2/maxFailedIndexes: 0/' -e 's/, {name: KEY.*}}}//'
run indexed-job && fail "one failed index is more than none"

# An entry script as Azure's documentation has it.
for name in a b c; do echo "$name" >"$work/volume/data/$name.txt"; done
cat >"$work/volume/code/batch_driver.py" <<'PYTHON'
import os
def init():
    global model
    model = os.environ["AZUREML_MODEL_DIR"]
def run(mini_batch):
    return [f"{os.path.basename(path)} {os.path.basename(model)}" for path in mini_batch]
PYTHON
imported batch-deployment
run batch-deployment || fail "the batch deployment failed"
grep -q '^b.txt,.*b.txt model' "$work/volume/out/predictions.csv" || { cat "$work/volume/out/predictions.csv"; fail "the rows"; }

# The trials get the parameters under Katib's names for them, and their own name, which letters may follow.
imported experiment -e "s#command: \[python3, mnist.py, \(.*\)\]#command: [sh, -c, \"echo loss=0.5; echo \$TRIAL >>$work/trials\", \1]#" \
    -e 's/maxTrialCount: 12/maxTrialCount: 2/' -e '/metricsCollectorSpec/d'
run experiment || fail "the experiment failed"
[ "$(grep -c '^experiment-.*_[1-5]$' "$work/trials")" = 2 ] || { cat "$work/trials"; fail "the names of the trials"; }
echo "ok test_import"
exit 0 # verifies what the jobs have made
