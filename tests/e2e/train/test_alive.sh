#!/usr/bin/env bash
# A pod of a gang whose agent is frozen (SIGSTOP): under `windlass run`, as on a cluster, its livenessProbe (exec) finds
# it, its pod is ended and replaced, and the job goes on. NAME-0, which all others wait for, and another worker.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
job() { # NAME: two workers; a first round waits for ever, later ones end
    mkdir -p "$work/$1/out"
    cat >"$work/$1/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: $1}
spec:
  workers: 2
  image: registry.test/any:1
  launcher: None
  volumes: [{name: out, hostPath: {path: $work/$1/out}}]
  outputs: [{id: MODEL, path: out/models}]
  restart: {maxRestarts: 1, backoffSeconds: 0}
  template: {spec: {containers: [{name: agent, livenessProbe: {periodSeconds: 1, timeoutSeconds: 2, failureThreshold: 2}}]}}
  command: [bash, -c, 'touch "$work/$1/began.\$AZ_BATCHAI_TASK_INDEX"; until [ -e "$work/$1/go" ]; do sleep 0.1; done']
M
}
agent_of() { # NAME POD: its process
    local file
    for file in $(grep -lsF "WINDLASS_TERMINATION_LOG=$work/$1/state/pods/$1-$2/" /proc/[0-9]*/environ 2>/dev/null); do
        file=${file%/environ}
        grep -qsz '^launch$' "$file/cmdline" && echo "${file#/proc/}"
    done | sort -n | head -n 1 # others are its children before exec
}
is_found() { agent=$(agent_of "$1" "$2") && [ -n "$agent" ]; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
frozen() { # NAME POD
    local agent began
    job "$1"
    timeout 120 "$windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" >"$work/$1/said" 2>&1 </dev/null &
    run=$!
    until_true 60 compgen -G "$work/$1/began.*" >/dev/null && until_true 60 is_found "$1" "$2" || return 1
    kill -STOP "$agent"
    began=$SECONDS
    until_true 60 is_gone "$agent" || return 1
    echo "# $1: found after $((SECONDS - began)) s"
    touch "$work/$1/go"
    wait $run
}
first() { check "NAME-0 is frozen: it is replaced, and the job ends well" frozen hub 0; }
second() { check "another worker is frozen: the same" frozen other 1; }
side_by_side first second
[ $failures -eq 0 ] || tail -n 8 "$work"/*/said "$work"/*/state/*.log | sed 's/^/# /'
exit $((failures > 0))
