#!/usr/bin/env bash
# What a real API server (Kubernetes 1.20) refuses or drops; the controller reports it once, without a
# storm of requests: a definition that is older than the program, quotas, webhooks that hang, wrong templates.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/cluster/jobs.sh
stalled() { field "$1" '.status.conditions[?(@.type=="Stalled")].reason'; }
# requests PORT VERB [CODE]: the number of such requests.
requests() { page "$1" /metrics | awk -v verb="verb=\"$2\"" -v code="${3:+code=\"$3\"}" 'index($0, "windlass_apiserver_requests_total{" verb) && index($0, code) { n += $2 } END { print n + 0 }'; }

##### a definition that is older than the controller #############################################
without() { # FIELD: crds/batchscore.yaml without it in the status
    "$kubectl" get crd batchscores.windlass.dev -o json |
        jq "del(.metadata, .status) | .metadata.name = \"batchscores.windlass.dev\" |
            del(.spec.versions[].schema.openAPIV3Schema.properties.status.properties.$1)" >"$work/old.json"
    "$kubectl" replace --validate=false -f "$work/old.json" >/dev/null
}
now_defined() { "$kubectl" apply --validate=false -f crds/batchscore.yaml >/dev/null 2>&1; }
# Waits until the API server uses the definition: it drops the field, or does not.
dropped() { # FIELD: a status is written to the job `probe`
    "$api/curl" /apis/windlass.dev/v1alpha1/namespaces/default/batchscores/probe/status -X PATCH \
        -H 'Content-Type: application/merge-patch+json' -d '{"status": {"agentImage": "i", "credentials": {"secret": "s"}}}' |
        jq -e ".status.$1 == null"
}
kept() { ! dropped "$1"; }
controller_is_outdated() { # FIELD
    apply probe
    "$kubectl" patch bs probe --type merge -p '{"spec":{"suspend":true}}' >/dev/null
    without "$1"
    within 60 dropped "$1" || echo "# the API server keeps $1"
    "$kubectl" delete bs probe >/dev/null
    controller "without-$1" --no-leader-election
    apply "without-${1,,}"
    is_told() { [ "$(stalled "without-${1,,}")" = CRDOutdated ]; }
    check "definition without status.$1: Stalled says CRDOutdated" within 60 is_told "$1"
    check "definition without status.$1: and names field and remedy" \
        grep -q "drops status.$1;.*crds.install=true.*kubectl apply --server-side -f crds/batchscore.yaml" <<<"$(condition "without-${1,,}" message)"
    check "definition without status.$1: State is CRDOutdated" [ "$(condition "without-${1,,}" reason)" = CRDOutdated ]
    sleep 0.5
    before=$(requests "$port" patch)/$(requests "$port" create)
    sleep 4
    after=$(requests "$port" patch)/$(requests "$port" create)
    check "definition without status.$1: it asks for nothing in 4 s (patch/create: $before, then $after)" [ "$before" = "$after" ]
    check "definition without status.$1: no pod is made" [ "$(count pods)" -eq 0 ]
    events=$("$kubectl" get events.events.k8s.io -o jsonpath="{range .items[?(@.regarding.name=='without-${1,,}')]}{.reason} {end}")
    check "definition without status.$1: one event ($events)" [ "$events" = "CRDOutdated " ]
    kill "$pid"
    wait "$pid"
    # Like an upgrade of the chart: a new definition, and another controller.
    now_defined
    apply probe
    "$kubectl" patch bs probe --type merge -p '{"spec":{"suspend":true}}' >/dev/null
    within 60 kept "$1" || echo "# the API server drops $1"
    "$kubectl" delete bs probe >/dev/null
    controller "with-$1" --no-leader-election
    has_pods() { [ "$(count pods "without-${1,,}")" -eq 3 ] && [ "$(stalled "without-${1,,}")" = NotStalled ]; }
    check "definition with status.$1: the job goes on" within 60 has_pods "$1"
    kill "$pid"
    wait "$pid"
    "$kubectl" delete bs "without-${1,,}" --wait=false >/dev/null
    "$kubectl" delete pods --all --force --grace-period=0 >/dev/null 2>&1
}
draw "fields that an older definition lacks" 1 credentials agentImage
for field in "${drawn[@]}"; do controller_is_outdated "$field"; done

