#!/usr/bin/env bash
# spec.gang of DistTrains on a real API server (Kubernetes 1.20 with its garbage collector), with minimal versions of
# the definitions of the three schedulers: which objects are made, which message appears without them, that nothing is
# left. Then gangs over their whole lives, the controller killed at random moments. The schedulers do not run,
# tests/cluster/kubelet.py places and runs pods, and this script does the work of Kueue's webhook (1.20 drops a gate).
#   SOAK_ROUNDS: 100 gangs and 50 kills in the last part, instead of a sample; SOAK_SEED: when
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
manager=later
. tests/e2e/cluster/jobs.sh
kind=dt
k() { "$kubectl" "$@"; }
apply() { gang "$@" | k apply -f - >/dev/null; }
of_volcano=("gang: Volcano" "queue: research" "minWorkers: 2" "priorityClassName: system-node-critical")
of_kueue=("gang: Kueue" "queue: research")
has_reason() { [ "$(condition "$1" reason)" = "$2" ]; }
stalled() { [ "$(condition "$1" status Stalled)/$(condition "$1" reason Stalled)" = True/GangUnavailable ]; }
pods() { k get pods -l "windlass.dev/job=$1" -o name | wc -l; }
has_pods() { [ "$(pods "$1")" -eq "$2" ]; }
# each NAME JQ-FILTER: it holds for every pod of the job, of which there are 3.
each() { k get pods -l "windlass.dev/job=$1" -o json | jq -e "(.items | length) == 3 and all(.items[]; $2)" >/dev/null; }
is_gone() { ! k get "$1" "$2" >/dev/null 2>&1; }
# holds JQ-FILTER of the file group.json, which is printed if it does not hold.
holds() { jq -e "$1" "$work/group.json" >/dev/null || { sed 's/^/# /' "$work/group.json"; return 1; }; }
suspend() { k patch dt "$1" --type merge -p "{\"spec\": {\"suspend\": $2}}" >/dev/null; }

python3 tests/cluster/kubelet.py "$api" 0.1 & kubelet=$!
start_controller() {
    "$windlass" controller --listen 127.0.0.1:0 --no-leader-election --log-level debug 2>>"$work/controller.log" &
    controller=$!
}
start_controller

##### a cluster without them #####################################################################
apply plugin "gang: PodGroup"
apply volcano "${of_volcano[@]}"
check "gang: without PodGroup's definition the job says so" within 60 stalled plugin
check "gang: and which one is to be installed" grep -qF "podgroups.scheduling.x-k8s.io" <<<"$(condition plugin message)"
check "gang: without Volcano's, too" within 60 stalled volcano
check "gang: and that it is Volcano's" grep -qF "https://volcano.sh" <<<"$(condition volcano message)"
tries() { grep -c 'reconcile failed job="DistTrain default/plugin"' "$work/controller.log"; }
tried() { [ "$(tries)" -ge "$1" ]; }
check "gang: it is asked for again" within 60 tried 2
sleep 2
check "gang: no pod is made" [ "$(pods plugin) $(pods volcano)" = "0 0" ]
tries=$(tries)
check "gang: and less and less often ($tries times)" [ "$tries" -le 12 ]
k apply -f tests/kube/schedulers.yaml >/dev/null && established k crd --all || exit 3
start_manager

##### with them ##################################################################################
group() { k get "podgroups.$1" "$2" -o json; }
check "PodGroup: when it is installed the job goes on, and comes to its end" within 60 has_reason plugin Completed
check "Volcano: the same" within 60 has_reason volcano Completed
apply wait-plugin "gang: PodGroup"
check "PodGroup: all pods" within 60 has_pods wait-plugin 3
group scheduling.x-k8s.io wait-plugin-gang >"$work/group.json"
check "PodGroup: the object has as many as start, and goes with the Service" holds '.spec == {minMember: 3} and
    (.metadata.ownerReferences | length) == 1 and .metadata.ownerReferences[0].kind == "Service" and
    .metadata.ownerReferences[0].name == "wait-plugin-hub" and .metadata.labels["windlass.dev/job"] == "wait-plugin"'
check "PodGroup: it is created, not applied" holds '[.metadata.managedFields[] | "\(.manager) \(.operation)"] == ["windlass Update"]'
check "PodGroup: pods are labelled" each wait-plugin '.metadata.labels["scheduling.x-k8s.io/pod-group"] == "wait-plugin-gang"'
apply wait-volcano "${of_volcano[@]}"
check "Volcano: all pods" within 60 has_pods wait-volcano 3
group scheduling.volcano.sh wait-volcano-gang >"$work/group.json"
check "Volcano: the object has queue and priority, too, and minWorkers" holds '.spec == {minMember: 2, queue: "research",
    priorityClassName: "system-node-critical"}'
