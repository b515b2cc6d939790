#!/usr/bin/env bash
# On a real API server (Kubernetes 1.20): names that others have, objects whose owner or labels somebody
# changes, and how often the API server is asked meanwhile.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/cluster/jobs.sh
# requests VERB [CODE]: the number of such requests.
requests() { page "$port" /metrics | awk -v verb="verb=\"$1\"" -v code="${2:+code=\"$2\"}" 'index($0, "windlass_apiserver_requests_total{" verb) && index($0, code) { n += $2 } END { print n + 0 }'; }
exists() { "$kubectl" get "$@" -o name >/dev/null 2>&1; }
owner() { "$kubectl" get "$1" "$2" -o jsonpath='{.metadata.ownerReferences[?(@.controller==true)].kind}' 2>/dev/null; }
annotation() { "$kubectl" get "$1" "$2" -o jsonpath='{.metadata.annotations.windlass\.dev/uid}' 2>/dev/null; }
is_owned() { [ "$(owner "$1" "$2")" = "$3" ]; }
foreign_pod() { # NAME
    "$kubectl" apply -f - >/dev/null <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
YAML
}
training() { # NAME WORKERS
    cat <<YAML
---
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: $1}
spec: {workers: $2, image: i, command: [train]}
YAML
}
sweep() { # NAME
    cat <<YAML
---
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: $1}
spec:
  objective: {metric: accuracy, goal: Maximize}
  parameters: [{name: X, choice: ['1', '2', '3', '4']}]
  algorithm: {kind: Grid}
  maxTrials: 4
  maxConcurrentTrials: 4
  trial: {workers: 1, image: i, launcher: None, command: [x, \$(X)]}
YAML
}
controller owner --no-leader-election

##### names ########################################################################################
# A trial's name is taken by a DistTrain of a user.
training s2-0001 1 | "$kubectl" apply -f - >/dev/null
within 60 exists pod s2-0001-0
sweep s2 | "$kubectl" apply -f - >/dev/null
four() { [ "$("$kubectl" get disttrains -l windlass.dev/job=s2 -o name | wc -l)" -eq 4 ]; }
check "sweep: a trial whose name is taken gets the next name" within 60 is_owned disttrain s2-0001-b Sweep
check "sweep: all four trials are made" within 60 four
check "sweep: the foreign one is not touched" [ -z "$(owner disttrain s2-0001)$(annotation disttrain s2-0001)" ]
next_is_4() { [ "$("$kubectl" get sweep s2 -o jsonpath="{.status.next}")" = 4 ]; }
check "sweep: each has its number" within 60 next_is_4
before=$(requests create)
sleep 5
after=$(requests create)
check "sweep: nothing is asked for in 5 s ($before, then $after creations)" [ "$before" = "$after" ]
check "sweep: one creation was refused" [ "$(requests create 409)" -eq 1 ]
# Somebody takes the annotation off a trial that has begun.
has_begun() { [ -n "$("$kubectl" get dt s2-0002 -o jsonpath="{.status.specHash}")" ]; }
within 60 has_begun
"$kubectl" annotate dt s2-0002 windlass.dev/trial- >/dev/null
"$kubectl" patch dt s2-0002 --type=merge -p '{"spec": {"stop": "enough"}}' >/dev/null
one_stopped() { [ "$("$kubectl" get sweep s2 -o jsonpath="{.status.trials.stopped}{.status.trials.running}")" = 13 ]; }
check "sweep: a trial that has lost its annotation counts as stopped when it is" within 60 one_stopped

# A DistTrain's pods have the names of a BatchScore's workers.
training both-worker 2 | "$kubectl" apply -f - >/dev/null
within 60 exists pod both-worker-1
apply both
check "two kinds: the pods of another kind's job lead to the next names" within 60 is_owned pod both-worker-0-2 BatchScore
check "two kinds: of both workers" within 60 is_owned pod both-worker-1-2 BatchScore
check "two kinds: and stay as they are" [ "$(owner pod both-worker-0)" = DistTrain ]
check "every object says for which job it was made" \
    [ "$(annotation pod both-worker-0-2)$(annotation service both-coordinator)" = "$(uid=$("$kubectl" get bs both -o jsonpath='{.metadata.uid}'); echo "$uid$uid")" ]

