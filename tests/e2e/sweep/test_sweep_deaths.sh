#!/usr/bin/env bash
# A Sweep by `windlass run` whose processes are killed with -9 at random moments: windlass itself, which is then started again,
# the agents of a trial's two workers (the first is its coordinator), the ranks of its training, and the pod that registers
# the best model. Whatever is killed, the end is that of an undisturbed Sweep: each trial is there once, with the same
# number of reports, the same value and the same model, bit for bit, the best one is registered, and `windlass verify` holds.
#   SOAK_SEED decides which process dies when; DEATHS_ROUNDS (1, in a soak SOAK_ROUNDS / 50): the number of disturbed runs.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
mpirun --version 2>/dev/null | grep -q 'Open MPI' || { echo "skip test_sweep_deaths: Open MPI is not here"; exit 0; }
sweep_begins
seed=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))}
rounds=${DEATHS_ROUNDS:-$(((${SOAK_ROUNDS:-50} + 49) / 50))}
echo "# SOAK_SEED=$seed"
# The pod that registers lives for some milliseconds only: it begins a second later, so that it can be found.
mkdir "$work/bin"
mkfifo "$work/never"
cp "$build/windlass" "$build/windlass-trainer" "$work/bin/"
printf '#!/bin/bash\n[ "$1" != register ] || read -rt 1 _ <>%s\nexec %s "$@"\n' "$work/never" "$build/windlass-agent" >"$work/bin/windlass-agent"
chmod +x "$work/bin/windlass-agent"
windlass=$work/bin/windlass
cat >"$work/sweep.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: deaths}
spec:
  objective: {metric: loss, goal: Minimize}
  parameters: [{name: RATE, choice: ["0.003", "0.01", "0.03", "0.06"]}]
  algorithm: {kind: Grid}
  maxTrials: 4
  maxConcurrentTrials: 2
  register: {path: out/registry}
  trial:
    workers: 2
    trainer:
      model: {new: MLP, classes: 4, shape: [1, 8, 8]}
      data: {train: {synthetic: {count: 2048, classes: 4, shape: [1, 8, 8]}}}
      epochs: 20
      batchSize: 32
      optimizer: {learningRate: \$(RATE)}
      checkpoint: {everySeconds: 1, keep: 2}
      output: {path: out/tried}
    restart: {maxRestarts: 100, backoffSeconds: 0}
    volumes: [{name: out, hostPath: {path: $work/out}}]
M
# Its own processes: all have a folder of this test in their environment.
ours() { # WORD: with that in their environment, too
    local file
    for file in $(grep -lsF "$work/state" /proc/[0-9]*/environ 2>/dev/null); do
        if tr '\0' '\n' <"$file" 2>/dev/null | grep -q "$1"; then file=${file#/proc/}; echo "${file%/environ}"; fi
    done
}
launch() {
    rm -rf "$work/state"
    timeout 600 "$windlass" run -f "$work/sweep.yaml" --state "$work/state" --workers 4 >"$work/said" 2>"$work/told" </dev/null &
    run=$!
}
kinds=(coordinator worker rank register windlass)
words=('^WINDLASS_INDEX=0$' '^WINDLASS_INDEX=1$' '^OMPI_COMM_WORLD_RANK=' '^WINDLASS_SPEC=.*"to":' '')
most=(4 4 4 2 2) # deaths of each kind in a run
hurt() {
    local which=$((RANDOM % 5)) victims=()
    ! registers || which=3
    [ "${deaths[which]}" -lt "${most[which]}" ] || return
    if [ "${kinds[which]}" = windlass ]; then
        mapfile -t victims < <(pgrep -P "$run" -x windlass)
    else
        mapfile -t victims < <(ours "${words[which]}")
    fi
    [ ${#victims[@]} -gt 0 ] && kill -9 "${victims[RANDOM % ${#victims[@]}]}" 2>/dev/null && deaths[which]=$((deaths[which] + 1))
}
# All trials have ended.
registers() { [ "${deaths[3]}" -lt "${most[3]}" ] && grep -q ' 4 of 4 trials' "$work/said" "$work/told"; }
# What is left of the last run: each trial's place, values, reports, value and model, and the registered one.
result() {
    local version id
    version=$(cat "$work/out/registry/deaths/latest") || return
    id=${version##*-}
    jq -c '.sweep.trials[] | [.index, .state, .value, .values]' "$work/out/registry/deaths/$version/result.json"
    jq -c '.sweep.best | [.trial, .value]' "$work/out/registry/deaths/$version/result.json"
    (cd "$work/out/tried/deaths-$id" && sha256sum ./*/model.onnx)
    sha256sum <"$work/out/registry/deaths/$version/model.onnx"
    find "$work/out/tried/deaths-$id" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort
    sed -n 's/^deaths succeeded in .* s: \(.*\), registered as .*/\1/p' "$work/said"
    sed -nE 's/^\*? +(deaths-[0-9]{4}) +([A-Za-z]+) +[#.]+ +([0-9]+) +([^ ]+) .*/\1 \2 \3 \4/p' "$work/said"
}
round() { # NUMBER
    local code=1 deaths=(0 0 0 0 0) wrong= again=0 seen=0 start=$SECONDS each
    RANDOM=$(($(cksum <<<"$seed $1" | cut -d' ' -f1) % 32768))
    discard "$work/out"
    mkdir "$work/out"
    exec 3>&2 2>/dev/null # bash reports killed processes, too
    launch
    while :; do
        if registers; then nap 0.01; else nap "0.$((RANDOM % 9))$((RANDOM % 10))"; fi
        if kill -0 $run; then
            hurt
            continue
        fi
        seen=${deaths[4]}
        wait $run
        code=$?
        if [ $code -eq 137 ] && [ "$seen" -gt $again ]; then again=$seen; launch; continue; fi
        break
    done
    exec 2>&3 3>&-
    holds() { "$@" || wrong+="; not so: $*"; }
    none_left() { [ -z "$(ours '')" ]; }
    holds [ $code -eq 0 ]
    result >"$work/result"
    holds diff "$work/quiet" "$work/result" >"$work/differs"
    holds [ $((deaths[0] + deaths[1] + deaths[2] + deaths[3] + deaths[4])) -gt 0 ]
    holds until_true 60 none_left
    for each in "$work"/out/registry/deaths/*/; do holds "$windlass" verify "$each"; done >"$work/verified"
    if [ -n "$wrong" ]; then
        tail -n 6 "$work"/state/*.log | sed 's/^/# /'
        tail -n 12 "$work/said" "$work/told" | sed 's/^/# /'
        sed 's/^/# /' "$work/differs"
        echo "# seed $seed, round $1, exit code $code$wrong"
    fi
    check "round $1: as the undisturbed one, after the deaths of ${deaths[0]} coordinators, ${deaths[1]} workers, ${deaths[2]} ranks, ${deaths[3]} registering pods, ${deaths[4]} windlass ($((SECONDS - start)) s)" [ -z "$wrong" ]
}

run_sweep 300
check "an undisturbed Sweep (code $code)" [ $code -eq 0 ]
result >"$work/quiet"
sed 's/^/# /' "$work/quiet"
check "has four trials and a registered model" [ "$(grep -c '^\[[0-3],"Completed"' "$work/quiet")" = 4 -a "$(wc -l <"$work/quiet")" = 20 ]
show_sweep
for ((number = 1; number <= rounds; number++)); do round "$number"; done
exit $((failures > 0))
