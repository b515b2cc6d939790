#!/usr/bin/env bash
# Sweeps on a real API server (Kubernetes 1.20 with its garbage collector), the controller killed at random moments:
# every trial is made once, the best one is right, nothing is left. There is no kubelet: tests/cluster/kubelet.py ends
# each trial after 0.1 s, with its parameter X as the metric.
#   SOAK_ROUNDS: 1,000 trials and 20 kills instead of 50 and 2; SOAK_SEED: when
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
namespace=sweep-kills
. tests/e2e/cluster/jobs.sh
kind=sw
seed=${SOAK_SEED:-1} trials=50 kills=2
[ -z "${SOAK_ROUNDS:-}" ] || trials=1000 kills=20
echo "# SOAK_SEED=$seed SOAK_ROUNDS=${SOAK_ROUNDS:-}: $trials trials, $kills kills"
RANDOM=$seed
k() { "$kubectl" "$@"; }
python3 tests/cluster/kubelet.py "$api" 0.1 & kubelet=$!
most=0
# The longest time that the last controller gets before it is killed.
weigh() {
    local now
    now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB$/\1/p' "/proc/$pid/status" 2>/dev/null)
    [ "${now:-0}" -le "$most" ] || most=$now
}
# sweep NAME [LINE...]: with LINEs in its spec.
sweep() {
    local name=$1
    shift
    { cat <<YAML; printf '  %s\n' "$@"; } | k apply -f - >/dev/null
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: $name}
spec:
  objective: {metric: accuracy, goal: Maximize}
  trial:
    workers: 1
    image: registry.test/python:1
    launcher: None
    command: [train, $(echo '$(X)')]
    ttlSecondsAfterFinished: 0
YAML
}
range='parameters: [{name: X, uniform: {min: "0", max: "1"}}]'

##### killed ######################################################################################
controller first --no-leader-election
sweep many "$range" "maxTrials: $trials" "maxConcurrentTrials: $((trials < 100 ? trials / 2 : 50))"
ended() { field many .status.progress | cut -d/ -f1; }
for ((n = 1; n <= kills; n++)); do
    has_come() { [ "$(ended)" -ge $((trials * n / (kills + 2))) ]; }
    within 120 has_come
    sleep "0.$((RANDOM % 1000 + 1000))"
    weigh
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    controller "after-$n" --no-leader-election
done
within 600 is_ended many True Completed
check "sweep: it comes to its end over $kills kills" is_ended many True Completed
weigh
k get dt -l windlass.dev/job=many -o json >"$work/trials.json"
all_completed() {
    jq -e --argjson trials "$trials" '(.items | length) == $trials and
        all(.items[]; any(.status.conditions[]; .type == "Succeeded" and .status == "True"))' "$work/trials.json" >/dev/null
}
check "sweep: there are $trials trials, all completed" all_completed
[ ! -s "$api/violations" ] || sed 's/^/# /' "$api/violations"
check "sweep: no trial and no pod was made twice" [ ! -s "$api/violations" ]
check "sweep: counted" [ "$(field many .status.progress) $(field many .status.trials.completed) $(field many .status.trials.failed)" = "$trials/$trials $trials 0" ]
best() { jq -r '[.items[] | {name: .metadata.name, x: (.spec.environment.PARAM_X | tonumber)}] | max_by(.x) | .name' "$work/trials.json"; }
check "sweep: the best is the best ($(best))" [ "$(field many .status.best.trial)" = "$(best)" ]
check "sweep: its parameters are said" [ "$(field many .status.best.values.X)" = "$(jq -r --arg name "$(best)" '.items[] | select(.metadata.name == $name) | .spec.environment.PARAM_X' "$work/trials.json")" ]
all_gone() { local names; names=$(k get pods,services,secrets -o name) && ! grep -q '/many-' <<<"$names"; }
check "sweep: no pod, Service or Secret is left" within 60 all_gone
check "sweep: the controller took at most $((most / 1024)) MiB" [ "$most" -gt 0 -a "$most" -lt $((48 * 1024)) ]

##### other ends ##################################################################################
sweep silent 'parameters: [{name: W, choice: [1, 2, 3]}]' "algorithm: {kind: Grid}" "maxTrials: 10"
check "sweep: a metric that never appears" ends silent False ObjectiveMissing
check "sweep: is named, with what is to be done" says "no metric accuracy, nor any other" "$(condition silent message)"
sweep bayes "$range" "algorithm: {kind: Bayesian, seed: 3}" "maxTrials: 12" "maxConcurrentTrials: 2"
check "sweep: Bayesian comes to its end" ends bayes True Completed
sweep warm "$range" "warmStart: [missing]" "maxTrials: 3"
stalled() { [ "$(condition "$1" reason Stalled)" = "$2" ]; }
check "sweep: without the one that it goes on from it says so" within 60 stalled warm WarmStartMissing
sweep missing "$range" "maxTrials: 2"
check "sweep: and goes on when that is there" ends warm True Completed
sweep wrong "$range" "maxTrials: 2" "earlyStopping: {}"
check "sweep: a bad trial that slipped past the schema fails with a reason" ends wrong False SpecInvalid
k delete sw/many sw/silent sw/bayes --wait=false >/dev/null
trials_gone() { local names; names=$(k get dt -l windlass.dev/job=many -o name) && [ -z "$names" ]; }
# The garbage collector of 1.20 deletes some 20 objects a second at most, and looks for orphans every 30 s.
check "sweep: of a deleted one no trial is left" within $((90 + trials / 4)) trials_gone
[ $failures -eq 0 ] || tail -n 5 "$work"/*.log | sed 's/^/# /'
kill "$kubelet"
exit $((failures > 0))