check "Volcano: pods name it, and are Volcano's" each wait-volcano '.spec.schedulerName == "volcano" and
    .metadata.annotations["scheduling.k8s.io/group-name"] == "wait-volcano-gang"'

##### one that is somebody else's #################################################################
k create -f - >/dev/null <<YAML
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: wait-theirs-gang, labels: {windlass.dev/job: wait-theirs}}
spec: {minMember: 7}
YAML
minimum() { k get podgroups.scheduling.x-k8s.io "$1" -o jsonpath='{.spec.minMember}'; }
theirs() { k get podgroups.scheduling.x-k8s.io wait-theirs-gang -o json; }
theirs >"$work/theirs.json"
apply wait-theirs "gang: PodGroup"
is_taken() { [ "$(condition wait-theirs status Stalled)/$(condition wait-theirs reason Stalled)" = True/NameTaken ]; }
check "PodGroup of somebody: the job says that the name is taken" within 60 is_taken
check "PodGroup of somebody: and of what" says "PodGroup wait-theirs-gang exists and is not this job's" "$(condition wait-theirs message)"
check "PodGroup of somebody: it is as it was" cmp "$work/theirs.json" <(theirs)
check "PodGroup of somebody: no pod is made" [ "$(pods wait-theirs)" -eq 0 ]
k delete podgroups.scheduling.x-k8s.io wait-theirs-gang >/dev/null
check "PodGroup of somebody: when it is gone the job goes on" within 120 has_pods wait-theirs 3
check "PodGroup of somebody: with one of its own" [ "$(minimum wait-theirs-gang)" = 3 ]

##### one that is replaced, one that is suspended ################################################
k patch podgroups.scheduling.x-k8s.io wait-plugin-gang --type merge -p '{"spec": {"minMember": 1}}' >/dev/null
uid=$(k get podgroups.scheduling.x-k8s.io wait-plugin-gang -o jsonpath='{.metadata.uid}')
corrects() { # a new controller asks at once
    kill "$controller"
    wait "$controller"
    start_controller
    k delete pod wait-plugin-0 --wait=false >/dev/null
    within 60 k get pod wait-plugin-0-2
}
check "PodGroup: ours, changed by somebody: the job goes on" corrects
check "PodGroup: it says what is wanted again" [ "$(minimum wait-plugin-gang)" = 3 ]
check "PodGroup: and is the same" [ "$(k get podgroups.scheduling.x-k8s.io wait-plugin-gang -o jsonpath='{.metadata.uid}')" = "$uid" ]
k delete podgroups.scheduling.x-k8s.io wait-plugin-gang >/dev/null
sleep 1
k delete pod wait-plugin-1 --wait=false >/dev/null
check "PodGroup: a pod that is deleted is replaced" within 60 k get pod wait-plugin-1-2
is_back() { group scheduling.x-k8s.io wait-plugin-gang; }
sixty() { # its apply is a minute old at the most
    kill "$controller"
    wait "$controller"
    start_controller
    k delete pod wait-plugin-2 --wait=false >/dev/null
    within 60 is_back
}
check "PodGroup: one that somebody deleted is made again before another pod is (after a restart at once)" sixty
suspend wait-plugin true
check "PodGroup: a suspended job has no pods" within 60 has_pods wait-plugin 0
suspend wait-plugin false
check "PodGroup: and all of them afterwards" within 60 has_pods wait-plugin 3

##### half of it gets no node ######################################################################
touch "$api/full"
apply half-gang "startDeadlineSeconds: 10"
has_half() { [ "$(k get pods -l windlass.dev/job=half-gang --field-selector status.phase=Running -o name | wc -l)" -eq 2 ]; }
check "startDeadlineSeconds: two of three run" within 60 has_half
check "startDeadlineSeconds: and wait" [ -n "$(within 60 has_reason half-gang GangIncomplete && k get dt half-gang -o jsonpath='{.status.gathering.since}')" ]
check "startDeadlineSeconds: all are let go" within 60 has_pods half-gang 0
again=$(k get dt half-gang -o jsonpath='{.status.gathering.againTime}')
in_s=$(($(date -d "$again" +%s) - $(date +%s)))
check "startDeadlineSeconds: they come again in 1 to 10 minutes ($in_s s)" [ "$in_s" -ge 45 -a "$in_s" -le 600 ]
check "startDeadlineSeconds: the job says when, and who was missing" grep -qE "^not all workers were there within spec.startDeadlineSeconds \(10 s\), so all pods go, and come again at $again: 2 of 3 workers run.*0/1 nodes are available" <<<"$(condition half-gang message)"
sleep 2
check "startDeadlineSeconds: none comes meanwhile" [ "$(pods half-gang)" -eq 0 ]
rm "$api/full"
k patch dt half-gang --type json -p '[{"op": "remove", "path": "/spec/startDeadlineSeconds"}]' >/dev/null
check "startDeadlineSeconds: without it they come at once, and all is well" within 60 has_reason half-gang Completed
check "startDeadlineSeconds: nothing of that was a restart" [ "$(k get dt half-gang -o json | jq -c '[.status.gathering, .status.restarts.counted // 0, .status.restarts.disrupted // 0]')" = '[null,0,0]' ]

