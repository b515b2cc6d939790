#!/usr/bin/env bash
# list, status -o, diff, suspend, resume, cancel, rerun, wait and delete of jobs on a real API server 1.20 with its garbage
# collector, by their names. No controller runs: what a test needs of a status is written.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/cluster/jobs.sh
export XDG_STATE_HOME=$work/xdg
w() { "$windlass" "$@" >"$work/out" 2>"$work/err" </dev/null; code=$?; }
get() { "$kubectl" get bs one -o json | jq -r "$1"; }
told() { grep -qF -- "$1" "$work/out" "$work/err"; }
job one | "$kubectl" apply -f - >/dev/null || exit 3
job one >"$work/one.yaml"
w list -n default -o name
check "list -o name: $(cat "$work/err")" [ "$(cat "$work/out")" = batchscore/one ]
w status one -o yaml
check "status -o yaml of a job that no run here has" grep -q '^kind: BatchScore$' "$work/out"
w status one --local
check "--local does not look there: code 2" [ $code -eq 2 ]
w diff -f "$work/one.yaml"
check "diff: nothing differs: $(cat "$work/out" "$work/err")" [ $code -eq 0 ]
sed 's/miniBatchSize: 2/miniBatchSize: 5/' "$work/one.yaml" >"$work/other.yaml"
w diff -f "$work/other.yaml"
check "diff: the field that differs" [ "$code $(xargs <"$work/out")" = "1 - spec.miniBatchSize: 2 + spec.miniBatchSize: 5" ]
check "and the job keeps it" [ "$(get .spec.miniBatchSize)" = 2 ]
w suspend one --dry-run
check "suspend --dry-run: $(cat "$work/err")" [ "$code$(get '.spec.suspend // false')" = 0false ]
w suspend one
check "suspend" [ "$code$(get .spec.suspend)" = 0true ]
w resume one
check "resume" [ "$code$(get .spec.suspend)" = 0false ]
w cancel one
check "cancel suspends" [ "$code$(get .spec.suspend)" = 0true ]
w wait one --timeout 1
check "wait --timeout: code 3" [ $code -eq 3 ]
uid=$(get .metadata.uid)
w rerun one
check "rerun makes it anew: $(cat "$work/err")" [ "$code$(get .metadata.uid | grep -c "$uid")$(get .spec.suspend)" = 00false ]
check "to begin from the beginning" [ "$(get '.metadata.annotations["windlass.dev/restart"] | length > 0')" = true ]
w rerun one
check "a job that runs is not made anew: code 2" [ $code -eq 2 ]
# The condition that a controller writes at the end.
ends() {
    "$kubectl" get --raw /apis/windlass.dev/v1beta1/namespaces/default/batchscores/one |
        jq --arg is "$1" '.status.conditions = [{type: "Succeeded", status: $is, reason: "Ended", message: "by the test",
            lastTransitionTime: "2026-11-21T04:00:00Z"}]' |
        curl -sf --max-time 60 -o /dev/null -X PUT -H 'Content-Type: application/json' --data-binary @- \
            "http://127.0.0.1:$proxy_port/apis/windlass.dev/v1beta1/namespaces/default/batchscores/one/status"
}
"$kubectl" proxy --port=0 >"$work/proxy.log" 2>&1 &
within 60 grep -q 'Starting to serve on' "$work/proxy.log"
proxy_port=$(sed -n 's/.*127.0.0.1:\([0-9]*\).*/\1/p' "$work/proxy.log")
check "the job fails" ends False
w wait one
check "wait: it has failed: code 1" [ $code -eq 1 ]
uid=$(get .metadata.uid)
w resume one
check "what failed is made anew, and goes on" [ "$code$(get .metadata.uid | grep -c "$uid")" = 00 ]
check "the job succeeds" ends True
w wait one
check "wait: it has succeeded: code 0" [ $code -eq 0 ]
w delete one
check "delete: $(cat "$work/err")" [ $code -eq 0 ]
gone() { ! "$kubectl" get bs one; }
check "and it is gone" within 60 gone
w delete one
check "a job that is not there: code 2" [ $code -eq 2 ]
w wait one
check "nor can it be waited for: code 2" [ $code -eq 2 ]
exit $((failures > 0))
