#!/usr/bin/env bash
# Sweeps on a real Kubernetes with a real kubelet. With the trainer: examples/sweep/sweep.yaml with four trials of 2,000
# pictures: counts, the best trial, its network registered by a pod, a BatchScore (sweep-score.yaml) with `latest`, as
# accurate as the trainer measured. With a program in an image without our files: the median rule stops a trial of the
# first wave. Nothing is left. SOAK_ROUNDS: also 1,000 trials of 0.1 s, 50 at once, with the leader killed 20 times
# (TRIALS, KILLS: others). One cluster per machine: it waits until another of our clusters has ended.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
namespace=sweep
. tests/cluster/own.sh
need_packages dataset-fashion-mnist || exit 3
image=$(tests/cluster/python-image.sh) && import "$image" || exit 3
install_chart || { echo "not ok the chart installs"; exit 1; }
status_of() { kubectl get "$1" "$2" -o "jsonpath={.status.conditions[?(@.type==\"Succeeded\")].$3}"; }
ended() { case $(status_of "$1" "$2" status) in True | False) ;; *) return 1 ;; esac }
told() { until_true 600 ended "$1" "$2" && [ "$(status_of "$1" "$2" reason)" = "$3" ] || { echo "# $(status_of "$1" "$2" reason): $(status_of "$1" "$2" message)"; return 1; }; }
field() { kubectl get sw "$1" -o "jsonpath={$2}"; }
show() { # NAME: prints the state of a sweep, for the log
    [ $failures -eq "${shown:-0}" ] && return
    shown=$failures
    kubectl get sw,dt,bs,pods -o wide 2>&1 | sed 's/^/# /'
    kubectl get events --sort-by=.lastTimestamp 2>&1 | grep -F "$1" | tail -n 12 | cut -c1-220 | sed 's/^/# /'
    kubectl -n windlass logs -l app.kubernetes.io/name=windlass --tail=8 2>&1 | sed 's/^/# controller: /'
}
# Prints the trials of a sweep that has ended.
trials() { kubectl get dt -l "windlass.dev/job=$1" -o json >"$work/trials.json"; }
reason='(.status.conditions[] | select(.type == "Succeeded") | .reason)'

##### the trainer #################################################################################
example=examples/sweep
mkdir -p "$work/clothes/data"
cp examples/fashion-mnist/make.py "$work/clothes"
cp examples/fashion-mnist/data/names.txt "$work/clothes/data"
python3 - "$work/clothes/data" <<'P'
import gzip, struct, sys
for name, count in (("train", 2000), ("t10k", 500)):
    for kind, head, item in (("images-idx3", 16, 784), ("labels-idx1", 8, 1)):
        whole = gzip.open(f"/usr/share/datasets/fashion-mnist/{name}-{kind}-ubyte.gz").read()
        with gzip.open(f"{sys.argv[1]}/{name}-{kind}-ubyte.gz", "wb", 1) as file:
            file.write(whole[:4] + struct.pack(">I", count) + whole[8:head + count * item])
P
python3 "$work/clothes/make.py" # the array of the test pictures
data=$(tests/cluster/volume.sh fashion-mnist "$work/clothes/data") || exit 3
kubectl apply --dry-run=server -f $example/sweep.yaml >"$work/apply" 2>&1
check "kubectl apply takes the example's sweep as it is" grep -q '^sweep.windlass.dev/fashion-sweep created' "$work/apply"
kubectl create --dry-run=client -f $example/sweep.yaml -o json | jq '.spec.maxTrials = 4 | .spec.trial.trainer.epochs = 3 |
    del(.spec.earlyStopping)' | kubectl apply -f - >/dev/null
