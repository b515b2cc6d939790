#!/usr/bin/env bash
# scorer.endpoint.server on a real kubelet: the server is a container of each worker's pod, in an image that has nothing of ours;
# it is started again when it dies, and ends when the agent ends, however that ended, so that pods of restartPolicy Never end.
set -u
namespace=model-server
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/cluster/own.sh
. tests/e2e/endpoint/lib.sh
image=localhost/windlass-test-model-server:1
check "the chart installs" install_chart
# One static program, without a shell.
make_image() {
    local container
    gcc -O1 -static -std=gnu17 -D_GNU_SOURCE -I. -o "$work/model_server" tests/endpoint/model_server.c lib/base.c lib/error.c lib/text/utf8.c || return 1
    b() { STORAGE_DRIVER=vfs buildah --root "$work/storage" --runroot "$work/run" "$@"; }
    container=$(b from scratch) && b copy -q "$container" "$work/model_server" /model_server >/dev/null &&
        b commit -q --rm "$container" "$image" >/dev/null && b push -q "$image" "docker-archive:$work/server.tar:$image" && import "$work/server.tar"
}
make_image || exit 3
mkdir -p "$work/data"
batch 3000 >"$work/data/requests.jsonl"
place=$(tests/cluster/volume.sh data "$work/data") || exit 3
kubectl apply -f - >/dev/null <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: ask}
spec:
  input: {table: {path: data/requests.jsonl, format: JSONLines}}
  scorer:
    endpoint:
      server:
        image: $image
        command: [/model_server, "port=\$(WINDLASS_PORT)", latency=150, spread=50, loads=1000]
        port: 8010
        resources: {limits: {memory: 64Mi}}
      concurrency: 8
      tries: 20
  output: {path: data/answers}
  workers: {min: 2, max: 2}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
status_of() { kubectl get bs ask -o "jsonpath={.status.conditions[?(@.type==\"Succeeded\")].$1}"; }
workers() { kubectl get pods -l windlass.dev/job=ask,windlass.dev/role=worker "$@"; }
both_run() { [ "$(workers -o json | jq '[.items[] | select([.status.containerStatuses[]? | select(.state.running)] | length == 2)] | length')" = 2 ]; }
done_over() { [ "$(kubectl get bs ask -o 'jsonpath={.status.items.done}')" -gt "$1" ]; }
# pid_in POD CONTAINER PROGRAM: on this machine.
pid_in() {
    local id pid
    id=$(kubectl get pod "$1" -o json | jq -r --arg name "$2" '.status.containerStatuses[] | select(.name == $name) | .containerID | ltrimstr("containerd://")')
    pid=$("${ctr[@]}" tasks ls | awk -v id="$id" '$1 == id { print $2 }')
    if [ "$(cat "/proc/$pid/comm")" = "$3" ]; then echo "$pid"; else pgrep -P "$pid" -x "$3"; fi
}
check "both workers have an agent and a server" until_true 120 both_run
first=$(workers -o 'jsonpath={.items[0].metadata.name}')
second=$(workers -o 'jsonpath={.items[1].metadata.name}')
workers -o json >"$work/pods.json"
check "under Pod Security restricted" tests/pod_security.py <"$work/pods.json"
check "the server has no file of the job's secrets, no key and no token" [ "$(jq '[.items[].spec.containers[] | select(.name == "server") |
    .volumeMounts[].name | select(test("secret|once|token|store"))] | length' "$work/pods.json")" = 0 ]
check "some are answered" until_true 60 done_over 100
kill -9 "$(pid_in "$first" server model_server)"
check "a server is killed" [ $? = 0 ]
told() { kubectl logs "$first" -c agent | grep -q "the model server has ended: exit code 137"; }
check "its agent says so, and it is started again" until_true 60 told
kill -9 "$(pid_in "$second" agent windlass-agent)"
check "an agent is killed" [ $? = 0 ]
ended() { [ "$(kubectl get pod "$second" -o 'jsonpath={.status.phase}')" = Failed ]; }
check "its pod ends, with its server" until_true 60 ended
check "whose exit code is 0" [ "$(kubectl get pod "$second" -o json | jq '.status.containerStatuses[] | select(.name == "server") | .state.terminated.exitCode')" = 0 ]
completed() { [ "$(status_of reason)" = Completed ]; }
check "the job completes" until_true 240 completed
completed || { status_of message; kubectl logs -l windlass.dev/job=ask --all-containers --tail=5; } | sed 's/^/# /'
check "each request has one answer, in order" in_order "$place/answers/output.jsonl" 3000
none() { [ -z "$(workers -o name)" ]; }
check "and no worker is left" until_true 60 none
exit $((failures > 0))