"$kubectl" create service clusterip mine-coordinator --tcp=80:80 >/dev/null
foreign_pod mine-coordinator-1
apply mine
check "a foreign Service: the job's has the next name" within 60 is_owned service mine-coordinator-b BatchScore
check "a foreign pod: the coordinator has the next name" within 60 is_owned pod mine-coordinator-2 BatchScore

long=a123456789-123456789-123456789-123456789-123456789-123456789-12
apply "$long"
long_has_pods() { [ "$(count pods "$long")" -eq 3 ]; }
check "a name of ${#long} characters: its pods are made" within 60 long_has_pods
check "a name of ${#long} characters: no name is longer than 63" \
    [ "$("$kubectl" get pods,services -l windlass.dev/job="$long" -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}' | awk 'length > 63' | wc -l)" -eq 0 ]

##### other managers' fields (1.20 took them away when a status came without spec) ####################
job shared | "$kubectl" apply --server-side --field-manager=mine -f - >/dev/null
shared_has_status() { [ -n "$(field shared .status.specHash)" ]; }
check "a job that was applied by the server: its status is written" within 60 shared_has_status
has_fields() { "$api/curl" /apis/windlass.dev/v1beta1/namespaces/default/batchscores/shared |
    jq -e 'any(.metadata.managedFields[]; .manager == "mine" and .fieldsV1["f:spec"]["f:workers"]["f:max"] == {})' >/dev/null; }
check "and its spec's fields are still its manager's" has_fields
others() { job shared | sed 's/max: 2/max: 9/' | "$kubectl" apply --server-side --field-manager=other -f - 2>&1; }
check "so another manager's apply conflicts" says 'conflict with "mine"' "$(others)"
# A condition that somebody else keeps beside ours, while ours change. (1.20 takes lists of definitions with an int-or-string
# for atomic in server-side apply, so one who applies it meets a conflict there; on 1.36: test_versions.sh.)
path=/apis/windlass.dev/v1beta1/namespaces/default/batchscores/shared
admitted='{"type": "example.com/Admitted", "status": "True", "reason": "Gate", "message": "let in", "lastTransitionTime": "2026-11-21T04:00:00Z"}'
"$api/curl" "$path/status?fieldManager=gate" -X PATCH -H 'Content-Type: application/json-patch+json' \
    -d "[{\"op\": \"add\", \"path\": \"/status/conditions/-\", \"value\": $admitted}]" >/dev/null
"$kubectl" patch bs shared --type=merge -p '{"spec": {"suspend": true}}' >/dev/null
is_suspended() { [ "$(condition shared status Suspended)" = True ]; }
check "its conditions change beside another manager's" within 60 is_suspended
has_condition() { "$api/curl" $path | jq -e --argjson wanted "$admitted" 'any(.status.conditions[]; . == $wanted)'; }
check "which stays as it was" within 10 has_condition
"$kubectl" patch bs shared --type=merge -p '{"spec": {"suspend": false}}' >/dev/null
# The same name in another namespace is another job.
"$kubectl" create namespace twin >/dev/null
job shared | "$kubectl" apply -n twin -f - >/dev/null
twins() { [ "$("$kubectl" get pods -A -l windlass.dev/job=shared -o json | jq -r '.items[].metadata | .namespace + " " + .ownerReferences[0].uid' | sort | uniq -c | awk '{ printf "%s ", $1 }')" = "3 3 " ]; }
check "a job of that name in another namespace has pods of its own" within 60 twins
"$kubectl" delete bs shared --wait=false >/dev/null
"$kubectl" delete bs shared -n twin --wait=false >/dev/null

##### what a job costs ###############################################################################
writes() { page "$port" /metrics | awk '/^windlass_apiserver_requests_total/ && !/verb="(watch|list|get)"/ { n += $2 } END { print n + 0 }'; }
sleep 1
before=$(writes)
for i in $(seq 10); do job "cost-$i"; done | "$kubectl" apply -f - >/dev/null
thirty() { [ "$("$kubectl" get pods -o name | grep -c cost-)" -eq 30 ]; }
check "ten jobs have their pods" within 60 thirty
sleep 2
check "a job of three pods costs 8 writes: as many as before its spec was kept ($(($(writes) - before)) for ten)" [ $(($(writes) - before)) -le 80 ]