# An older definition lacks fields that this program has, and so does every object. Its pods have the defaults of this
# program's definition; the object stays as the server has it.
agents_spec() { "$kubectl" get pod "$1" -o json | jq -r '.spec.containers[0].env[] | select(.name == "WINDLASS_SPEC").value | fromjson' | jq -Sc .; }
lacks() { # KIND JOB PATH: the server's object lacks the field
    "$kubectl" get "$1" "$2" -o json | jq -e "$3 == null" >/dev/null
}
older_definitions() {
    local field old=.spec.versions[].schema.openAPIV3Schema.properties.spec.properties
    controller defaults --no-leader-election
    apply newer
    gang newer-gang | "$kubectl" apply -f - >/dev/null
    now_there() { "$kubectl" get pods newer-coordinator-1 newer-gang-0 -o name; }
    check "newer definitions: pods are made" within 60 now_there
    "$kubectl" get crd batchscores.windlass.dev -o json | jq "del(.metadata, .status) | .metadata.name = \"batchscores.windlass.dev\" |
        del($old.retry.properties.maxTries, $old.errorThreshold, $old.scorer.properties.onnx.properties.postprocess)" >"$work/old.json"
    "$kubectl" get crd disttrains.windlass.dev -o json | jq "del(.metadata, .status) | .metadata.name = \"disttrains.windlass.dev\" |
        del($old.restart.properties.maxRestarts, $old.slotsPerWorker)" >"$work/old-gang.json"
    "$kubectl" replace --validate=false -f "$work/old.json" -f "$work/old-gang.json" >/dev/null
    is_older() { # a suspended job: it has no pods
        job probe | sed 's/^spec:/&\n  suspend: true/' | "$kubectl" apply --validate=false -f - && gang probe "suspend: true" | "$kubectl" apply --validate=false -f - &&
            lacks bs probe .spec.errorThreshold && lacks dt probe .spec.slotsPerWorker && return
        "$kubectl" delete bs/probe dt/probe
        return 1
    }
    check "older definitions: the server fills no default in for the fields" within 60 is_older
    apply older
    gang older-gang | "$kubectl" apply -f - >/dev/null
    then_there() { "$kubectl" get pods older-coordinator-1 older-worker-0 older-gang-0 -o name; }
    check "older definitions: pods are made" within 60 then_there
    for field in coordinator-1 worker-0 gang-0; do
        check "older definitions: the spec of $field is that of newer ones" [ "$(agents_spec "older-$field")" = "$(agents_spec "newer-$field")" ]
    done
    check "older definitions: and has the fields" grep -q '"maxRestarts":3' <<<"$(agents_spec older-gang-0)"
    is_started() { [ -n "$(field older .status.specHash)" ] && [ -n "$(kind=dt field older-gang .status.specHash)" ]; }
    check "older definitions: both jobs have begun" within 60 is_started
    check "older definitions: the object is not written" lacks bs older '.spec | .errorThreshold // .retry.maxTries // .scorer.onnx.postprocess'
    check "older definitions: and no spec has changed" [ "$("$kubectl" get bs,dt -o json | jq '[.items[].metadata.generation] | max')" = 1 ]
    "$kubectl" apply --validate=false -f crds/batchscore.yaml -f crds/disttrain.yaml >/dev/null 2>&1
    upgraded() { ! lacks bs older .spec.errorThreshold && ! lacks dt older-gang .spec.slotsPerWorker; }
    check "older definitions: upgraded" within 60 upgraded
    check "older definitions: then no job says that its spec was changed" [ -z "$(stalled older)$(kind=dt stalled older-gang)" ]
    kill "$pid"
    wait "$pid"
    "$kubectl" delete bs,dt --all --wait=false >/dev/null
    "$kubectl" delete pods --all --force --grace-period=0 >/dev/null 2>&1
}
older_definitions

