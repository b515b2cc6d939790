#!/usr/bin/env bash
# A worker that gets SIGTERM or a notice that its machine will go: it finishes short work, hands back
# the rest, and ends within 10 s. Nothing is lost, and nothing counts as lost. A server stands in for Azure's events.
# Capacity that comes and goes: one worker after the other gets SIGTERM as soon as it has scored something, as the kubelet
# does it for a pod of higher priority. `make test` draws one of the three, of four visits; a soak has 50 and more frames.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
agent=$(realpath "${AGENT:-${BUILD:-build}/windlass-agent}")
work=$(mktemp -d)
declare -A pid=()
trap 'kill -9 "${pid[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
mkdir -p "$work/model"
python3 tests/data/models/make.py "$work/model"
make_certificate "$work" || exit 3
frames=${SOAK_ROUNDS:+600} frames=${frames:-100} visits=${SOAK_ROUNDS:+50} visits=${visits:-4}
ffmpeg -v error -f lavfi -i testsrc2=size=320x180:rate=25 -frames:v "$frames" -c:v libx264 -pix_fmt yuv420p "$work/in.mp4" </dev/null || exit 3
port=$(first_port)
spec=$(jq -cn '{input: {video: {path: "data/in.mp4"}}, miniBatchSize: 2, output: {path: "out/o"},
    scorer: {onnx: {path: "model/slow.onnx"}}, retry: {maxTries: 1, timeoutSeconds: 60}}')
spec=$(batchscore_spec "$spec")
# The machine is vm_0; the file preempt-vm_0 announces its end.
python3 tests/e2e/score/events.py "$work" vm_0 >"$work/events.port" 2>"$work/events.log" &
pid[events]=$!
until_true 60 [ -s "$work/events.port" ]
events=http://127.0.0.1:$(cat "$work/events.port")/metadata/scheduledevents?api-version=2020-07-01
pod() { # job, name, role; more variables
    local job=$1 name=$2 role=$3
    shift 3
    mkdir -p "$work/$job"
    env data="$work" out="$work/$job" model="$work/model" WINDLASS_JOB="$job" WINDLASS_RUN=0123456789abcdef WINDLASS_UID=u \
        WINDLASS_SPEC="$spec" WINDLASS_TOKEN=secret WINDLASS_WORKER="$name" WINDLASS_THREADS=1 \
        WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" WINDLASS_TLS_KEY="$(cat "$work/key.pem")" \
        WINDLASS_BIND="127.0.0.1:$port" WINDLASS_COORDINATOR="127.0.0.1:$port" WINDLASS_COORDINATOR_SHA256="$sha256" \
        WINDLASS_TERMINATION_LOG="$work/$job/$name.words" "$@" "$agent" "$role" 2>>"$work/$job/$name.log" &
    pid[$name]=$!
}
items_done() { curl -sk --max-time 2 "https://127.0.0.1:$port/progress" | jq -r .items.done; }
some_done() { [ "$(items_done)" -gt "${1:-0}" ] 2>/dev/null; }
# leaves NAME: it ends within 10 s; its exit code is in $code.
leaves() {
    local end=$((SECONDS + 10))
    while kill -0 "${pid[$1]}" 2>/dev/null && [ $SECONDS -lt $end ]; do nap 0.05; done
    code=99
    kill -0 "${pid[$1]}" 2>/dev/null || { wait "${pid[$1]}"; code=$?; unset "pid[$1]"; }
}
round() { # job, how the worker is notified
    rm -f "$work/preempt-vm_0"
    port=$((port + 1))
    pod "$1" coordinator coordinate
    pod "$1" worker-0 score WINDLASS_EVENTS="$events"
    until_true 60 some_done
    "${@:2}"
    leaves worker-0
    check "$1: it leaves within 10 s, with 130" [ $code -eq 130 ]
    rm -f "$work/preempt-vm_0"
    pod "$1" worker-1 score WINDLASS_EVENTS="$events"
    wait "${pid[coordinator]}"
    check "$1: the job succeeds" [ $? -eq 0 ]
    unset "pid[coordinator]"
    leaves worker-1
    judge "$1"
}
judge() { # job
    check "$1: with every frame" [ "$(count_frames "$work/$1/o/in.mp4")" = "$frames" ]
    check "$1: nothing was tried twice, no worker counts as lost" \
        [ "$(jq -r '.miniBatches.retried, ([.workers[] | .lost + .errors + .timeouts] | add)' "$work/$1/o/summary.json" | xargs)" = "0 0" ]
    [ $failures -eq "${shown:-0}" ] || { shown=$failures; tail -n 8 "$work/$1"/*.log | sed 's/^/# /'; jq -c '.miniBatches, .workers' "$work/$1/o/summary.json" | sed 's/^/# /'; }
}
stop() { kill "${pid[worker-0]}"; }
visit() { # worker; false: it does not end within 10 s, with 130
    local before
    before=$(items_done)
    pod visits "$1" score
    until_true 60 some_done "$before" && kill "${pid[$1]}"
    leaves "$1"
    [ $code -eq 130 ]
}
come_and_go() {
    local i left=0
    port=$((port + 1))
    pod visits coordinator coordinate
    until_true 60 some_done -1
    for i in $(seq "$visits"); do
        visit "worker-$i" && left=$((left + 1))
    done
    check "visits: each of $visits workers leaves within 10 s, with 130 ($left)" [ $left -eq "$visits" ]
    pod visits worker-0 score
    wait "${pid[coordinator]}"
    check "visits: the job succeeds" [ $? -eq 0 ]
    unset "pid[coordinator]"
    leaves worker-0
    judge visits
}
draw "what a worker gets" 1 SIGTERM notice visits
! is_drawn visits || come_and_go
! is_drawn SIGTERM || round SIGTERM stop
if is_drawn notice; then
    round notice touch "$work/preempt-vm_0"
    check "the log says which event" grep -q 'event e-1: Preempt' "$work/notice/worker-0.log"
fi
if is_drawn notice && is_drawn visits; then
    check "the film is the same" [ "$(packets v "$work/visits/o/in.mp4")" = "$(packets v "$work/notice/o/in.mp4")" ]
fi
exit $((failures > 0))