##### owners and labels ##############################################################################
apply kept
within 60 exists pod kept-worker-1
uid=$("$kubectl" get pod kept-worker-0 -o jsonpath='{.metadata.uid}')
"$kubectl" patch pod kept-worker-0 --type=json -p '[{"op": "remove", "path": "/metadata/ownerReferences"}]' >/dev/null
check "a pod that lost its owner is adopted" within 60 is_owned pod kept-worker-0 BatchScore
check "and it is the same pod" [ "$("$kubectl" get pod kept-worker-0 -o jsonpath='{.metadata.uid}')" = "$uid" ]
"$kubectl" patch service kept-coordinator --type=merge -p '{"spec": {"type": "ExternalName", "externalName": "a.example", "clusterIP": null}}' >/dev/null
is_right() { "$kubectl" get service kept-coordinator -o json | jq -e '.spec | .type == "ClusterIP" and .clusterIP and (.ports | length == 1)'; }
check "a Service whose type was changed is put right" within 60 is_right
"$kubectl" label pod kept-worker-1 windlass.dev/job- >/dev/null
check "a worker whose job label was removed: the place gets the next name" within 60 is_owned pod kept-worker-1-2 BatchScore
released() { exists pod kept-worker-1 && [ -z "$(owner pod kept-worker-1)$(annotation pod kept-worker-1)" ]; }
check "the pod itself is released, not deleted" within 60 released
# A later attempt: the place's next pod has the first name, which is free.
apply later
within 60 exists pod later-worker-0
"$kubectl" patch pod later-worker-0 --type=merge -p '{"metadata": {"finalizers": ["test.windlass.dev/hold"]}}' >/dev/null
"$kubectl" delete pod later-worker-0 --wait=false >/dev/null
within 60 is_owned pod later-worker-0-2 BatchScore
"$kubectl" patch pod later-worker-0 --type=merge -p '{"metadata": {"finalizers": null}}' >/dev/null
"$kubectl" delete pod later-worker-0 --force --grace-period=0 --ignore-not-found >/dev/null 2>&1
lacks() { ! exists "$@"; }
within 60 lacks pod later-worker-0
"$kubectl" label pod later-worker-0-2 windlass.dev/index=1 --overwrite >/dev/null
check "a worker of a later attempt that got another one's index: its place is filled" within 60 is_owned pod later-worker-0 BatchScore
later_released() { exists pod later-worker-0-2 && [ -z "$(owner pod later-worker-0-2)$(annotation pod later-worker-0-2)" ]; }
check "and it is released, too" within 60 later_released
"$kubectl" label pod later-worker-0 windlass.dev/job=kept --overwrite >/dev/null
moved_released() { exists pod later-worker-0 && [ -z "$(owner pod later-worker-0)$(annotation pod later-worker-0)" ]; }
check "so is one with the label of another job" within 60 moved_released
"$kubectl" delete bs later --wait=false >/dev/null
check "when the job is deleted they stay" within 60 lacks pod later-worker-1
check "both of them" eval 'exists pod later-worker-0 && exists pod later-worker-0-2'
sleep 1
before=$(requests create)
sleep 8 # in this time it was tried ten times
after=$(requests create)
check "nothing more is asked for in 8 s ($before, then $after creations)" [ "$before" = "$after" ]
"$kubectl" label pod kept-coordinator-1 windlass.dev/job=other --overwrite >/dev/null
held() { [ "$("$kubectl" get bs kept -o jsonpath='{.status.conditions[?(@.type=="Stalled")].reason}')" = NameTaken ]; }
check "a coordinator that was taken out and may still run: no second one, but NameTaken" within 60 held
check "and no second one" [ "$(exists pod kept-coordinator-2; echo $?)" -ne 0 ]
before=$(requests create 409)
sleep 8
after=$(requests create 409)
check "in 8 s it is tried $((after - before)) times, further and further apart" [ $((after - before)) -le 4 ]
"$kubectl" label pod kept-coordinator-1 windlass.dev/job=kept --overwrite >/dev/null
free() { [ "$("$kubectl" get bs kept -o jsonpath='{.status.conditions[?(@.type=="Stalled")].status}')" != True ]; }
check "with its label again the job goes on" within 60 free