##### a quota ####################################################################################
# The quota controller does not run: this test writes its status.
quota() { # PODS
    "$api/curl" /api/v1/namespaces/default/resourcequotas/few/status -X PATCH -H 'Content-Type: application/merge-patch+json' \
        -d "{\"status\": {\"hard\": {\"pods\": \"$1\"}, \"used\": {\"pods\": \"$(count pods)\"}}}" >/dev/null
}
"$kubectl" create quota few --hard=pods=20 >/dev/null
quota 20
controller quota --no-leader-election
job crowd | sed 's/min: 2, max: 2/min: 100, max: 100/' | "$kubectl" apply -f - >/dev/null
crowd_waits() { [ "$(count pods crowd)" -eq 20 ] && [ "$(condition crowd reason)" = QuotaExceeded ]; }
check "quota: a job of 101 pods, of which 20 may be, says QuotaExceeded" within 60 crowd_waits
check "quota: with the API server's sentence" says "exceeded quota: few" "$(condition crowd message)"
first=$(requests "$port" create 403)
check "quota: it stopped at the first refusals ($first of 81)" [ "$first" -le 24 ]
for i in $(seq 12); do # events about the job do not cause another request
    "$kubectl" annotate bs crowd --overwrite "tests/look=$i" >/dev/null
    sleep 0.5
done
again=$(($(requests "$port" create 403) - first))
check "quota: in the next 6 s it asked again $again times: one pod, further and further apart" [ "$again" -ge 1 -a "$again" -le 5 ]
check "quota: no event reports pods that were not created" [ "$("$kubectl" get events.events.k8s.io -o json | jq '[.items[] | select(.regarding.name == "crowd")] | length')" -eq 1 ]
quota 200
crowd_is_there() { [ "$(count pods crowd)" -eq 101 ]; }
check "quota: when it is raised all pods are made" within 60 crowd_is_there
check "quota: each once" [ "$(requests "$port" create 409)" -eq 0 ]
kill "$pid"
wait "$pid"
"$kubectl" delete bs crowd --wait=false >/dev/null
"$kubectl" delete quota few >/dev/null
"$kubectl" delete pods --all --force --grace-period=0 >/dev/null 2>&1

##### a LimitRange ###############################################################################
# Its default limit is below what the pods request: the API server calls them invalid (422).
"$kubectl" apply -f - >/dev/null <<YAML
apiVersion: v1
kind: LimitRange
metadata: {name: small}
spec: {limits: [{type: Container, default: {memory: 50Mi}, defaultRequest: {memory: 50Mi}}]}
YAML
controller limits --no-leader-election
{ job limited && echo '  coordinator: {resources: {requests: {memory: 256Mi}}}'; } | "$kubectl" apply -f - >/dev/null
limited_waits() { [ "$(condition limited reason)" = Denied ]; }
check "LimitRange: a job whose pods break it says Denied" within 60 limited_waits
check "LimitRange: with the API server's sentence" says "must be less than or equal to memory limit, which a LimitRange" "$(condition limited message)"
check "LimitRange: it has not failed" [ "$(condition limited status)" = Unknown ]
"$kubectl" delete limitrange small >/dev/null
limited_is_there() { [ "$(count pods limited)" -eq 3 ]; }
check "LimitRange: when it is gone the pods are made" within 60 limited_is_there
# Classes that are not there, in the same words of the server (403), and made while the jobs wait.
{ job ranked && echo '  priorityClassName: absent-rank'; } | "$kubectl" apply -f - >/dev/null
job boxed | sed 's/min: 2, max: 2/&, template: {spec: {runtimeClassName: absent-box}}/' | "$kubectl" apply -f - >/dev/null
waits_for_class() { [ "$(condition "$1" reason)" = Denied ] && says "$2" "$(condition "$1" message)"; }
check "PriorityClass: a job whose class is not there says so" within 60 waits_for_class ranked "no PriorityClass with name absent-rank"
check "RuntimeClass: a job whose workers' class is not there says so" within 60 waits_for_class boxed 'RuntimeClass "absent-box" not found'
"$kubectl" apply -f - >/dev/null <<YAML
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: absent-rank}
value: 5
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: absent-box}
handler: runc
YAML
both_have_pods() { [ "$(count pods ranked) $(count pods boxed)" = "3 3" ]; }
check "PriorityClass, RuntimeClass: when they are made, so are the pods" within 60 both_have_pods
kill "$pid"
wait "$pid"
"$kubectl" delete bs limited ranked boxed --wait=false >/dev/null
"$kubectl" delete pods --all --force --grace-period=0 >/dev/null 2>&1

