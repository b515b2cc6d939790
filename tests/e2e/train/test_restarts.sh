#!/usr/bin/env bash
# restart.maxRestarts is a budget against what is kept: a trainer whose rank is killed again and again goes on as long as
# each of its rounds stores a newer checkpoint, even if it dies before it can report it; one that keeps nothing fails
# after maxRestarts. A command says by a metric what it has kept.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
resting_ranks "$work/bin" || exit 3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
manifest() { # NAME EPOCHS EVERY MAX
    mkdir -p "$work/$1/out"
    cat >"$work/$1/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: $1}
spec:
  workers: 1
  restart: {maxRestarts: $4, backoffSeconds: 0}
  trainer:
    model: {new: CNN, classes: 6, shape: [2, 12, 12]}
    data:
      train: {synthetic: {count: 250, classes: 6, shape: [2, 12, 12]}}
    epochs: $2
    batchSize: 64
    checkpoint: {everySeconds: $3, keep: 2}
    output: {path: out/trained}
  volumes: [{name: out, hostPath: {path: $work/$1/out}}]
M
    timeout 300 "$work/bin/windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" >"$work/$1/said" 2>&1 </dev/null &
    run=$!
}
ranks() { # NAME
    local file
    for file in $(grep -lsF "out=$work/$1/out" /proc/[0-9]*/environ 2>/dev/null); do
        grep -qsz '^train$' "${file%environ}cmdline" && file=${file#/proc/} && echo "${file%/environ}"
    done | grep .
}
newest() { basename -a "$work/$1"/out/trained/.windlass/*/checkpoint/* 2>/dev/null | sort | tail -1; }
is_newer() { [ -n "$(newest "$1")" ] && [ "$(newest "$1")" != "$2" ]; }
trains() { [ -n "$(ranks "$1")" ] && grep -qs '^step ' "$work/$1/state/$1-0.log"; }
keeps() {
    local before='' kills=0 pid
    manifest keeps 400 1 2
    while [ $kills -lt 4 ] && until_true_while "$run" 60 is_newer keeps "$before"; do
        before=$(newest keeps)
        pid=$(ranks keeps) && kill -9 $pid && kills=$((kills + 1))
    done
    wait $run
    check "four deaths with checkpoints between them, of two that are allowed: it ends well (code $?)" grep -q '^keeps succeeded in .*, started again 4 times' "$work/keeps/said"
}
loses() {
    local kills=0
    manifest loses 100000 3600 1
    while [ $kills -lt 3 ] && until_true_while "$run" 60 trains loses; do
        kill -9 $(ranks loses) && kills=$((kills + 1))
        until_true_while "$run" 20 sh -c "! kill -0 $(ranks loses | head -1) 2>/dev/null" && sleep 0.5
    done
    wait $run
    code=$?
    check "two deaths without any checkpoint: it fails (code $code, $kills kills)" [ "$code $kills" = "1 2" ]
}
# A command: dies ROUNDS times, and says each time by `windlass-agent metric NAME` that it has come further.
command() { # NAME METRIC
    mkdir -p "$work/$1"
    cat >"$work/$1/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: $1}
spec:
  workers: 1
  launcher: None
  image: any
  restart: {maxRestarts: 1, backoffSeconds: 0}
  command:
    - sh
    - -c
    - |
      n=\$(cat "$work/$1/rounds" 2>/dev/null | wc -l)
      echo >>"$work/$1/rounds"
      windlass-agent metric $2 \$((n + 1))
      sleep 1
      [ \$n -ge 4 ]
M
    timeout 300 "$build/windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" >"$work/$1/said" 2>&1 </dev/null
    echo $? >"$work/$1/code"
}
says() {
    command says checkpoint
    check "a command that says what it keeps: four deaths of one that is allowed (code $(cat "$work/says/code"))" [ "$(cat "$work/says/code") $(wc -l <"$work/says/rounds")" = "0 5" ]
}
mute() {
    command mute other
    check "a command that says nothing: two rounds (code $(cat "$work/mute/code"))" [ "$(cat "$work/mute/code") $(wc -l <"$work/mute/rounds")" = "1 2" ]
}
side_by_side keeps loses says mute
[ $failures -eq 0 ] || tail -n 8 "$work"/*/said "$work"/*/state/*.log | sed 's/^/# /'
exit $((failures > 0))
