#!/usr/bin/env bash
# list, status -o, diff, suspend, resume, cancel, rerun, wait and delete of jobs on a real API server 1.20 with its garbage
# collector, by their names. No controller runs: what a test needs of a status is written.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
namespace=by-name-cluster
. tests/e2e/cluster/jobs.sh
export XDG_STATE_HOME=$work/xdg
w() { "$windlass" "$@" >"$work/out" 2>"$work/err" </dev/null; code=$?; }
get() { "$kubectl" get bs one -o json | jq -r "$1"; }
told() { grep -qF -- "$1" "$work/out" "$work/err"; }
job one | "$kubectl" apply -f - >/dev/null || exit 3
job one >"$work/one.yaml"
w list -n "$namespace" -o name
check "list -o name: $(cat "$work/err")" [ "$(cat "$work/out")" = batchscore/one ]
w status one -o yaml
check "status -o yaml of a job that no run here has" grep -q '^kind: BatchScore$' "$work/out"
w status one -o wide
check "status -o wide of a BatchScore: $(cat "$work/err")" [ "$code$(grep -c 'created .* ago' "$work/out")" = 01 ]
w status one --local
check "--local does not look there: code 2" [ $code -eq 2 ]
w diff -f "$work/one.yaml"
check "diff: nothing differs: $(cat "$work/out" "$work/err")" [ $code -eq 0 ]
sed 's/miniBatchSize: 2/miniBatchSize: 5/' "$work/one.yaml" >"$work/other.yaml"
w diff -f "$work/other.yaml"
check "diff: the field that differs" [ "$code $(xargs <"$work/out")" = "1 - spec.miniBatchSize: 2 + spec.miniBatchSize: 5" ]
check "and the job keeps it" [ "$(get .spec.miniBatchSize)" = 2 ]
cat >"$work/rate.yaml" <<'YAML'
apiVersion: windlass.dev/v1beta1
kind: DistTrain
metadata: {name: rate}
spec:
  workers: 1
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  trainer:
    model: {new: CNN, classes: 6, shape: [2, 12, 12]}
    data: {train: {synthetic: {count: 100}}, normalize: {mean: [0.5, 0], deviation: [1, "0.25"]}}
    epochs: 1
    batchSize: 10
    optimizer: {learningRate: 0.05, momentum: 0.9}
    output: {path: data/out}
YAML
sed 's/0.05/true/' "$work/rate.yaml" | "$kubectl" apply --validate=false -f - >"$work/out" 2>&1
check "a rate that is true or false is refused by the server" told learningRate
"$kubectl" apply --validate=false -f "$work/rate.yaml" >"$work/out" 2>&1
check "numbers without quotes are not: $(cat "$work/out")" [ "$("$kubectl" get dt rate -o jsonpath='{.spec.trainer.optimizer.learningRate}')" = 0.05 ]
w diff -f "$work/rate.yaml"
check "diff: a number is its text: $(cat "$work/out" "$work/err")" [ $code -eq 0 ]
sed 's/0.05/0.06/' "$work/rate.yaml" >"$work/other.yaml"
w diff -f "$work/other.yaml"
check "diff: another number" [ "$code $(xargs <"$work/out")" = "1 - spec.trainer.optimizer.learningRate: 0.05 + spec.trainer.optimizer.learningRate: 0.06" ]
"$kubectl" delete dt rate --wait=false >/dev/null
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
check "rerun without -n does not reach the cluster: code 2" [ "$code$(get .metadata.uid)" = "2$uid" ]
check "and says the way" told 'for the job of the cluster add -n NAMESPACE'
w rerun one -n "$namespace"
check "rerun makes it anew: $(cat "$work/err")" [ "$code$(get .metadata.uid | grep -c "$uid")$(get .spec.suspend)" = 00false ]
check "to begin from the beginning" [ "$(get '.metadata.annotations["windlass.dev/restart"] | length > 0')" = true ]
w rerun one -n "$namespace"
check "a job that runs is not made anew: code 2" [ $code -eq 2 ]

##### a job is not lost between its deletion and its creation ########################################
through=$(tests/proxy/start.sh start "$api") || exit 3
faults() { echo "$1" >"$api/proxy/new" && mv "$api/proxy/new" "$api/proxy/faults"; }
done_so_far() { jq -r ".\"$1\" // 0" "$api/proxy/counts" 2>/dev/null; }
job two | "$kubectl" apply -f - >/dev/null
"$kubectl" patch bs two --type=merge -p '{"metadata": {"finalizers": ["test.windlass.dev/hold"]}, "spec": {"suspend": true}}' >/dev/null
uid=$("$kubectl" get bs two -o jsonpath='{.metadata.uid}')
"$windlass" rerun two -n "$namespace" --kubeconfig "$through" >"$work/two" 2>&1 &
again=$!
is_leaving() { [ -n "$("$kubectl" get bs two -o jsonpath='{.metadata.deletionTimestamp}')" ]; }
within 60 is_leaving
faults '[{"method": "GET", "status": 500}]'
looks_fail() { [ "$(done_so_far 500)" -ge 2 ]; }
check "rerun: looks that fail" within 60 looks_fail
rm "$api/proxy/faults"
"$kubectl" patch bs two --type=merge -p '{"metadata": {"finalizers": null}}' >/dev/null
wait $again
code=$?
check "end nothing: $(cat "$work/two")" [ "$code$("$kubectl" get bs two -o jsonpath='{.metadata.uid}' | grep -c "$uid")" = 00 ]
w suspend two
faults '[{"method": "POST", "path": "batchscores", "status": 400}]'
w rerun two -n "$namespace" --kubeconfig "$through"
check "rerun: a creation that is refused: code 2 or 3" [ $code -ge 2 ]
grep -v '^windlass' "$work/err" | "$kubectl" create -f - >/dev/null
check "and what was printed makes the job again" [ "$("$kubectl" get bs two -o jsonpath='{.spec.miniBatchSize}')" = 2 ]
"$kubectl" delete bs two --wait=false >/dev/null
tests/proxy/start.sh stop "$api"
# The condition that a controller writes at the end.
ends() {
    "$kubectl" get --raw /apis/windlass.dev/v1beta1/namespaces/$namespace/batchscores/one |
        jq --arg is "$1" '.status.conditions = [{type: "Succeeded", status: $is, reason: "Ended", message: "by the test",
            lastTransitionTime: "2026-11-21T04:00:00Z"}]' |
        curl -sf --max-time 60 -o /dev/null -X PUT -H 'Content-Type: application/json' --data-binary @- \
            "http://127.0.0.1:$proxy_port/apis/windlass.dev/v1beta1/namespaces/$namespace/batchscores/one/status"
}
"$api/kubectl" proxy --port=0 >"$work/proxy.log" 2>&1 &
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
check "delete without -n does not reach the cluster: code 2" [ "$code$(get .metadata.name)" = 2one ]
w delete one -n "$namespace"
check "delete: $(cat "$work/err")" [ $code -eq 0 ]
gone() { ! "$kubectl" get bs one -o name; }
check "and it is gone" within 60 gone
w delete one -n "$namespace"
check "a job that is not there: code 2" [ $code -eq 2 ]
w wait one
check "nor can it be waited for: code 2" [ $code -eq 2 ]
exit $((failures > 0))
