#!/usr/bin/env bash
# Bounded asking on a real API server (Kubernetes 1.20): jobs that are stuck by a quota, by a webhook that fails and by
# taken names ask little. The other states, and the ten minutes, are in tests/unit/operator/test_asking.c.
# SOAK_ROUNDS: minutes that are counted, at most ten, instead of a third of one.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/cluster/jobs.sh
: "${SOAK_ROUNDS:=0}"
minutes=$((SOAK_ROUNDS > 10 ? 10 : SOAK_ROUNDS))
seconds=$((minutes ? minutes * 60 : 20))
jobs=6
for namespace in quota webhook; do "$kubectl" create namespace $namespace >/dev/null; done
"$kubectl" label namespace webhook webhook=fails >/dev/null
"$kubectl" create quota none --hard=pods=0 -n quota >/dev/null
# The quota controller does not run: this test writes its status.
"$api/curl" /api/v1/namespaces/quota/resourcequotas/none/status -X PATCH -H 'Content-Type: application/merge-patch+json' \
    -d '{"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}' >/dev/null
"$kubectl" apply -f - >/dev/null <<'YAML'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: fails}
webhooks:
  - name: fails.windlass.test
    clientConfig: {url: "https://127.0.0.1:9/"}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    namespaceSelector: {matchLabels: {webhook: fails}}
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
    timeoutSeconds: 2
YAML
# Both refuse from now on.
refuses() { ! "$kubectl" run probe --image=none --restart=Never --dry-run=server -n "$1"; }
check "the quota refuses pods" within 60 refuses quota
check "the webhook refuses pods" within 60 refuses webhook
for i in 0 1; do
    for namespace in quota webhook; do job "stuck-$i" | "$kubectl" apply -n $namespace -f - >/dev/null; done
    "$kubectl" create service clusterip "taken-$i" --tcp=80 >/dev/null
    apply "taken-$i"
done
controller stuck --no-leader-election
# All but the requests of watches: sum of the counter.
asked() { page "$port" /metrics | awk '/^windlass_apiserver_requests_total/ && !/verb="(watch|list)"/ { n += $2 } END { print n + 0 }'; }
tries() { [ "$(asked)" -gt $((3 * jobs)) ]; }
check "the jobs are tried" within 60 tries
sleep $((minutes ? 60 : 20)) # the delays have grown
refused() { page "$port" /metrics | grep -qE "^windlass_apiserver_requests_total.*create.*$1"; }
both_refuse() { refused 403 && refused 500; }
check "quota and webhook have refused pods" within 60 both_refuse
none_made() { [ -z "$("$kubectl" get pods -n quota -o name)$("$kubectl" get pods -n webhook -o name)" ]; }
check "and none was made there" none_made
before=$(asked)
sleep "$seconds"
after=$(asked)
echo "# $jobs stuck jobs: $((after - before)) requests in $seconds s"
check "under 6 requests a minute and job" [ $(((after - before) * 60)) -le $((6 * jobs * seconds)) ]
check "and under one a second for all" [ $((after - before)) -le "$seconds" ]
exit $((failures > 0))