##### Kueue ######################################################################################
apply queued-one "${of_kueue[@]}"
job queued-score | sed 's/^  miniBatchSize/  queue: research\n&/' | k apply -f - >/dev/null
check "Kueue: all pods" within 60 has_pods queued-one 3
uid=$(k get dt queued-one -o jsonpath='{.metadata.uid}')
turn=queued-one-${uid:0:8}-1
check "Kueue: pods have queue, group, and how many they are" each queued-one "
    .metadata.labels[\"kueue.x-k8s.io/queue-name\"] == \"research\" and .metadata.labels[\"kueue.x-k8s.io/pod-group-name\"] == \"$turn\" and
    .metadata.annotations[\"kueue.x-k8s.io/pod-group-total-count\"] == \"3\" and
    .metadata.annotations[\"kueue.x-k8s.io/retriable-in-group\"] == \"false\""
check "Kueue: where it takes no notice the job says so" within 60 stalled queued-one
check "Kueue: and what is to be installed" grep -qF "https://kueue.sigs.k8s.io" <<<"$(condition queued-one message)"
k create -f - >/dev/null <<YAML
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: $turn}
spec: {queueName: research}
YAML
for pod in $(k get pods -l windlass.dev/job=queued-one -o name); do
    k patch "$pod" --type merge -p '{"metadata": {"finalizers": ["kueue.x-k8s.io/managed"],
        "labels": {"kueue.x-k8s.io/managed": "true"}}}' >/dev/null
done
has_workload() { k get workloads.kueue.x-k8s.io "$turn" >/dev/null; }
not_stalled() { ! stalled queued-one; }
check "Kueue: once it does it is all right" within 60 not_stalled
check "Kueue: its Workload is there" has_workload
suspend queued-one true
check "Kueue: of a job suspended in its queue the Workload is deleted" within 60 is_gone workloads.kueue.x-k8s.io "$turn"
let_go() {
    for pod in $(k get pods -l windlass.dev/job=queued-one -o name); do
        k patch "$pod" --type merge -p '{"metadata": {"finalizers": null}}' >/dev/null 2>&1
    done
    has_pods queued-one 0
}
check "Kueue: which lets go of the pods" within 60 let_go
suspend queued-one false
check "Kueue: the next ones are there" within 60 has_pods queued-one 3
check "Kueue: and are another group" each queued-one ".metadata.labels[\"kueue.x-k8s.io/pod-group-name\"] == \"${turn%-1}-2\""

# Another controller's jobs, as MultiKueue has them: ours never begin, their status is as the other has written it.
elsewhere="managedBy: kueue.x-k8s.io/multikueue"
job others-score | sed "s#^  miniBatchSize#  $elsewhere\n&#" | k apply -f - >/dev/null
gang others-train "$elsewhere" | k apply -f - >/dev/null
sed -e "s#^  maxTrials:.*#  maxTrials: 2\n  $elsewhere#" -e '/^  suspend/d' -e '/^  warmStart/d' -e 's/name: everything/name: others-sweep/' \
    tests/data/sweeps/command.yaml | k apply -f - >/dev/null
of_others() { for one in bs/others-score dt/others-train sw/others-sweep; do k get "$one" -o json | jq -c .status; done | xargs; }

