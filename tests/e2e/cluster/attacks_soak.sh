# shellcheck shell=bash disable=SC2154,SC2034 # what is set by the script that sources it
# attacks_soak.sh: the attacks of test_attacks.sh that take long, for a soak; sourced by it.
exists() { "$kubectl" get "$@" >/dev/null 2>&1; }
lacks() { ! exists "$@"; }
leaving() { [ "$("$kubectl" get pods -l "windlass.dev/job=$1" -o json | jq '[.items[] | select(.metadata.deletionTimestamp)] | length')" -eq "$2" ]; }
##### foreground deletion while the pods do not end ##################################################
touch "$api/hangs"
apply hang-fore
gang hang-gang | "$kubectl" apply -f - >/dev/null
check "both jobs run" within 60 eval 'running hang-fore 3 && running hang-gang 3'
"$kubectl" delete bs/hang-fore dt/hang-gang --cascade=foreground --wait=false >/dev/null
check "foreground deletion: all pods of a BatchScore are deleted" within 60 leaving hang-fore 3
check "foreground deletion: and those of a DistTrain" within 60 leaving hang-gang 3
check "foreground deletion: while they hang nothing is asked for" within 60 quiet 6 2 || echo "# $asks requests"
check "foreground deletion: and no pod is made" [ "$(count pods hang-fore) $(count pods hang-gang)" = "3 3" ]
apply wait-meanwhile
check "foreground deletion: another job begins meanwhile" within 60 running wait-meanwhile 3
rm "$api/hangs"
for name in hang-fore hang-gang; do check "foreground deletion: when they end nothing is left ($name)" within 60 nothing_is_left $name; done
check "foreground deletion: and the jobs are gone" within 60 eval 'lacks bs hang-fore && lacks dt hang-gang'

##### a label ####################################################################################
# A Service is found by its label, and the job's key goes with it.
apply wait-label
within 60 running wait-label 3
"$kubectl" label service "$(service_of wait-label)" windlass.dev/job- >/dev/null
other_service() { [ "$(service_of wait-label)" = wait-label-coordinator-b ]; }
check "a Service whose label was taken off: the job has another one" within 60 other_service
check "with its pods" within 60 running wait-label 3
"$kubectl" delete bs wait-label --wait=false >/dev/null

##### a status that is edited by hand ################################################################
status_is() { # NAME JSON
    "$api/curl" "/apis/windlass.dev/v1beta1/namespaces/default/batchscores/$1/status" -X PATCH \
        -H 'Content-Type: application/merge-patch+json' -d "{\"status\": $2}" >/dev/null
}
apply wait-edit
begun() { [ -n "$(field "$1" .status.specHash)" ]; }
check "a job runs" within 60 eval 'running wait-edit 3 && begun wait-edit'
hash=$(field wait-edit .status.specHash)
pods_before=$(pods_of wait-edit)
status_is wait-edit '{"specHash": "0123456789abcdef", "conditions": [{"type": "Complete", "status": "True", "reason": "Me", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}'
restored() { [ "$(condition wait-edit status Complete) $(field wait-edit .status.specHash)" = "False $hash" ]; }
check "a status that says Complete, with another hash, is put right" within 60 restored
status_is wait-edit null
check "a status that was taken away is written again" within 60 begun wait-edit
check "and the job has the same pods" [ "$(pods_of wait-edit)" = "$pods_before" ]

##### a watch that is 10 s late ######################################################################
kill "$pid"
wait "$pid"
late=$(tests/proxy/start.sh start "$api" late)
echo '[{"watch": true, "lateSeconds": 10}]' >"$api/late/faults"
controller late --no-leader-election --kubeconfig "$late"
names() { "$kubectl" get pods -l "windlass.dev/job=$1" -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp | not) | .metadata.name] | sort | join(" ")'; }
three_of() { [ "$(names "$1")" = "$1-coordinator-1 $1-worker-0 $1-worker-1" ]; }
apply wait-late
check "late watch: a job has its three pods" within 60 three_of wait-late
# It is deleted and made again before the watch has told the first one.
apply wait-again
check "late watch: so has another one" within 60 three_of wait-again
"$kubectl" delete bs wait-again --wait=false >/dev/null
apply wait-again
newer() { [ "$(uid bs wait-again)" = "$(owner pod wait-again-worker-1)" ] && three_of wait-again; }
check "late watch: deleted and made again at once, the new job has its three pods" within 90 newer
"$kubectl" delete pod wait-late-worker-0 --wait=false >/dev/null
replaced() { [ "$(names wait-late)" = "wait-late-coordinator-1 wait-late-worker-0-2 wait-late-worker-1" ]; }
check "late watch: a worker that was deleted is replaced once" within 60 replaced
sleep 12
check "late watch: and once alone" replaced
check "late watch: no job has a second pod" newer
kill "$pid"
wait "$pid"
tests/proxy/start.sh stop "$api" late

controller many --no-leader-election

##### many jobs at once ##############################################################################
: "${ATTACK_JOBS:=60}"
"$kubectl" create namespace many >/dev/null
python3 tests/bench/load.py "$api" batchscores many "$ATTACK_JOBS"
check "$ATTACK_JOBS jobs created at once: each has its two pods" \
    [ "$(python3 tests/bench/load.py "$api" wait many $((ATTACK_JOBS * 2)) 600)" -eq $((ATTACK_JOBS * 2)) ]
check "and no creation was refused" [ "$(page "$port" /metrics | awk '/^windlass_apiserver_requests_total.*create.*code="4/ { n += $2 } END { print n + 0 }')" -eq 0 ]

##### a namespace that goes ##########################################################################
"$kubectl" create namespace leaves >/dev/null
job wait-leaves | "$kubectl" apply -n leaves -f - >/dev/null
in_leaves() { [ "$("$kubectl" get pods -n leaves -o json | jq '[.items[] | select(.status.phase == "Running")] | length')" -eq 3 ]; }
check "namespace: a job runs in it" within 60 in_leaves
"$kubectl" patch bs wait-leaves -n leaves --type=merge -p '{"metadata": {"finalizers": ["test.windlass.dev/hold"]}}' >/dev/null
"$kubectl" delete namespace leaves --wait=false >/dev/null
no_pods_there() { [ -z "$("$kubectl" get pods -n leaves -o name)" ]; }
check "namespace: when it is deleted the job's pods end" within 60 no_pods_there
check "namespace: a job in it that a finalizer keeps asks for nothing" within 60 quiet 5 3 || echo "# $asks requests"
"$kubectl" patch bs wait-leaves -n leaves --type=merge -p '{"metadata": {"finalizers": null}}' >/dev/null
check "namespace: then it goes" within 60 lacks namespace leaves
"$kubectl" create namespace leaves >/dev/null
job wait-leaves | "$kubectl" apply -n leaves -f - >/dev/null
check "namespace: made again, with the same job, which runs" within 60 in_leaves

##### a definition that is removed and installed again ###############################################
"$kubectl" delete crd batchscores.windlass.dev >/dev/null
unused() { [ -z "$("$kubectl" get pods -A -l app.kubernetes.io/name=batchscore -o name)" ]; }
check "definition removed: the pods of its jobs end" within 60 unused
check "definition removed: it is asked for now and then" within 60 quiet 6 12 || echo "# $asks requests"
"$kubectl" apply --validate=false -f crds/batchscore.yaml >/dev/null
established "$kubectl" crd/batchscores.windlass.dev
apply wait-new
check "definition installed again: a job runs, under the same controller" within 60 running wait-new 3