check "four trials train, and the best one's network is registered" told sw fashion-sweep Completed; show fashion-sweep
trials fashion-sweep
all_completed() { jq -e "(.items | length) == 4 and all(.items[]; $reason == \"Completed\" and .status.objective.reports == 3)" "$work/trials.json" >/dev/null; }
check "all four have, and have said an accuracy each epoch" all_completed; show fashion-sweep
counts() { [ "$(field "$1" .status.progress) $(field "$1" .status.trials.completed) $(field "$1" .status.trials.stopped) $(field "$1" .status.trials.failed) $(field "$1" .status.trials.running)" = "$2" ]; }
check "as the status counts them" counts fashion-sweep "4/4 4 0 0 0"; show fashion-sweep
best_is_right() { # of two equally good ones either
    local value
    value=$(jq '[.items[].status.objective.best | tonumber] | max' "$work/trials.json")
    jq -e --arg best "$(field fashion-sweep .status.best.trial)" --arg told "$(field fashion-sweep .status.best.value)" --argjson value "$value" \
        --arg rate "$(field fashion-sweep .status.best.values.LEARNING_RATE)" 'any(.items[]; .metadata.name == $best and (.status.objective.best | tonumber) == $value and
            ($told | tonumber) == $value and .spec.trainer.optimizer.learningRate == $rate)' "$work/trials.json" >/dev/null &&
        awk -v value="$value" 'BEGIN { print "# accuracy", value; exit !(value > 0.5) }'
}
check "the best is the best, and its parameters are said" best_is_right; show fashion-sweep
registered() {
    local version at
    version=$(cat "$data/models/fashion-sweep/latest") && at=$data/models/fashion-sweep/$version
    [[ $version =~ ^20[0-9]{6}T[0-9]{6}Z-[0-9a-f]{8}$ ]] && [ "$(ls "$data/models/fashion-sweep" | xargs)" = "$version latest" ] && cmp "$at/model.onnx" "$data/tried/fashion-sweep"-*"/$(field fashion-sweep .status.best.trial | tail -c 4)/model.onnx" &&
        [ "$(jq -r '.trial + " " + .objective.value' "$at/metadata.json")" = "$(field fashion-sweep '.status.best.trial}{" "}{.status.best.value')" ] &&
        jq -r '.files[] | .sha256 + "  " + .name' "$at/metadata.json" >"$work/sums" && grep -q ' model.onnx$' "$work/sums" && (cd "$at" && sha256sum --quiet -c "$work/sums")
}
check "one version is registered, whole, of the best trial, and is the latest" registered; show fashion-sweep
check "the message says where" grep -q 'registered as data/models/fashion-sweep/20' <(status_of sw fashion-sweep message)
kubectl apply -f $example/sweep-score.yaml >/dev/null
check "a BatchScore scores with the latest" told bs fashion-sweep-score Completed; show fashion-sweep-score
# The registered value, which is that of the trainer's best epoch.
right() {
    jq -r '.classes[0].label' "$data/sweep-scored/clothes.jsonl" | paste - "$data/test/labels.txt" |
        awk -F'\t' -v wanted="$(jq -r .objective.value "$data/models/fashion-sweep/$(cat "$data/models/fashion-sweep/latest")/metadata.json")" '
            { right += $1 == $2 } END { print "# right: " right / NR ", registered with " wanted; exit !(NR == 500 && (right / NR - wanted) ^ 2 < 0.005 ^ 2) }'
}
check "as many right as the trainer has measured" right

##### a program: what is unpromising is stopped ######################################################
kubectl apply -f - >/dev/null <<'Y'
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: median}
spec:
  objective: {metric: accuracy, goal: Maximize}
  parameters: [{name: QUALITY, choice: [1, 2, 3, 4]}]
  algorithm: {kind: Grid}
  earlyStopping: {median: {}}
  maxTrials: 4
  maxConcurrentTrials: 4
  trial:
    workers: 1
    image: docker.io/library/python:3.11-slim-bookworm
    launcher: None
    restart: {maxRestarts: 0}
    # The first would report 0.1 for a quarter of an hour.
    command:
      - python3
      - -c
      - |
        import time
        unpromising = $(QUALITY) == 1
        for k in range(900 if unpromising else 5):
            print("accuracy:", 0.1 if unpromising else 0.9 + 0.01 * $(QUALITY) * (k == 4))
            time.sleep(1)
    resources: {requests: {cpu: 100m, memory: 64Mi}}