##### a namespace where every pod hangs, or fails ################################################
through=$(tests/proxy/start.sh start "$api") || exit 3
"$kubectl" create namespace hangs >/dev/null
fault() { echo "[{\"method\": \"POST\", \"path\": \"^/api/v1/namespaces/hangs/pods\", $1}]" >"$api/proxy/new" && mv "$api/proxy/new" "$api/proxy/faults"; }
fault '"status": 503'
controller through --no-leader-election --kubeconfig "$through"
for i in $(seq 40); do job "hang-$i"; done | sed 's/^metadata: {/&namespace: hangs, /' | "$kubectl" apply -f - >/dev/null
has_pods() { [ "$(count pods "$1")" -eq 3 ]; }
done_so_far() { jq -r ".\"$1\" // 0" "$api/proxy/counts" 2>/dev/null; }
many_fail() { [ "$(done_so_far 503)" -ge 20 ]; } # how soon is the pace of tries' matter
check "failing webhook: its own jobs are tried" within 60 many_fail
apply beside-fails # long before the failing one is given up, even on a busy machine
check "failing webhook: a job of another namespace gets its pods meanwhile" within 10 has_pods beside-fails
# Another controller: this one asks little of that namespace by now.
kill "$pid"
wait "$pid"
fault '"stallSeconds": 20'
began_hanging=$SECONDS
controller hanging --no-leader-election --kubeconfig "$through"
many_hang() { [ "$(done_so_far stall)" -ge 64 ]; }
check "hanging webhook: 64 requests hang" within 60 many_hang
nap 1 # all 120 would
# (Those that have hung for their 20 s are asked for again.)
hanging=$(done_so_far stall) most=$((64 * (1 + (SECONDS - began_hanging) / 20)))
check "hanging webhook: and no more than 64 hang ($hanging so far)" [ "$hanging" -le $most ]
apply beside-hangs
check "hanging webhook: a job of another namespace gets its pods meanwhile" within 10 has_pods beside-hangs

##### a template that is wrong ####################################################################
# 1.20 drops a field that it does not know; later ones answer so, as the POST requests it.
echo '[{"method": "POST", "path": "^/api/v1/namespaces/default/pods.*fieldValidation=Strict", "status": 400}]' >"$api/proxy/new"
mv "$api/proxy/new" "$api/proxy/faults"
apply wrong-template
check "wrong template: the job has failed" ends wrong-template False ObjectRefused
check "wrong template: it was asked for a few times at most ($(done_so_far 400))" [ "$(done_so_far 400)" -le 3 ]
rm "$api/proxy/faults"
all_are_there() { [ "$("$kubectl" get pods -n hangs -o name | wc -l)" -eq 120 ]; }
check "when it answers again, its jobs go on" within 60 all_are_there
kill "$pid"
wait "$pid"
tests/proxy/start.sh stop "$api"
[ $failures -eq 0 ] || tail -n 30 "$work"/*.log | sed 's/^/# /'
exit $failures