##### other owners, other controllers, added containers ##############################################
"$kubectl" create configmap backup --from-literal=a=b >/dev/null
backup="\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"name\": \"backup\", \"uid\": \"$("$kubectl" get configmap backup -o jsonpath='{.metadata.uid}')\""
apply parted
within 60 exists pod parted-worker-1
"$kubectl" patch pod parted-worker-0 --type=json -p "[{\"op\": \"add\", \"path\": \"/metadata/ownerReferences/-\", \"value\": {$backup}}]" >/dev/null
"$kubectl" patch pod parted-worker-1 --type=json -p "[{\"op\": \"replace\", \"path\": \"/metadata/ownerReferences\", \"value\": [{$backup, \"controller\": true}]}]" >/dev/null
told() { "$kubectl" get events.events.k8s.io -o json | jq -e --arg reason "$1" --arg note "$2" 'any(.items[]; .regarding.name == "parted" and .reason == $reason and (.note | startswith($note)))'; }
check "a pod with another owner beside the job: the Event PodShared" within 60 told PodShared "pod parted-worker-0 has another owner, too, ConfigMap backup"
check "a pod with another controller: the Event PodTakenOver" within 60 told PodTakenOver "pod parted-worker-1 has another controller now, ConfigMap backup"
check "and its place gets the next name" within 60 is_owned pod parted-worker-1-2 BatchScore
"$kubectl" delete bs parted --wait=false >/dev/null
check "when the job is deleted its own pods go" within 60 lacks pod parted-worker-1-2
check "and both others stay" eval 'exists pod parted-worker-0 && exists pod parted-worker-1'

# A trial that some other program's kind Sweep owns, of the same name as ours; and one of ours that lost its labels.
trial() { # NAME APIVERSION UID
    training "$1" 1 | sed "s#^metadata: .*#metadata: {name: $1, ownerReferences: [{apiVersion: $2, kind: Sweep, name: s2, uid: $3, controller: true}]}#" | "$kubectl" apply -f - >/dev/null
}
trial lost-labels windlass.dev/v1beta1 "$("$kubectl" get sweep s2 -o jsonpath='{.metadata.uid}')"
trial not-ours other.example/v1 00000000-1111-2222-3333-444444444444
check "a trial of another API group's Sweep begins" within 60 exists pod not-ours-0
check "one of our Sweep that lost its labels does not" lacks pod lost-labels-0
"$kubectl" delete dt not-ours lost-labels --wait=false >/dev/null

# Real webhooks: one adds a container to each pod, which does not end when the agent does; one takes our label off.
python3 tests/kube/inject.py "$api" &
until_true 60 test -s "$api/inject-port"
for what in add strip; do
    "$kubectl" create namespace $what >/dev/null
    "$kubectl" label namespace $what webhook=$what >/dev/null
    cat <<YAML
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: $what}
webhooks:
  - name: $what.windlass.test
    clientConfig: {url: "https://127.0.0.1:$(<"$api/inject-port")/$what", caBundle: $(base64 -w0 "$api/pki/ca.crt")}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    namespaceSelector: {matchLabels: {webhook: $what}}
    sideEffects: None
    admissionReviewVersions: [v1]
YAML
done | "$kubectl" apply -f - >/dev/null
"$kubectl" create namespace deny >/dev/null
"$kubectl" label namespace deny webhook=deny >/dev/null
"$kubectl" get mutatingwebhookconfiguration strip -o json | jq '{apiVersion, kind: "ValidatingWebhookConfiguration", metadata: {name: "deny"}, webhooks:
    [.webhooks[0] | del(.reinvocationPolicy) | .clientConfig.url |= sub("/strip"; "/deny") | .namespaceSelector.matchLabels.webhook = "deny"]}' | "$kubectl" apply -f - >/dev/null
refuses() { "$kubectl" run probe --image=none --restart=Never --dry-run=server -n deny 2>&1 | grep -q 'denied the request: not in this namespace'; }
check "a webhook refuses, without a code, so the answer is 400" within 60 refuses
job mesh | "$kubectl" apply -n deny -f - >/dev/null
sidecars() { "$kubectl" run probe --image=none --restart=Never --dry-run=server -n add -o json | jq -e '.spec.containers | length == 2'; }
check "the webhook adds a container" within 60 sidecars
for what in add strip; do { job mesh; training mesh-gang 2; } | "$kubectl" apply -n $what -f - >/dev/null; done
meshed() { "$kubectl" get pods -n add -o json | jq -e '[.items[].spec.containers | length] == [2, 2, 2, 2, 2]'; }
check "pods with an added container are the job's and the gang's" within 60 meshed
# run POD STATE [CONTAINERS' STATE]: the agent's, and the added container's, which runs.
run() {
    "$kubectl" get pod "$1" -n add -o json 2>/dev/null | jq --argjson state "$2" '{status: {phase: "Running", containerStatuses: [.spec.containers[] |
        {name, ready: true, restartCount: 0, image: "i", imageID: "", state: (if .name == "mesh" then {running: {}} else $state end)}]}}' |
        "$api/curl" "/api/v1/namespaces/add/pods/$1/status" -X PATCH -H 'Content-Type: application/merge-patch+json' --data-binary @- >/dev/null
}
names() { "$kubectl" get pods -n add -o json | jq -r '.items[].metadata.name'; }
for name in $(names); do run "$name" '{"running": {}}'; done
for name in $(names); do
    run "$name" '{"terminated": {"exitCode": 0, "reason": "Completed", "message": "{\"state\": \"Succeeded\", \"message\": \"all done\"}"}}'