Y
check "of four that run at once" told sw median Completed; show median
trials median
stopped() {
    jq -e "[.items[] | [.spec.environment.PARAM_QUALITY, $reason]] | sort == [[\"1\", \"Stopped\"], [\"2\", \"Completed\"], [\"3\", \"Completed\"], [\"4\", \"Completed\"]]" "$work/trials.json" >/dev/null &&
        counts median "4/4 3 1 0 0" && [ "$(field median .status.best.values.QUALITY) $(field median .status.best.value)" = "4 0.94" ] &&
        jq -e 'any(.items[]; (.spec.stop // "") | test("^Median: after [0-9]+ reports? its best 0.1 is worse than 0.9[0-9]*, the median of 3 others$"))' "$work/trials.json" >/dev/null
}
check "the unpromising one is stopped, with the reason, and the status has the best" stopped; show median

##### many short ones, and a controller that is killed: in a soak #################################
# Each trial is a pod of a real kubelet; the leader is killed with -9 each time another share of the trials has ended,
# and its pod deleted (otherwise the kubelet would start it later and later).
holder() { kubectl -n windlass get lease windlass-controller -o 'jsonpath={.spec.holderIdentity}'; }
pid_in() { # POD: the id on this machine of its container's first process
    local id
    id=$(kubectl -n windlass get pod "$1" -o 'jsonpath={.status.containerStatuses[0].containerID}')
    "${ctr[@]}" tasks ls | awk -v id="${id#containerd://}" '$1 == id { print $2 }'
}
many=${TRIALS:-1000} kills=${KILLS:-20}
manifest_of_many() {
    cat <<Y
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: many}
spec:
  objective: {metric: accuracy, goal: Maximize}
  parameters: [{name: X, uniform: {min: "0", max: "1"}}]
  algorithm: {kind: Random, seed: ${SOAK_SEED:-7}}
  maxTrials: $many
  maxConcurrentTrials: 50
  trial:
    workers: 1
    image: docker.io/library/python:3.11-slim-bookworm
    launcher: None
    restart: {maxRestarts: 0}
    command: [sh, -c, "sleep 0.1; echo accuracy: \$PARAM_X; echo \$PARAM_X >>\$(data)/many/\$WINDLASS_JOB"]
    volumes: [{name: data, persistentVolumeClaim: {claimName: fashion-mnist}}]
    resources: {requests: {cpu: 10m, memory: 16Mi}}
Y
}
are_completed() { [ "$(field many .status.trials.completed)" -ge "$1" ]; }
killed() {
    local round leader pid
    for round in $(seq "$kills"); do
        until_true 1800 are_completed $((round * many / (kills + 1))) || return 1
        leader=$(holder)
        leader=${leader%_*}
        pid=$(pid_in "$leader") && [ -n "$pid" ] && kill -9 "$pid" || return 1
        kubectl -n windlass delete pod "$leader" --force --grace-period=0 >/dev/null 2>&1
    done
}
each_once() { # as counted by its program
    trials many
    jq -e --argjson many "$many" "(.items | length) == \$many and all(.items[]; $reason == \"Completed\")" "$work/trials.json" >/dev/null &&
        [ "$(ls "$data/many" | wc -l)" = "$many" ] && [ "$(cat "$data/many"/* | wc -l)" = "$many" ] &&
        [ "$(cat "$data/many"/* | sort -gr | head -n 1)" = "$(field many .status.best.values.X)" ]
}
if [ -n "${SOAK_ROUNDS:-}" ]; then
    mkdir -m 777 "$data/many"
    manifest_of_many | kubectl apply -f - >/dev/null
    start=$SECONDS
    check "$many trials, each a pod, while the leader is killed $kills times" killed
    check "all have ended" told sw many Completed; show many
    echo "# $many trials in $((SECONDS - start)) s"
    check "each ran once, and the best is the best" each_once; show many
fi

##### nothing is left #############################################################################
no_pods() { [ -z "$(kubectl get pods,services,secrets -l windlass.dev/job -o json | jq -r '.items[] | select(.kind != "Pod" or (.status.phase != "Succeeded" and .status.phase != "Failed")) | .metadata.name')" ]; }
check "of what has ended no pod runs, no Service or Secret is left" until_true 180 no_pods; show sweep
kubectl delete sw,bs --all --wait=false >/dev/null
nothing_left() { [ -z "$(kubectl get dt,pods,services,secrets -l windlass.dev/job -o name)" ]; }
check "deleted sweeps leave no trial, no pod" until_true ${SOAK_ROUNDS:+1}180 nothing_left; show sweep
exit $((failures > 0))
