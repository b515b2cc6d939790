#!/usr/bin/env bash
# A Sweep of kind PopulationBased by `windlass run`: each trial begins with the files of a trial of the generation
# before, the worst with those of the best and other values; the trial's own prepare runs afterwards.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
sweep_begins

# Its checkpoint is the rates of all intervals so far; the objective is how many were above 0.5, and the last rate.
cat >"$work/program.sh" <<'P'
set -eu
state=$AZ_BATCHAI_OUTPUT_STATE/rates
[ -e "$AZ_BATCHAI_OUTPUT_STATE/prepared" ]
echo "$PARAM_RATE" >>"$state"
awk -v name="score" '{ good += $1 > 0.5; last = $1 } END { printf "INFO %s=%.6f intervals=%d\n", name, good + last / 10, NR }' "$state"
P
cat >"$work/sweep.yaml" <<Y
apiVersion: windlass.dev/v1beta1
kind: Sweep
metadata: {name: crowd}
spec:
  objective: {metric: score, goal: Maximize}
  parameters: [{name: RATE, uniform: {min: "0", max: "1"}}]
  algorithm: {kind: PopulationBased, seed: 3, population: {size: 4, percentage: 25}}
  maxTrials: 12
  maxConcurrentTrials: 4
  trial:
    workers: 1
    image: registry.test/any:1
    launcher: None
    restart: {maxRestarts: 0}
    prepare: [bash, -c, 'echo yes >"\$AZ_BATCHAI_OUTPUT_STATE/prepared"']
    command: [bash, $work/program.sh]
    volumes: [{name: out, hostPath: {path: $work/out}}]
    outputs: [{id: STATE, path: out/models}]
Y
run_sweep 200
rates() { cat "$work"/out/models/crowd-*/"$(printf %04d "$1")"/rates; }
check "all of its trials complete" test $code -eq 0; show_sweep
continued() { # each trial has the rates of one of the generation before, and its own
    local i parent
    for i in {0..11}; do
        [ "$(rates "$i" | wc -l)" -eq $((i / 4 + 1)) ] || return 1
        [ "$i" -ge 4 ] || continue
        for parent in $(seq $((i / 4 * 4 - 4)) $((i / 4 * 4 - 1))); do
            [ "$(rates "$i" | sed '$d')" != "$(rates "$parent")" ] || continue 2
        done
        return 1
    done
}
check "each begins with the checkpoint of one of the generation before" continued; show_sweep
# of each generation the worst is not continued, and the member in its place is another's copy
replaced() { python3 tests/e2e/sweep/population.py "$work"/out/models/crowd-* 3; }
check "the worst is replaced by the best, with another value; the others go on as they were" replaced; show_sweep

##### of a trainer #################################################################################
mkdir -p "$work/data"
sed -e 's/^  algorithm: .*/  algorithm: {kind: PopulationBased, seed: 7, population: {size: 4}}/; /^  earlyStopping: /d' examples/sweep/sweep.yaml >"$work/trainer.yaml"
check "a trainer's population is valid" "$windlass" check -f "$work/trainer.yaml"
sed 's/population: {size: 4, percentage: 25}/population: {size: 4}/; /^    outputs: /d' "$work/sweep.yaml" >"$work/none.yaml"
refused() { "$windlass" check -f "$work/none.yaml" 2>&1 | grep -q 'spec.trial.outputs: is empty, so a trial of a population leaves nothing'; }
check "a command without outputs is refused" refused
exit $((failures > 0))