done
completes() { [ "$("$kubectl" get "$1" "$2" -n add -o jsonpath='{.status.conditions[?(@.type=="Complete")].status}')" = True ]; }
check "the job ends with its agents, while the added containers run" within 60 completes bs mesh
check "the gang, too" within 60 completes dt mesh-gang
denied() { "$kubectl" get "$1" "$2" -n strip -o json | jq -e '.status.conditions[] | select(.type == "Succeeded") | .reason == "Denied" and (.message | contains("without our windlass.dev/job"))'; }
check "pods that come without our label: the job says Denied, and what is lacking" within 60 denied bs mesh
check "the gang, too" within 60 denied dt mesh-gang
no_pods_in() { [ -z "$("$kubectl" get pods -n "$1" -o name)" ]; }
check "and none of them is left" within 60 no_pods_in strip
refused() { "$kubectl" get bs mesh -n deny -o json | jq -e '.status.conditions[] | select(.type == "Succeeded") | .status == "Unknown" and .reason == "Denied" and (.message | contains("denied the request: not in this namespace"))'; }
check "pods that a webhook refuses: the job says Denied, and has not failed" within 60 refused
"$kubectl" delete validatingwebhookconfiguration deny >/dev/null
refused_runs() { [ "$("$kubectl" get pods -n deny -o name | wc -l)" -eq 3 ]; }
"$kubectl" delete mutatingwebhookconfiguration strip >/dev/null
stripped_runs() { [ "$("$kubectl" get pods -n strip -o name | wc -l)" -eq 5 ]; }
check "without that webhook both go on" within 120 stripped_runs
check "and the one that was refused" within 120 refused_runs