# A BatchScore goes through its queue pod by pod, the coordinator first.
score() { kind=bs condition queued-score "$@"; }
score_is() { [ "$(score reason)" = "$1" ]; }
let_go_of() { # POD: as Kueue's webhook and its scheduler
    k patch pod "$1" --type merge -p '{"metadata": {"labels": {"kueue.x-k8s.io/managed": "true"}}}' >/dev/null
    [ "${2:-}" = held ] || k annotate pod "$1" let-go=true >/dev/null
}
of_queue() { k get pods -l "windlass.dev/job=queued-score,kueue.x-k8s.io/queue-name=research" -o name | sort | xargs; }
of_queue_are() { [ "$(of_queue)" = "$1" ]; }
check "Kueue: of a BatchScore the coordinator alone is made" of_queue_are pod/queued-score-coordinator-1
check "Kueue: where it takes no notice the BatchScore says so" within 60 score_is QueueUnavailable
check "Kueue: and stalls" [ "$(score status Stalled)" = True ]
let_go_of queued-score-coordinator-1 held
check "Kueue: once it does the BatchScore waits for its queue" within 60 score_is WaitingForQueue
check "Kueue: and no longer stalls" [ "$(score status Stalled)" = False ]
check "Kueue: no worker waits beside the coordinator" of_queue_are pod/queued-score-coordinator-1
let_go_of queued-score-coordinator-1
check "Kueue: then come its workers" within 60 of_queue_are "pod/queued-score-coordinator-1 pod/queued-score-worker-0 pod/queued-score-worker-1"
let_go_of queued-score-worker-1
check "Kueue: with one of two workers let go it comes to its end" within 60 score_is Completed
check "Kueue: and takes the other out of the queue" within 60 of_queue_are "pod/queued-score-coordinator-1"

made_of() { k get pods,services,secrets,dt -o name | grep -c others-; }
check "managedBy: another controller's jobs are there" [ "$(of_others)" = "$(printf '{observedGeneration:-1} %.0s' 1 2 3 | xargs)" ]
check "managedBy: nothing is made for them" [ "$(made_of)" -eq 1 ] # others-train itself

##### killed at random moments ###################################################################
# As in test_controller.sh, with objects of schedulers.
rounds=4 jobs=8
[ -z "${SOAK_ROUNDS:-}" ] || { rounds=50 jobs=100; }
RANDOM=${SOAK_SEED:-7}
lives=(good fail- oom- evict- crash-)
gangs=("gang: Volcano" "gang: PodGroup")
for i in $(seq $jobs); do
    gang "${lives[i % 5]}$i" "${gangs[i % 2]}"
done >"$work/kill.yaml"
k apply -f "$work/kill.yaml" >/dev/null &
creating=$!
for _ in $(seq $rounds); do
    sleep "$(printf '0.%03d' $((RANDOM % 1000)))"
    kill -9 "$controller"
    wait "$controller" 2>/dev/null
    start_controller
done
wait $creating
# wrong_ones: prints the jobs without the expected end, and their states.
wrong_ones() {
    k get dt -o json | jq -r '.items[] | select(.metadata.name | test("^(good|fail-|oom-|evict-|crash-)[0-9]")) |
        (.status.conditions // [] | map(select(.type == "Succeeded")) | .[0] | "\(.status) \(.reason)") as $end |
        select($end != (if .metadata.name | startswith("fail-") then "False RankFailed" else "True Completed" end)) |
        "\(.metadata.name): \($end)"'
}
all_ended() { [ -z "$(wrong_ones)" ]; }
check "kills: $jobs gangs end right though the controller was killed $rounds times (seed ${SOAK_SEED:-7})" \
    within $((60 + jobs * 2)) all_ended || wrong_ones
# After a success the hub's pod remains, after a failure all pods that ended.
living() {
    k get pods -o json | jq -r '.items[] | select((.metadata.labels["windlass.dev/job"] | test("^(wait|queued)-") | not) and
        .status.phase != "Succeeded" and .status.phase != "Failed") |
        "\(.metadata.name) \(.status.phase) \(.metadata.deletionTimestamp // "stays")"'
}
none_lives() { [ -z "$(living)" ]; }
check "kills: nothing runs of them" within $((30 + jobs)) none_lives || living

##### the end ####################################################################################
k delete dt,bs --all --wait=false >/dev/null
nothing() { [ -z "$(k get podgroups.scheduling.x-k8s.io,podgroups.scheduling.volcano.sh,pods,services -l windlass.dev/job -o name)" ]; }
check "gang: when all are deleted nothing is left" within 60 nothing || k get podgroups.scheduling.x-k8s.io,podgroups.scheduling.volcano.sh,pods,services -l windlass.dev/job
# Nothing of a suspended gang remembers a member's attempts: these names are used again.
two=$(grep -v 'made twice' "$api/violations" 2>/dev/null)
check "gang: no place had two pods ($two)" [ -z "$two" ]
kill "$controller" "$kubelet"
[ $failures -eq 0 ] || tail -n 20 "$work"/controller.log | sed 's/^/# /'
exit $((failures > 0))
