#!/usr/bin/env bash
# The wall clock of all programs is set back and forth by hours while jobs run (tests/e2e/cluster/clock.c): a BatchScore
# whose worker is killed three times in a row, so that the next one is to wait for seconds, and a training. No lease runs
# out, no deadline comes, no pod waits for hours, and each item is there once.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
begin_here
mkdir -p "$work/bin" "$work/in" "$work/code" "$work/out"
gcc -O1 -shared -fPIC -o "$work/clock.so" tests/e2e/cluster/clock.c || exit 3
clock() { echo "$2" >"$work/$1.new" && mv "$work/$1.new" "$work/$1.ahead"; } # JOB SECONDS: ahead of the machine's
# programs JOB: with a clock of its own.
programs() {
    local name
    mkdir "$work/bin/$1"
    cp "$build/windlass" "$work/bin/$1/"
    for name in windlass-agent windlass-trainer; do
        printf '#!/bin/sh\nexport LD_PRELOAD=%s CLOCK_FILE=%s CLOCK_SEEN=%s\nexec %s "$@"\n' "$work/clock.so" "$work/$1.ahead" "$work/$1.seen" "$build/$name" >"$work/bin/$1/$name"
        chmod +x "$work/bin/$1/$name"
    done
    clock "$1" 0
}
# starts JOB: $run is its process. It may take 300 s beside other work, and no clock of its own says when these are over.
starts() {
    LD_PRELOAD=$work/clock.so CLOCK_FILE=$work/$1.ahead CLOCK_SEEN=$work/$1.seen "$work/bin/$1/windlass" run -f "$work/$1.yaml" --state "$work/state-$1" >"$work/$1.log" 2>&1 </dev/null &
    run=$!
}
# saw JOB PROGRAM: its processes got times both hours ahead and hours behind.
saw() { grep -qE "^$2 (7200|86400)$" "$work/$1.seen" && grep -qE "^$2 -(7200|86400)$" "$work/$1.seen" || { sed 's/^/# /' "$work/$1.seen"; return 1; }; }
# jumps: of times (one a line) some are hours before those before them, and some hours after.
jumps() { sed 's/T/ /; s/Z$//' | date -u -f - +%s | awk 'NR > 1 { if ($1 > last + 3600) up++; if ($1 < last - 3600) down++ } { last = $1 } END { exit !(up && down) }'; }
# ends JOB: sets its clock back and forth until it has ended; its exit code is in $code.
ends() {
    local step end=$((SECONDS + 300))
    while kill -0 $run 2>/dev/null && [ $SECONDS -lt $end ]; do
        for step in 7200 -7200 86400 0 -86400; do
            clock "$1" $step
            nap 0.15
        done
    done
    kill -9 $run 2>/dev/null
    wait $run
    code=$?
    [ $code = 0 ] || tail -n 12 "$work/$1.log" "$work"/state-"$1"/*.log | sed 's/^/# /'
}

for i in $(seq 20); do echo "item $i" >"$work/in/$i"; done
cat >"$work/code/score.py" <<'P'
import json, os, sys, time
folder = json.loads(sys.stdin.readline())["init"]["arguments"]["folder"]
print('{"ready":true}', flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    with open(folder + "/begun", "a") as begun:
        print(os.getppid(), file=begun)
    while os.path.exists(folder + "/hold") and os.getppid() > 1:
        time.sleep(0.05)
    time.sleep(0.05)
    print(json.dumps({"id": asked["id"], "results": [open(name).read().strip() for name in asked["items"]]}), flush=True)
P
score() {
    local code run turn
    programs score
    cat >"$work/score.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: score}
spec:
  input: {files: {path: in}}
  scorer: {command: {command: [python3, \$(code)/score.py], arguments: {folder: $work}}}
  output: {path: out/score, mode: AppendRow}
  miniBatchSize: 1
  retry: {maxTries: 1, timeoutSeconds: 300}
  workers: {min: 1, max: 1}
  activeDeadlineSeconds: 900
  volumes:
    - {name: in, hostPath: {path: $work/in}}
    - {name: out, hostPath: {path: $work/out}}
    - {name: code, hostPath: {path: $work/code}}
M
    touch "$work/hold" "$work/begun"
    starts score
    has_begun() { [ "$(wc -l <"$work/begun")" -ge "$1" ]; }
    for turn in 1 2 3; do
        check "worker $turn has begun" until_true_while $run 60 has_begun $turn
        clock score 86400
        kill -9 "$(tail -n 1 "$work/begun")"
    done
    nap 0.5 # its death is seen: the next worker is to wait for 2 s, by a clock that is set back meanwhile
    clock score -7200
    rm "$work/hold"
    check "worker 4 does not wait for a day" until_true_while $run 60 has_begun 4
    ends score
    check "a job whose clock is set by hours succeeds (code $code)" [ $code = 0 ]
    check "windlass saw it" saw score windlass
    check "coordinator and workers did" saw score windlass-agent
    check "their logs have hours between two lines, in both directions" jumps < <(cat "$work"/state-score/*.log | grep -oE '^[0-9]{4}-[0-9-]{5}T[0-9:]{8}Z')
    check "with each item once" [ "$(sort "$work/out/score/rows.txt" | uniq -c | awk '$1 == 1' | wc -l)" = 20 ]
    check "and no lease ran out" [ "$(jq -c '[.items.failed, ([.workers[].timeouts] | add)]' "$work/out/score/summary.json")" = '[0,0]' ]
}
train() {
    local code run
    programs train
    cat >"$work/train.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: DistTrain
metadata: {name: train}
spec:
  workers: 2
  activeDeadlineSeconds: 900
  trainer:
    model: {new: CNN, classes: 4, shape: [1, 8, 8]}
    data: {train: {synthetic: {count: 256, classes: 4, shape: [1, 8, 8]}}}
    epochs: 100
    batchSize: 32
    optimizer: {learningRate: "0.01"}
    checkpoint: {everySeconds: 1, keep: 2}
    output: {path: out/train}
  volumes: [{name: out, hostPath: {path: $work/out}}]
M
    clock train -7200
    starts train
    # (Both look at their start and at their end: what they are to see waits for them, however short the training is.)
    have_seen() { grep -qx -e "windlass $1" "$work/train.seen" && grep -qx -e "windlass-trainer $1" "$work/train.seen"; }
    until_true_while $run 60 have_seen -7200
    clock train 7200
    until_true_while $run 60 have_seen 7200
    ends train
    check "a training whose clock is set by hours succeeds (code $code)" [ $code = 0 ]
    check "windlass saw it, too" saw train windlass
    check "gang and trainers did" saw train windlass-trainer
    check "in its first start" [ "$(grep -c "started again" "$work/train.log")" = 0 ]
}
jobs=(score)
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then jobs+=(train); else echo "skip the training: Open MPI is not here"; fi
side_by_side "${jobs[@]}"
exit $((failures > 0))