##### a changed spec (this server has no CEL) #######################################################
changed() { "$kubectl" get "$1" "$2" -o jsonpath='{.status.conditions[?(@.type=="SpecChanged")].status}'; }
is_changed() { [ "$(changed "$1" "$2")" = "$3" ]; }
message() { "$kubectl" get "$1" "$2" -o jsonpath='{.status.conditions[?(@.type=="SpecChanged")].message}'; }
stalled() { "$kubectl" get "$1" "$2" -o jsonpath='{.status.conditions[?(@.type=="Stalled")].status}'; }
variable() { "$kubectl" get pod "$1" -o json | jq -r ".spec.containers[0].env[] | select(.name == \"$2\").value"; }
patch() { "$kubectl" patch "$1" "$2" --type=merge -p "$3" >/dev/null; }
begun() { [ -n "$("$kubectl" get "$1" "$2" -o jsonpath='{.status.specHash}')" ]; }
gone() { "$kubectl" delete pod "$@" --force --grace-period=0 >/dev/null 2>&1; }
apply edit
within 60 exists pod edit-worker-1
within 60 begun bs edit
# recorded JOB SERVICE: the record on its Service.
recorded() { "$kubectl" get service "$1-$2" -o json | jq -r '.metadata.annotations["windlass.dev/begun"]'; }
check "the accepted spec is on the job's Service" [ "$(recorded edit coordinator | jq .spec.miniBatchSize)" = 2 ]
check "and costs no object of its own" [ "$("$kubectl" get controllerrevisions -l windlass.dev/job=edit -o name | wc -l)" = 0 ]
check "apply once more: unchanged" grep -q unchanged <<<"$(job edit | "$kubectl" apply -f -)"
patch bs edit '{"spec": {"miniBatchSize": 4, "workers": {"gpus": 1}}}'
check "BatchScore: SpecChanged is True" within 60 is_changed bs edit True
check "BatchScore: and names the fields" says "spec.miniBatchSize, workers.gpus;" "$(message bs edit)"
changed_column() { "$kubectl" get bs edit | awk 'NR == 1 { at = index($0, "CHANGED") } NR == 2 { print substr($0, at, 4) }'; }
check "BatchScore: and kubectl get shows it beside the State" [ "$(changed_column)" = True ]
shows_change() { "$windlass" status edit | grep -q '^  spec     changed after the start, and not accepted: spec.miniBatchSize, workers.gpus;'; }
check "BatchScore: and windlass status" shows_change
# place JOB INDEX: the name of the pod in that place, but not the pod $before.
place() { "$kubectl" get pods -l "windlass.dev/job=$1,windlass.dev/index=$2" -o json | jq -er ".items[] | select(.metadata.uid != \"$before\") | .metadata.name"; }
before=$("$kubectl" get pod edit-worker-0 -o jsonpath='{.metadata.uid}')
gone edit-worker-0 edit-worker-1
check "BatchScore: deleted workers are made again" within 60 place edit 0
check "BatchScore: from the spec that was accepted" [ "$(variable "$(place edit 0)" WINDLASS_SPEC | jq .miniBatchSize)" = 2 ]
check "BatchScore: it is not stalled" [ "$(stalled bs edit)" != True ]
patch bs edit '{"spec": {"workers": {"min": 3, "max": 3}}}'
check "BatchScore: workers.min and max are applied at once" within 60 exists pod edit-worker-2
kill "$pid"
wait "$pid"
controller owner-2 --no-leader-election
before=$("$kubectl" get pod edit-worker-2 -o jsonpath='{.metadata.uid}')
gone edit-worker-2
check "BatchScore: another controller goes on with the accepted spec" within 60 place edit 2
check "BatchScore: and says so" is_changed bs edit True
check "BatchScore: with one event" [ "$("$kubectl" get events.events.k8s.io -o json | jq '[.items[] | select(.regarding.name == "edit" and .reason == "SpecChanged")] | length')" -eq 1 ]
patch bs edit '{"spec": {"miniBatchSize": 2, "workers": {"gpus": 0}}}'
check "BatchScore: put back, SpecChanged is False" within 60 is_changed bs edit False

training taught 2 | "$kubectl" apply -f - >/dev/null
within 60 exists pod taught-1
within 60 begun dt taught
patch dt taught '{"spec": {"command": ["other"]}}'
check "DistTrain: SpecChanged is True" within 60 is_changed dt taught True
before=$("$kubectl" get pod taught-1 -o jsonpath='{.metadata.uid}')
gone taught-1
check "DistTrain: a deleted member is made again" within 60 place taught 1
check "DistTrain: with the command that was accepted" [ "$(variable "$(place taught 1)" WINDLASS_SPEC | jq -c .command)" = '["train"]' ]
patch dt taught '{"spec": {"suspend": true}}'
none() { [ "$(count pods taught)" -eq 0 ]; }
check "DistTrain: suspend is applied at once" within 60 none

sweep s3 | sed 's/maxConcurrentTrials: 4/maxConcurrentTrials: 1/' | "$kubectl" apply -f - >/dev/null
within 60 exists disttrain s3-0000
within 60 begun sweep s3
patch sweep s3 '{"spec": {"parameters": [{"name": "X", "choice": ["7", "8", "9"]}]}}'
check "Sweep: SpecChanged is True" within 60 is_changed sweep s3 True
patch sweep s3 '{"spec": {"maxConcurrentTrials": 3}}'
check "Sweep: maxConcurrentTrials is applied at once" within 60 exists disttrain s3-0002
check "Sweep: with the values that were accepted" [ "$("$kubectl" get disttrain s3-0002 -o jsonpath='{.spec.command[1]}')" = 3 ]
check "Sweep: it is not stalled" [ "$(stalled sweep s3)" != True ]

