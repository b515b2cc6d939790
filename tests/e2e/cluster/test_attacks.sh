#!/usr/bin/env bash
# What people and clusters do to jobs that run, on a real API server (Kubernetes 1.20): evictions, owners taken away by
# hand. In a soak also foreground deletion while pods hang, labels and status changed by hand, a watch that is 10 s late,
# jobs deleted and made again within it, a namespace that goes, many jobs at once, a definition that is removed and
# installed again. Whatever happens, no role has two pods, and where nothing changes nearly nothing is asked for.
#   ATTACK_JOBS (60): so many jobs created at once, in a soak (SOAK_ROUNDS).
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/cluster/jobs.sh
python3 tests/cluster/kubelet.py "$api" 1 &
controller attacked --no-leader-election
# All requests but watches.
asked() { page "$port" /metrics | awk '/^windlass_apiserver_requests_total/ && !/verb="watch"/ { n += $2 } END { print n + 0 }'; }
# quiet SECONDS MOST: in that time so few requests are sent.
quiet() {
    local before after
    before=$(asked)
    sleep "$1"
    after=$(asked)
    asks=$((after - before))
    [ $asks -le "$2" ]
}
# running NAME COUNT: so many pods of it run and are not leaving.
running() { [ "$("$kubectl" get pods -l "windlass.dev/job=$1" -o json | jq '[.items[] | select(.status.phase == "Running" and (.metadata.deletionTimestamp | not))] | length')" -eq "$2" ]; }
uid() { "$kubectl" get "$@" -o jsonpath='{.metadata.uid}' 2>/dev/null; }
owner() { "$kubectl" get "$@" -o jsonpath='{.metadata.ownerReferences[?(@.controller==true)].uid}' 2>/dev/null; }
is_of() { [ "$(owner "$2" "$3")" = "$1" ]; }

apply wait-beside
check "a job runs" within 60 running wait-beside 3

##### evictions through the API ######################################################################
evict() {
    "$api/curl" "/api/v1/namespaces/default/pods/$1/eviction" -H 'Content-Type: application/json' \
        -d "{\"apiVersion\": \"policy/v1beta1\", \"kind\": \"Eviction\", \"metadata\": {\"name\": \"$1\"}}" >/dev/null
}
pod_of() { "$kubectl" get pods -l "windlass.dev/job=$1,windlass.dev/role=$2" -o jsonpath='{.items[0].metadata.name}'; }
for role in worker coordinator; do
    gone=$(pod_of wait-beside $role)
    gone_uid=$(uid pod "$gone")
    evict "$gone"
    check "eviction: a $role is replaced" within 60 eval '[ "$(uid pod "$gone")" != "$gone_uid" ] && running wait-beside 3'
done

##### owners and labels ##############################################################################
unowned() { "$kubectl" patch "$1" "$2" --type=json -p '[{"op": "remove", "path": "/metadata/ownerReferences"}]' >/dev/null; }
service_of() { "$kubectl" get services -l "windlass.dev/job=$1" -o jsonpath='{.items[0].metadata.name}'; }
pods_of() { "$kubectl" get pods -l "windlass.dev/job=$1" -o jsonpath='{.items[*].metadata.uid}'; }
job=$(uid bs wait-beside)
service=$(service_of wait-beside)
service_uid=$(uid service "$service")
pods_before=$(pods_of wait-beside)
all_owned() { [ "$("$kubectl" get pods -l windlass.dev/job=wait-beside -o json | jq "[.items[] | select(.metadata.ownerReferences[0].uid == \"$job\")] | length")" -eq 3 ]; }
for round in first second; do
    unowned service "$service"
    check "a Service that lost its owner is adopted, for the $round time" within 60 is_of "$job" service "$service"
    for pod in $("$kubectl" get pods -l windlass.dev/job=wait-beside -o jsonpath='{.items[*].metadata.name}'); do unowned pod "$pod"; done
    check "all pods lost their owner: all are adopted, for the $round time" within 60 all_owned
done
check "they are the same pods" [ "$(pods_of wait-beside)" = "$pods_before" ]
check "and it is the same Service" [ "$(uid service "$service")" = "$service_uid" ]
check "then it is quiet" within 60 quiet 5 2 || echo "# $asks requests"
if [ -n "${SOAK_ROUNDS:-}" ]; then
    . tests/e2e/cluster/attacks_soak.sh
fi
violations=$(grep '^one role, two pods' "$api/violations" 2>/dev/null)
check "no role ever had two pods $violations" [ -z "$violations" ]
[ $failures -eq 0 ] || tail -n 30 "$work"/*.log | sed 's/^/# /'
exit $((failures > 0))
