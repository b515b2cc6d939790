#!/usr/bin/env bash
# Sweeps on a real Kubernetes with a real kubelet, all at once: two objectives with their front, a population whose trials
# go on from the files of others, successive halving. `windlass status -w` shows the figures of running trials live.
# One cluster per machine: it waits until another of our clusters has ended.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
namespace=search
. tests/cluster/own.sh
windlass=$(realpath "${BUILD:-build}/windlass")
image=$(tests/cluster/python-image.sh) && import "$image" || exit 3
install_chart || { echo "not ok the chart installs"; exit 1; }
mkdir -p "$work/data"
data=$(tests/cluster/volume.sh search "$work/data") || exit 3
mkdir -m 777 "$data/crowd"
start=$SECONDS
sweep() { # NAME MAXTRIALS OBJECTIVE PARAMETERS ALGORITHM COMMAND [TRIAL'S FIELDS]
    cat <<Y
---
apiVersion: windlass.dev/v1beta1
kind: Sweep
metadata: {name: $1}
spec:
  objective: $3
  parameters: $4
  algorithm: $5
  maxTrials: $2
  maxConcurrentTrials: 4
  trial:
    workers: 1
    image: docker.io/library/python:3.11-slim-bookworm
    launcher: None
    restart: {maxRestarts: 0}
    command: [bash, -c, '$6']
    resources: {requests: {cpu: 20m, memory: 16Mi}}
Y
    printf '    %s\n' "${@:7}"
}
# Accuracy rises with the size, and so does the latency, but 3 is as slow as 4 and less accurate.
sweep two 4 '{metric: accuracy, goal: Maximize, also: [{metric: latency.p99, goal: Minimize}]}' \
    '[{name: SIZE, choice: [1, 2, 3, 4]}]' '{kind: Grid}' \
    'accuracy=(0 0.5 0.7 0.75 0.9) latency=(0 1 2 4 4); echo "INFO accuracy=${accuracy[$PARAM_SIZE]} latency.p99=${latency[$PARAM_SIZE]}"' >"$work/sweeps.yaml"
# As in tests/e2e/sweep/test_sweep_population.sh.
sweep crowd 8 '{metric: score, goal: Maximize}' '[{name: RATE, uniform: {min: "0", max: "1"}}]' \
    '{kind: PopulationBased, seed: 3, population: {size: 4, percentage: 25}}' \
    'state=$AZ_BATCHAI_OUTPUT_STATE/rates; echo "$PARAM_RATE" >>"$state"; awk -v name=score "{ good += \$1 > 0.5; last = \$1 } END { printf \"INFO %s=%.6f intervals=%d\n\", name, good + last / 10, NR }" "$state"' \
    'volumes: [{name: data, persistentVolumeClaim: {claimName: search}}]' 'outputs: [{id: STATE, path: data/crowd}]' >>"$work/sweeps.yaml"
# Only the best goes on from the first rung; it has ended before the others would have.
sweep halves 4 '{metric: accuracy, goal: Maximize}' '[{name: QUALITY, choice: [1, 2, 3, 4]}]' '{kind: Grid}' \
    'for k in $(seq $((PARAM_QUALITY == 4 ? 15 : 900))); do echo "accuracy: 0.$PARAM_QUALITY"; sleep 1; done' |
    sed 's/^  maxTrials:/  earlyStopping: {asha: {maxReports: 3}}\n&/' >>"$work/sweeps.yaml"
valid() { "$windlass" check --server -f "$work/sweeps.yaml" >"$work/valid" || { sed 's/^/# /' "$work/valid"; return 1; }; }
check "the manifests are valid, for the API server, too" valid
kubectl apply -f "$work/sweeps.yaml" >/dev/null

field() { kubectl get sw "$1" -o "jsonpath={$2}"; }
status_of() { kubectl get sw "$1" -o "jsonpath={.status.conditions[?(@.type==\"Succeeded\")].$2}"; }
ended() { case $(status_of "$1" status) in True | False) ;; *) return 1 ;; esac }
told() { until_true 300 ended "$1" && [ "$(status_of "$1" reason)" = Completed ] || { echo "# $(status_of "$1" reason): $(status_of "$1" message)"; kubectl get dt,pods 2>&1 | sed 's/^/# /'; return 1; }; }
counts() { [ "$(field "$1" .status.progress) $(field "$1" .status.trials.completed) $(field "$1" .status.trials.stopped) $(field "$1" .status.trials.failed) $(field "$1" .status.trials.running)" = "$2" ]; }

##### live ########################################################################################
watched() { # Where an answer takes over 2 s there is a remark, and rightly: then once more.
    local watching shown=1
    "$windlass" status -w halves >"$work/tables" 2>"$work/remarks" &
    watching=$!
    until_true 60 grep -q "halves-0003" "$work/tables" && sleep 2 && shown=0
    kill $watching
    wait $watching 2>/dev/null
    [ $shown -eq 0 ] && ! grep -q figures "$work/tables" "$work/remarks"
}
check "status -w of a Sweep shows its trials, whose figures are live" until_true 60 watched

##### the ends ####################################################################################
check "successive halving: all end" told halves
halved() {
    kubectl get dt -l windlass.dev/job=halves -o json |
        jq -e '[.items[] | [.spec.environment.PARAM_QUALITY, (.status.conditions[] | select(.type == "Succeeded") | .reason)]] | sort ==
            [["1", "Stopped"], ["2", "Stopped"], ["3", "Stopped"], ["4", "Completed"]]' >/dev/null
}
check "only the best of the rung went on" halved
check "as the status counts them, with the best" [ "$(counts halves "4/4 1 3 0 0" && field halves .status.best.values.QUALITY)" = 4 ]
check "two objectives: all end" told two
check "the message names the front" grep -q 'on the front: two-0000, two-0001, two-0003$' <(status_of two message)
check "and the status has its values" [ "$(kubectl get sw two -o json | jq -c '[.status.front[] | [.trial, .objectives.accuracy, .objectives["latency.p99"]]]')" = \
    '[["two-0000","0.5","1"],["two-0001","0.7","2"],["two-0003","0.9","4"]]' ]
told_once() { [ "$(kubectl get events --field-selector "involvedObject.kind=$1,involvedObject.name=$2,type=Normal,reason=Completed" -o name | wc -l)" -eq "$3" ]; }
check "the Sweep's end is an Event" until_true 60 told_once Sweep two 1
check "its trials' ends are none" told_once DistTrain two-0000 0
"$windlass" status two -o html >"$work/two.html"
check "sweep.html has the front" grep -q "<h2>Pareto front" "$work/two.html"
check "a population: all end" told crowd
check "its second generation goes on as the first one ended, the worst as the best with another value" \
    python3 tests/e2e/sweep/population.py "$data"/crowd/crowd-* 2
echo "# $((SECONDS - start)) s"
exit $((failures > 0))