##### what may change while a job is suspended #######################################################
has_pods() { [ "$(count pods "$1")" -eq "$2" ]; }
# moved KIND NAME: the accepted spec is another one than $hash.
moved() { [ "$("$kubectl" get "$1" "$2" -o jsonpath='{.status.specHash}')" != "$hash" ]; }
revisions() { "$kubectl" get controllerrevisions -l "windlass.dev/job=$1" -o name | wc -l; }
limit() { "$kubectl" get pods -l "windlass.dev/job=$1,windlass.dev/role=$2" -o jsonpath='{.items[0].spec.containers[0].resources.limits.memory} {.items[0].spec.nodeSelector.pool} {.items[0].spec.tolerations[0].key} {.items[0].spec.priorityClassName}'; }
"$kubectl" create priorityclass high --value=1000 >/dev/null
rest() { "$kubectl" delete pods -l "windlass.dev/job=$1" --force --grace-period=0 >/dev/null 2>&1; within 60 has_pods "$1" 0; }
places='"resources": {"limits": {"memory": "3Gi"}}, "nodeSelector": {"pool": "big"}, "tolerations": [{"key": "big", "operator": "Exists"}]'
apply rests
within 60 has_pods rests 3
patch bs rests '{"spec": {"suspend": true}}'
rest rests
hash=$(field rests .status.specHash)
patch bs rests "{\"spec\": {\"priorityClassName\": \"high\", \"workers\": {$places}, \"coordinator\": {\"nodeSelector\": {\"pool\": \"big\"}}}}"
check "BatchScore, suspended: other resources, nodes and priority are accepted" within 60 moved bs rests
check "and are one revision" [ "$(revisions rests)" -eq 1 ]
is_recorded() { [ "$(recorded rests coordinator | jq -r .spec.workers.resources.limits.memory)" = "$1" ]; }
check "and move the record on the Service" within 60 is_recorded 3Gi
check "and no change that is not accepted" [ "$(changed bs rests)" != True ]
patch bs rests '{"spec": {"suspend": false}}'
within 60 has_pods rests 3
check "it goes on with them" [ "$(limit rests worker)" = "3Gi big big high" ]
check "its coordinator, too" [ "$("$kubectl" get pods -l windlass.dev/job=rests,windlass.dev/role=coordinator -o jsonpath='{.items[0].spec.nodeSelector.pool}')" = big ]
patch bs rests '{"spec": {"workers": {"resources": {"limits": {"memory": "5Gi"}}}}}'
check "while it runs such a change is not accepted" within 60 is_changed bs rests True
check "with the field" says "spec.workers.resources" "$(message bs rests)"
# Five times, by two controllers in turn, of which each takes over from one that was killed.
for i in 11 12 13 14 15; do
    patch bs rests '{"spec": {"suspend": true}}'
    rest rests
    hash=$(field rests .status.specHash)
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    # One update changes and resumes.
    patch bs rests "{\"spec\": {\"suspend\": false, \"workers\": {\"resources\": {\"limits\": {\"memory\": \"${i}Gi\"}}}}}"
    controller "rests-$i" --no-leader-election
    within 60 has_pods rests 3
done
check "five times changed and resumed in one, under new controllers: the last one counts" [ "$(limit rests worker)" = "15Gi big big high" ]
check "and there are at most two revisions ($(revisions rests))" [ "$(revisions rests)" -le 2 ]
check "and the record is that of status.specHash" within 60 is_recorded 15Gi
# A backup is restored without the status: the job goes on with what was taken last.
wiped() { "$api/curl" "/apis/windlass.dev/v1beta1/namespaces/default/batchscores/$1/status" -X PATCH \
    -H 'Content-Type: application/json-patch+json' -d '[{"op": "replace", "path": "/status", "value": {"observedGeneration": -1}}]' >/dev/null; }
"$kubectl" delete controllerrevisions -l windlass.dev/job=rests >/dev/null
wiped rests
patch bs rests '{"spec": {"workers": {"resources": {"limits": {"memory": "99Gi"}}}}}'
check "without its status: the change after it is not accepted" within 60 is_changed bs rests True
check "and it is not stalled" [ "$(stalled bs rests)" != True ]
before=$("$kubectl" get pods -l windlass.dev/job=rests,windlass.dev/index=0 -o jsonpath='{.items[0].metadata.uid}')
"$kubectl" delete pods -l windlass.dev/job=rests,windlass.dev/role=worker --force --grace-period=0 >/dev/null 2>&1
within 60 place rests 0
check "and its pods are made from what was taken last" [ "$(limit rests worker)" = "15Gi big big high" ]
patch bs rests '{"spec": {"workers": {"resources": {"limits": {"memory": "15Gi"}}}}}'
patch bs rests '{"spec": {"suspend": true}}'
rest rests
hash=$(field rests .status.specHash)
patch bs rests '{"spec": {"workers": {"gpus": 2}, "miniBatchSize": 9}}'
check "GPUs where there were none, and another field: told" within 60 is_changed bs rests True
check "with both fields" says "spec.miniBatchSize, workers.gpus;" "$(message bs rests)"
patch bs rests '{"spec": {"workers": {"gpus": 0}, "miniBatchSize": 2}}'
check "put back, it is accepted" within 60 is_changed bs rests False

