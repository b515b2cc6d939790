#!/usr/bin/env bash
# scorer.endpoint.server by `windlass run`: each worker starts a model server of its own, waits until it is ready, starts it again
# when it dies, and takes it along when it ends itself. A server that never comes ends the job with its last words.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
. tests/e2e/endpoint/lib.sh
mkdir -p "$work/data"
pids() { pgrep -f "model_server port.*$work/" || :; } # of this test, under `serve` as well
run= # a job in the background
finish() {
    stop_servers
    [ -z "$run" ] || { kill "$run" && wait "$run"; } 2>/dev/null
    kill -9 $(pids) 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT

# manifest NAME SERVER-OPTIONS MORE-OF-THE-ENDPOINT MORE-OF-THE-SERVER
manifest() {
    out=$work/data/$1
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {table: {path: data/requests.jsonl, format: JSONLines}}
  scorer: {endpoint: {server: {image: none, command: ['$server', 'port=\$(WINDLASS_PORT)', $2], ${4:-}}, ${3:-concurrency: 8}}}
  output: {path: data/$1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
}
# job WORKERS NAME ...: as manifest; runs it; its exit code is in $code.
job() {
    manifest "${@:2}"
    timeout 120 "$windlass" run -f "$work/$2.yaml" --workers "$1" --state "$work/$2.state" >"$work/$2.said" 2>&1 </dev/null
    code=$?
    [ "$code" = "${wanted_code:-0}" ] || { tail -qn 5 "$work/$2.said" "$work/$2.state"/*.log 2>/dev/null | sed 's/^/# /'; }
}
says() { grep -q -- "$2" "$work/$1.said" || { tail -n 4 "$work/$1.said" | sed 's/^/# /'; false; }; }
none_left() { [ -z "$(pids)" ]; }
batch 300 >"$work/data/requests.jsonl"

# ---- a server for each worker
job 2 two "'record=$work/two.asked', latency=2, loads=300"
check "two workers have a server each" in_order "$out/output.jsonl" 300
check "on a port of its own" [ "$(cat "$work"/two.state/*worker*.log | grep -c '^[0-9]\+$')" = 2 ]
check "that was asked each request once, when it was ready" [ "$(asked_again "$work/two") $(jq .requests.retries "$out/summary.json")" = "0 0" ]
check "and has ended with the job" none_left
wanted_code=1 job 1 words "'record=$work/words.asked', 'key=\$\$(X)'" "tries: 1, concurrency: 1" "environment: {A: b}"
check "\$\$ is \$ in its words" grep -q refused "$work/words.asked"

# ---- kills
batch 1500 >"$work/data/requests.jsonl"
manifest kills "'record=$work/kills.asked', any=1, latency=100, spread=100, loads=200" "concurrency: 16, tries: 20"
timeout 200 "$windlass" run -f "$work/kills.yaml" --workers 2 --state "$work/kills.state" >"$work/kills.said" 2>&1 </dev/null &
run=$!
asked() { [ "$(cat "$work/kills.asked" 2>/dev/null | wc -l)" -gt "$1" ]; }
until_true_while $run 60 asked 40
servers() { pgrep -f "^$server port.*$work/kills" || :; }
kill -9 "$(servers | head -n 1)"
killed=$?
until_true_while $run 60 asked 400
workers() { for file in $(grep -lsF "WINDLASS_COORDINATOR=" $(grep -lsF "WINDLASS_FOLDER=$work/kills.state" /proc/[0-9]*/environ) /dev/null); do file=${file#/proc/}; echo "${file%/environ}"; done 2>/dev/null; }
kill -9 "$(workers | head -n 1)"
killed=$((killed + $?))
wait $run
code=$?
run=
check "the job succeeds although a server and a worker are killed" [ "$code $killed" = "0 0" ]
check "each request has one answer" in_order "$out/output.jsonl" 1500
check "the worker's log says that the server ended" grep -q "the model server has ended: exit code 137" "$work"/kills.state/*worker*.log
check "and that others reach it, of the one that listens on all addresses alone" eval 'grep -q "port [0-9]* is open to other pods" "$work"/kills.state/*worker*.log && ! grep -q "is open to other pods" "$work"/two.state/*.log'
check "no server is left" none_left

# ---- another model under the old name
model_manifest() { # NAME OPTIONS
    manifest "$1" "" "" ""
    sed -i "s#command: .*, }, concurrency#command: [sh, -c, 'exec \$0 port=\$1 $2', '$server', \$(WINDLASS_PORT), \$(data)/net/m.gguf]}, concurrency#" "$work/$1.yaml"
}
run_model() {
    timeout 120 "$windlass" run -f "$work/$1.yaml" --workers 1 --state "$work/$1.state" >"$work/$1.said" 2>&1 </dev/null
    code=$?
}
mkdir -p "$work/data/net"
echo one >"$work/data/net/m.gguf"
batch 300 >"$work/data/requests.jsonl"
model_manifest model "record=$work/model.asked"
run_model model
check "the model that a server's command names is among the files of the run" [ "$code $(jq -r '.files | keys[]' "$out/result.json")" = "0 scorer.endpoint.server: data/net/m.gguf" ]
echo two >"$work/data/net/m.gguf"
run_model model
check "applied again with another one it is refused by name" eval '[ $code -eq 2 ] && says model "spec.scorer.endpoint.server: data/net/m.gguf: the file.s SHA-256 was"'
model_manifest moved "record=$work/moved.asked any=1 latency=100"
run_model moved &
run=$!
asked() { [ "$(cat "$work/moved.asked" 2>/dev/null | wc -l)" -gt "$1" ]; }
until_true_while $run 60 asked 20
echo three >"$work/data/net/m.gguf"
kill -9 $(pgrep -f "^$server port.*$work/moved")
wait $run
run=
check "a server that is started again with another model does not answer: the job ends by its name" says moved "spec.scorer.endpoint.server: data/net/m.gguf changed while the job ran"
manifest loading "" "" ""
sed -i "s#command: .*, }, concurrency#command: [sh, -c, ': >$work/loading; until [ -e $work/loaded ]; do sleep 0.1; done; exec \$0 port=\$1 any=1 record=$work/loading.asked', '$server', \$(WINDLASS_PORT), \$(data)/net/m.gguf]}, concurrency#" "$work/loading.yaml"
run_model loading &
run=$!
until_true_while $run 60 test -e "$work/loading"
sleep 1 # a worker that does not look again has listed the model by then
echo four >"$work/data/net/m.gguf"
: >"$work/loaded"
wait $run
run=
check "nor does one whose model is replaced while it loads" says loading "spec.scorer.endpoint.server: data/net/m.gguf changed while the job ran"
check "and it is not asked" [ ! -s "$work/loading.asked" ]

# ---- servers that never come
wanted_code=1 job 1 fails "'record=$work/fails.asked', 'fails=no such model: m.gguf'"
check "a server that ends at once ends the job with its last words" says fails \
    "spec.scorer: endpoint.server ended 3 times before it was ready: exit code 1: .*no such model: m.gguf"
sed "s|'$server'|/none/llama-server|; s|data/fails|data/absent|" "$work/fails.yaml" >"$work/absent.yaml"
timeout 120 "$windlass" run -f "$work/absent.yaml" --state "$work/absent.state" >"$work/absent.said" 2>&1
check "a program that is not there is not tried again" says absent \
    "endpoint.server cannot be started: .*/none/llama-server: No such file or directory"
wanted_code=1 job 1 slow "'record=$work/slow.asked', loads=60000" "readyTimeoutSeconds: 1"
check "a server that is not ready in time" says slow "has not answered for 1 s: GET /health: 503"

# ---- one port
sed 's/port=$(WINDLASS_PORT)/port=8000/' "$work/two.yaml" >"$work/port.yaml"
"$windlass" run -f "$work/port.yaml" --workers 2 --state "$work/port.state" >"$work/port.said" 2>&1
check "two workers with one port are refused" [ "$?" = 2 ]
check "and told what to do" says port 'spec.scorer.endpoint.server.command: 2 workers on one machine would start servers with one port; write \$(WINDLASS_PORT)'
start_server other || exit 3
sed "s/port=\$(WINDLASS_PORT)/port=$port/; s/image: none/image: none, port: $port/; s|data/two|data/taken|" "$work/two.yaml" >"$work/taken.yaml"
timeout 120 "$windlass" run -f "$work/taken.yaml" --workers 1 --state "$work/taken.state" >"$work/taken.said" 2>&1
check "a port that another server has is not asked" says taken "spec.scorer.endpoint.server.port: $port is taken on this machine"
stop_servers
exit $((failures > 0))
