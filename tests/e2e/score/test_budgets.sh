#!/usr/bin/env bash
# Budgets: deaths count against progress, not against a life. A job outlives 20 kill -9 of its coordinator and any
# number of its workers, as long as something is finished in between; a coordinator that is frozen is replaced; a
# worker's program that always dies ends the job in bounded time.
#   SOAK_ROUNDS: in a soak the kills of a coordinator and of the workers are 5 times as many.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$work"' EXIT
more=$([ -n "${SOAK_ROUNDS:-}" ] && echo 5 || echo 1)

# A program that needs 50 ms for an item.
mkdir -p "$work/code"
cat >"$work/code/slow.py" <<'P'
import json, sys, time
sys.stdin.readline()
print('{"ready": true}', flush=True)
for line in sys.stdin:
    request = json.loads(line)
    time.sleep(0.05 * len(request["items"]))
    print(json.dumps({"id": request["id"], "results": [item.rsplit("/", 1)[-1] for item in request["items"]]}), flush=True)
P
# make_job NAME ITEMS: a folder of its own with a job of so many items, one a mini-batch.
make_job() {
    local i
    mkdir -p "$work/$1/in"
    for ((i = 0; i < $2; i++)); do echo $i >"$work/$1/in/$i"; done
    ln -s "$work/code" "$work/$1/code"
    cat >"$work/$1/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {files: {path: in}}
  scorer: {command: {command: [python3, \$(code)/slow.py]}}
  output: {path: out, mode: AppendRow}
  miniBatchSize: 1
  workers: {min: 2, max: 2}
  volumes:
    - {name: in, persistentVolumeClaim: {claimName: in}}
    - {name: out, persistentVolumeClaim: {claimName: out}}
    - {name: code, persistentVolumeClaim: {claimName: code}}
M
}
# start NAME: runs it in the background; $run is its process.
start() {
    mkdir -p "$work/$1/out"
    timeout 600 "$windlass" run -f "$work/$1/job.yaml" --keep --state "$work/$1/state" >"$work/$1/log" 2>&1 </dev/null &
    run=$!
}
# The processes of a job's pods: those with WINDLASS_BIND (coordinator) or WINDLASS_COORDINATOR (workers).
pods() {
    local file
    for file in $(grep -lsF "WINDLASS_TERMINATION_LOG=$work/$1/" /proc/[0-9]*/environ 2>/dev/null); do
        if grep -qsF "WINDLASS_$2=" "$file"; then file=${file#/proc/}; echo "${file%/environ}"; fi
    done
}
# Records of results in the commits: what the job has finished for good.
finished() { cat "$work/$1"/out/.windlass/*/commit/* 2>/dev/null | grep -c '^\["d"'; }
ends_with() { wait "$run"; local got=$?; [ $got -eq "$1" ] || { echo "# exit code $got"; tail -5 "$work/$2/log" | sed 's/^/# /'; return 1; }; }
has_all() { [ "$(sort -u "$work/$1/out/rows.txt" | wc -l)" = "$2" ] && [ "$(wc -l <"$work/$1/out/rows.txt")" = "$2" ]; }
# until_grown NAME COUNT: waits until more results than COUNT are stored, or the job has ended.
until_grown() {
    local end=$((SECONDS + 60))
    until [ "$(finished "$1")" -gt "$2" ] || ! kill -0 "$run" 2>/dev/null || [ $SECONDS -ge $end ]; do nap 0.2; done
}

coordinator_dies() {
    local kills=0 before pid items=$((500 * more))
    make_job often $items
    start often
    while [ $kills -lt $((20 * more)) ] && kill -0 "$run" 2>/dev/null; do
        before=$(finished often)
        until_grown often "$before"
        pid=$(pods often BIND)
        [ -n "$pid" ] && [ -n "$(finished often)" ] && kill -9 $pid 2>/dev/null && kills=$((kills + 1))
        sleep 0.3
    done
    check "a job outlives $kills kill -9 of its coordinator" ends_with 0 often
    check "all of them while it ran" [ $kills -eq $((20 * more)) ]
    check "each item is there once" has_all often $items
}

worker_dies() {
    local kills=0 before pid items=400
    make_job worker $items
    start worker
    until_grown worker 0
    while kill -0 "$run" 2>/dev/null && [ $kills -lt $((400 * more)) ]; do
        before=$(finished worker)
        for pid in $(pods worker COORDINATOR); do kill -9 "$pid" 2>/dev/null && kills=$((kills + 1)); done
        sleep 1.2
        until_grown worker "$before" # on a busy machine a worker may take longer to begin
    done
    check "10 s of work end although both workers are killed each 1.2 s ($kills kills)" ends_with 0 worker
    check "more often than a life may have deaths" [ $kills -ge 12 ]
    check "each item is there once, too" has_all worker $items
}

# freeze NAME: stops the coordinator, which is then replaced: its liveness probe fails.
freeze() {
    local pid began=$SECONDS
    pid=$(pods "$1" BIND)
    kill -STOP $pid
    while kill -0 $pid 2>/dev/null && [ $SECONDS -lt $((began + 90)) ]; do sleep 0.5; done
    check "$1: it is killed within 90 s ($((SECONDS - began)) s)" sh -c "! kill -0 $pid 2>/dev/null"
    check "$1: the job goes on to its end" ends_with 0 "$1"
    check "$1: each item is there once" has_all "$1" "$2"
}
frozen_early() {
    make_job early 20
    sed -i 's/slow.py/later.py/' "$work/early/job.yaml"
    { echo 'import time; time.sleep(3)'; cat "$work/code/slow.py"; } >"$work/code/later.py"
    start early
    local end=$((SECONDS + 60))
    until [ -n "$(pods early BIND)" ] || [ $SECONDS -ge $end ]; do nap 0.05; done
    sleep 0.5
    check "a coordinator that is frozen before the first mini-batch" [ "$(finished early)" -eq 0 ]
    freeze early 20
}
frozen_late() {
    make_job late 200
    start late
    until_grown late 5
    check "a coordinator that is frozen in mid-run" [ "$(finished late)" -lt 200 ]
    freeze late 200
}

# No progress: the budget ends the job. With kill -9 at each start: after ten deaths of each of the two workers.
never_works() {
    local began=$SECONDS
    make_job never 4
    printf 'import sys\nsys.exit("no such module")\n' >"$work/code/never.py"
    sed -i 's/slow.py/never.py/' "$work/never/job.yaml"
    start never
    check "a program that always dies ends the job" ends_with 1 never
    check "soon ($((SECONDS - began)) s)" [ $((SECONDS - began)) -lt 120 ]
}

# In a soak: ten deaths in a row of one worker, which take three minutes. The other one goes on.
retires() {
    local pid end=$((SECONDS + 400))
    make_job retires 5600
    start retires
    until_grown retires 0
    until grep -q 'workers retired' "$work/retires/log" || [ $SECONDS -ge $end ]; do
        for pid in $(pods retires COORDINATOR); do
            # Slot 1, as soon as it is connected.
            grep -qsaz '^WINDLASS_WORKER=retires-worker-1' "/proc/$pid/environ" &&
                grep -qs connected "$work/retires/state/$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^WINDLASS_WORKER=//p').log" && kill -9 "$pid"
        done
        nap 0.02
    done
    check "a job goes on although one of its workers always dies" ends_with 0 retires
    check "the end names the slot that was given up" grep -q '  retired  slot 1 of the workers, after 10 deaths; pod retires-worker-1-' "$work/retires/log"
    check "so does the summary" jq -e '.retired | length == 1 and (.[0].pod | startswith("retires-worker-1-")) and .[0].deaths == 10 and (.[0].message | startswith("exit code 137"))' "$work/retires/out/summary.json"
}

side_by_side coordinator_dies worker_dies never_works frozen_early frozen_late ${SOAK_ROUNDS:+retires}
exit $((failures > 0))