training moves 2 | "$kubectl" apply -f - >/dev/null
within 60 has_pods moves 2
patch dt moves '{"spec": {"suspend": true}}'
rest moves
hash=$(kind=dt field moves .status.specHash)
patch dt moves "{\"spec\": {\"priorityClassName\": \"high\", $places}}"
check "DistTrain, suspended: too" within 60 moved dt moves
patch dt moves '{"spec": {"suspend": false}}'
within 60 has_pods moves 2
check "it goes on with them" [ "$(limit moves member)" = "3Gi big big high" ]

# Revisions and records that somebody deletes, or has the name of.
"$kubectl" annotate service moves-hub windlass.dev/begun- >/dev/null
"$kubectl" delete controllerrevisions -l windlass.dev/job=moves >/dev/null
patch dt moves '{"spec": {"command": ["other"]}}'
stalls() { [ "$(stalled dt moves)" = True ]; }
check "its revisions are deleted, then its spec changed: it waits for the old one" within 60 stalls
patch dt moves '{"spec": {"command": ["train"]}}'
check "put back, its spec is stored again" within 60 eval '[ "$(revisions moves)" -ge 1 ]'
goes_on() { [ "$(stalled dt moves)" != True ]; }
check "and it goes on" within 60 goes_on
patch dt moves '{"spec": {"command": ["other"]}}'
check "and the next change is not accepted" within 60 is_changed dt moves True
check "without holding it" goes_on
patch dt moves '{"spec": {"command": ["train"]}}'
within 60 is_changed dt moves False
patch dt moves '{"spec": {"suspend": true}}'
rest moves
"$kubectl" delete controllerrevisions -l windlass.dev/job=moves >/dev/null
taken="moves-$(kind=dt field moves .metadata.uid | cut -c1-8)"
for name in "$taken-1" "$taken-2"; do
    echo "{\"apiVersion\": \"apps/v1\", \"kind\": \"ControllerRevision\", \"metadata\": {\"name\": \"$name\"}, \"revision\": 1, \"data\": {\"mine\": true}}" | "$kubectl" apply -f - >/dev/null
done
patch dt moves '{"spec": {"suspend": false, "nodeSelector": {"pool": "small"}}}'
check "its names are a user's: a change is not accepted" within 60 is_changed dt moves True
check "and it goes on as it began" within 60 has_pods moves 2
check "and the user's objects are left alone" [ "$("$kubectl" get controllerrevisions -o json | jq '[.items[] | select(.data.mine)] | length')" -eq 2 ]

##### a controller that dies before the first status ##################################################
# The first status waits for a second; the successor writes it.
apply young
within 60 exists service young-coordinator
kill -9 "$pid"
wait "$pid" 2>/dev/null
controller young --no-leader-election
check "the successor writes the first status" within 60 begun bs young
check "and its State" [ -n "$(condition young reason)" ]
"$kubectl" delete bs young >/dev/null

##### an earlier job of the same name ################################################################
apply again
within 60 exists pod again-worker-1
"$kubectl" delete bs again --wait=false >/dev/null
apply again
again_is_new() { [ "$("$kubectl" get bs again -o jsonpath='{.metadata.uid}')" = "$(annotation pod again-coordinator-1)" ]; }
check "a job that was deleted and applied again has its first names" within 60 again_is_new
# replace --force deletes it and makes another one, with another input.
job again data/other | sed 's#data/in.mp4#data/in2.mp4#' | "$kubectl" replace --force -f - >/dev/null
again_has_it() { again_is_new && [ "$(variable again-coordinator-1 WINDLASS_SPEC | jq -r .input.video.path)" = data/in2.mp4 ]; }
check "replace --force with another input: a new job with that input" within 60 again_has_it
check "and no talk of a change" [ -z "$(changed bs again)" ]

check "a minute after their agents, pods that added containers keep are deleted" within 120 no_pods_in add
kill "$pid"
wait "$pid"
[ $failures -eq 0 ] || tail -n 30 "$work"/*.log | sed 's/^/# /'
exit $failures
