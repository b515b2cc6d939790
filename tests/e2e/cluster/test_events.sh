#!/usr/bin/env bash
# Events on a real API server (Kubernetes 1.20), with the controller's clock stepped (clock.c): a job that is stuck again
# and again has one Event of each reason in ten minutes, and then their number in its series, for kubectl and for
# events.k8s.io/v1; a Sweep's names its trials' cause. No request is one of a deprecated version.
# (On the server of 1.36, which runs no controller of jobs: test_kube_client.sh.)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/cluster/jobs.sh
gcc -O1 -shared -fPIC -o "$work/clock.so" tests/e2e/cluster/clock.c || exit 3
real=$windlass
cat >"$work/stepped" <<SH
#!/bin/sh
LD_PRELOAD=$work/clock.so CLOCK_FILE=$work/ahead CLOCK_ALL=1 exec "$real" "\$@"
SH
chmod +x "$work/stepped"
windlass=$work/stepped
echo 0 >"$work/ahead"
"$kubectl" create quota none --hard=pods=0 >/dev/null
# The quota controller does not run: this test writes its status.
"$api/curl" /api/v1/namespaces/default/resourcequotas/none/status -X PATCH -H 'Content-Type: application/merge-patch+json' \
    -d '{"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}' >/dev/null
refuses() { ! "$kubectl" run probe --image=none --restart=Never --dry-run=server; }
check "the quota refuses pods" within 60 refuses
apply stuck
cat <<'YAML' | "$kubectl" apply -f - >/dev/null
apiVersion: windlass.dev/v1beta1
kind: Sweep
metadata: {name: tries}
spec:
  objective: {metric: loss, goal: Minimize}
  parameters: [{name: X, choice: ['1', '2']}]
  algorithm: {kind: Grid}
  maxTrials: 2
  maxConcurrentTrials: 2
  trial: {workers: 1, image: i, launcher: None, command: [x, $(X)]}
YAML
controller events --no-leader-election
events() { "$kubectl" get events.events.k8s.io -o json; }
# of NAME REASON JQ: of the Events of that object and reason.
of() { events | jq -er --arg name "$1" --arg reason "$2" "[.items[] | select(.regarding.name == \$name and .reason == \$reason)] | $3"; }
one() { [ "$(of "$1" "$2" length)" = 1 ]; }
check "a stuck job has an Event" within 60 one stuck QuotaExceeded
names_cause() { of tries QuotaExceeded '.[0].note | test("tries-000[01].*quota")' >/dev/null; }
check "a Sweep's Event names its trials' cause" within 60 names_cause
suspend() { "$kubectl" patch bs stuck --type=merge -p "{\"spec\": {\"suspend\": $1}}" >/dev/null; }
is_suspended() { [ "$(condition stuck status Suspended)" = True ]; }
is_stuck() { [ "$(condition stuck status Suspended)" = False ] && [ "$(condition stuck reason Waiting)" = QuotaExceeded ]; }
# again TIMES: it is suspended and gets stuck once more.
again() {
    local i
    for ((i = 0; i < $1; i++)); do
        suspend true && within 60 is_suspended && suspend false && within 60 is_stuck || return
    done
}
check "it gets stuck three times more" again 3
# Events are sent in their order: when that of another job is there, the others have been asked for.
apply stuck-later
check "another job gets stuck, and has its Event" within 60 one stuck-later QuotaExceeded
for reason in QuotaExceeded Suspended Resumed; do check "still one Event of $reason" one stuck $reason; done
series() { of stuck "$1" '.[0].series.count // 0'; }
check "nothing is counted there yet" [ "$(series QuotaExceeded)" = 0 ]
echo 605 >"$work/ahead" # ten minutes later
# (At least: a condition may go and come back once more. The exact numbers are test_event_recorder.c's.)
counts() { [ "$(series "$1")" -ge "$2" ]; }
check "after ten minutes its series has 4" within 60 counts QuotaExceeded 4
check "that of Resumed 3" within 60 counts Resumed 3
counted=$(series QuotaExceeded)
check "it gets stuck twice more" again 2
echo 1210 >"$work/ahead"
check "after ten more minutes 2 more" within 60 counts QuotaExceeded $((counted + 2))
for reason in QuotaExceeded Suspended Resumed; do check "it is the same Event of $reason" one stuck $reason; done
by_kubectl() { [ "$("$kubectl" get events --field-selector involvedObject.name=stuck,reason=QuotaExceeded --no-headers | wc -l)" = 1 ]; }
check "kubectl get events has one line for it" by_kubectl
described() { "$kubectl" describe bs stuck | grep -q 'QuotaExceeded'; }
check "and kubectl describe has it" described
deprecated() { "$api/curl" /metrics | grep '^apiserver_requested_deprecated_apis.*group="windlass.dev"'; }
not_deprecated() { ! deprecated; }
check "v1alpha1 was not asked for, by controller or kubectl" not_deprecated
"$real" status stuck >/dev/null 2>&1
"$real" status missing >/dev/null 2>&1 # each kind is asked for it
"$real" status -A >/dev/null 2>&1
check "nor windlass status" not_deprecated
"$kubectl" get batchscores.v1alpha1.windlass.dev >/dev/null 2>&1
check "who asks for it is counted by the API server" eval "deprecated >/dev/null"
exit $((failures > 0))
