#!/usr/bin/env bash
# Jobs by `windlass run` whose output is on a disk (tmpfs) that becomes full at one of their writes: it has room for N files
# or N KiB. While anything is missing no job says that it has succeeded; with room again, the same job, or the next one if
# that has failed and named the file, ends whole. BatchScores in each form of output, a DistTrain and a Sweep. Each disk has
# less room than what such a job makes, and must have been full: until a call of the job has failed by that (no_room.c)
# nothing is given more room, and a job that ends without one fails the test.
# SOAK_SEED: which N (one for each kind of job); FULL_ONLY (perfile) and FULL_DISKS (nr_inodes=12): these; FULL_SHOWS=1: what
# each run saw, and what it has made; SOAK_ROUNDS: each number of files, and of the sizes as many as a fiftieth of it.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
[ "$(id -u)" = 0 ] || { echo "skip full: only root may mount"; exit 0; }
begin_here
seed=${SOAK_SEED:-$((RANDOM * 32768 + RANDOM))}
echo "# SOAK_SEED=$seed"
RANDOM=$((seed % 32768))
jobs=(perfile rows csv npy film summary train sweep)
trap 'kill -9 $(jobs -p) 2>/dev/null; for job in "${jobs[@]}"; do umount -l "$work/$job/disk"; done 2>/dev/null; wait; rm -rf --one-file-system "$work"' EXIT
mkdir -p "$work/in" "$work/code" "$work/model" "$work/bin"
gcc -O1 -shared -fPIC -o "$work/no_room.so" tests/e2e/storage/no_room.c -ldl || exit 3
cp "$build/windlass" "$work/bin/"
for name in windlass-agent windlass-trainer; do
    printf '#!/bin/sh\nexport LD_PRELOAD=%s NO_ROOM_SEEN=%s\nexec %s "$@"\n' "$work/no_room.so" "$work/seen" "$build/$name" >"$work/bin/$name"
    chmod +x "$work/bin/$name"
done
for i in 1 2 3 4; do echo "$i" >"$work/in/f$i"; done
ln -s /etc/hostname "$work/in/away" # an item that fails, so that failed.jsonl is needed
printf 'a,b\n1,2\n3,4\n' >"$work/rows.csv"
python3 tests/data/models/make.py "$work/model"
ffmpeg -nostdin -v error -f lavfi -i testsrc2=s=32x32:r=8:d=1 -pix_fmt yuv420p "$work/film.mp4" || exit 3
cat >"$work/code/score.py" <<'P'
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    results = [open(item).read() * 999 if isinstance(item, str) else {"sum": int(item["a"]) + int(item["b"])} for item in asked.get("items", [])]
    print(json.dumps({"ready": True} if "init" in asked else {"id": asked["id"], "results": results}), flush=True)
P
files='input: {files: {path: data/in}}' table='input: {table: {path: data/rows.csv}}' program='scorer: {command: {command: [python3, $(data)/code/score.py]}}'
score() { # NAME INPUT SCORER OUTPUT: a BatchScore
    cat <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  $2
  $3
  output: {path: out/o, $4}
  errorThreshold: 1
  retry: {maxTries: 1}
  workers: {min: 1, max: 1}
  volumes: [{name: data, hostPath: {path: $work}}, {name: out, hostPath: {path: $work/$1/disk}}]
M
}
training() { # OUTPUT
    cat <<M
workers: 1
trainer:
  model: {new: MLP, classes: 2, shape: [1, 2, 2]}
  data: {train: {synthetic: {count: 16, classes: 2, shape: [1, 2, 2]}}}
  epochs: 2
  batchSize: 8
  checkpoint: {everySeconds: 1, keep: 1}
  optimizer: {learningRate: $1}
  output: {path: out/$2}
restart: {maxRestarts: 0}
volumes: [{name: out, hostPath: {path: $work/$2/disk}}]
M
}
manifest() { # JOB
    case $1 in
    perfile) score perfile "$files" "$program" 'mode: PerFile' ;;
    rows) score rows "$files" "$program" 'mode: AppendRow' ;;
    csv) score csv "$table" "$program" 'mode: AppendRow, format: CSV' ;;
    npy) score npy "$table" "$program" 'mode: AppendRow, format: Npy' ;;
    summary) score summary "$files" "$program" 'mode: SummaryOnly' ;;
    film) score film 'input: {video: {path: data/film.mp4}}' 'scorer: {onnx: {path: data/model/invert.onnx}}' 'mode: PerFile' ;;
    train) printf 'apiVersion: windlass.dev/v1alpha1\nkind: DistTrain\nmetadata: {name: train}\nspec:\n' && training '"0.01"' train | sed 's/^/  /' ;;
    sweep)
        cat <<M
apiVersion: windlass.dev/v1alpha1
kind: Sweep
metadata: {name: sweep}
spec:
  objective: {metric: loss, goal: Minimize}
  parameters: [{name: RATE, choice: ["0.01", "0.02"]}]
  algorithm: {kind: Grid}
  maxTrials: 2
  maxConcurrentTrials: 1
  register: {path: out/registry}
  trial:
M
        training '$(RATE)' sweep | sed 's/^/    /'
        ;;
    esac
}
# The names in a whole output, of what is made by each job and no other.
names() { (cd "$work/$1/disk" && find . \( -name .windlass -o -path '*/logs' \) -prune -o -type f -printf '%P\n' | sed -E 's|[0-9a-zTZ]+-[0-9a-f]{8}|ID|g' | LC_ALL=C sort | xargs); }
wanted() {
    local reports="failed.jsonl mini_batches.csv report.html result.json summary.json workers.csv" own
    case $1 in
    perfile) own="outputs.jsonl f1.json f2.json f3.json f4.json" ;;
    rows) own=rows.txt ;;
    csv) own=rows.csv ;;
    npy) own="rows.keys.csv rows.npy" ;;
    summary) own= ;;
    film) own=film.mp4 ;;
    train) own="events.out.tfevents.0.windlass metrics.csv model.onnx" reports=result.json ;;
    esac
    # shellcheck disable=SC2086 # several names
    printf "$([ "$1" = train ] && echo train || echo o)/%s\n" $reports $own | LC_ALL=C sort | xargs
}
whole() { # JOB: its disk has all of it
    local result out="$work/$1/disk"
    if [ "$1" = sweep ]; then
        # A trial may have failed for want of room, and says so; each other one has its result, and the best is registered:
        # what a registration that has failed may have copied is not what `latest` names.
        local version
        version=$out/registry/sweep/$(cat "$out/registry/sweep/latest") || return 1
        [ -e "$version/model.onnx" ] && [ -e "$version/metadata.json" ] && [ -e "$version/result.json" ] || return 1
        [ "$(find "$out" -name result.json | wc -l)" -gt "$(grep -c ' Completed ' "$work/sweep/log")" ] || return 1
    else
        [ "$(names "$1")" = "$(wanted "$1")" ] || { echo "# has $(names "$1")"; return 1; }
    fi
    while IFS= read -r result; do
        "$build/windlass" verify "$(dirname "$result")" || return 1
    done < <(find "$out" -name result.json)
} >>"$work/$1/said"
ended() { ! kill -0 "$run" 2>/dev/null; }
complains() { grep -hqr 'No space left on device' "$work/$1/log" "$work/$1/state" 2>/dev/null; }
was_full() { [ -s "$work/seen" ] || complains "$1"; }
ended_or_full() { ended || was_full "$1"; }
starts() {
    rm -rf "$work/$1/state"
    timeout 300 "$work/bin/windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" >"$work/$1/log" 2>&1 </dev/null &
    run=$!
}
# full JOB OPTION: that job on a disk with that room. Sets $is_right: it was full, and ended as it must.
full() {
    local job=$1 room=$2 disk=$work/$1/disk code said=none seen=
    is_right=yes
    mkdir -p "$disk"
    umount "$disk" 2>/dev/null
    mount -t tmpfs -o "$room" tmpfs "$disk" || return 1
    rm -f "$work/seen"
    starts "$job"
    until_true 300 ended_or_full "$job"
    # Some get room when they want it, some later: a job may wait for it, or end by it.
    [ $((RANDOM % 2)) = 0 ] || until_true 3 ended 2>/dev/null
    ended || mount -o remount,size=64m,nr_inodes=100000 "$disk"
    wait $run
    code=$?
    was_full "$job" || { is_right=no && echo "# $job, $room: the disk was never full"; }
    seen=$(sort "$work/seen" 2>/dev/null | uniq -c | xargs)
    if [ $code -ne 0 ]; then # its verdict: the file is named, and nothing says that it has succeeded
        said=$(grep -hor '[^ ]*: No space left on device' "$work/$job/log" "$work/$job/state" | head -n 1)
        [ -n "$said" ] || is_right=no
        [ "$job" = sweep ] || [ -z "$(find "$disk" -name result.json)" ] || is_right=no
        mount -o remount,size=64m,nr_inodes=100000 "$disk"
        starts "$job"
        wait $run
        code=$?
    fi
    [ $code -eq 0 ] && whole "$job" || is_right=no
    [ -z "${FULL_SHOWS:-}" ] || echo "# $job $room code $code said $said right $is_right failed: $seen has $(find "$disk" | wc -l) files $(du -sk "$disk" | cut -f1) KiB"
    [ $is_right = yes ] || { echo "# $job, $room: code $code, $said" && tail -n 5 "$work/$job/log" "$work/$job/said" | sed 's/^/# /'; }
}
# JOB:FILES:KiB: a disk with no more room is full once, as such a job has three files and 16 KiB more at its end, or above that
# (FULL_SHOWS with a large disk says how much it has).
most=(perfile:23:72 rows:19:64 csv:18:56 npy:19:60 film:16:56 summary:18:56 train:22:432 sweep:66:1320)
some() { # JOB FILES KiB
    local job=$1 at wrong=0 disks=() sizes
    mkdir -p "$work/$job"
    manifest "$job" >"$work/$job/job.yaml"
    if [ -n "${SOAK_ROUNDS:-}" ]; then
        for ((at = 2; at <= $2; at++)); do disks+=("size=64m,nr_inodes=$at"); done
        mapfile -t sizes < <(seq 4 4 "$3" | shuf --random-source=<(yes "$seed") | head -n $((SOAK_ROUNDS / 50)))
        for at in "${sizes[@]}"; do disks+=("nr_inodes=100000,size=${at}k"); done
    elif [ $((RANDOM % 2)) = 0 ]; then
        disks=("size=64m,nr_inodes=$((2 + RANDOM % ($2 - 1)))")
    else
        disks=("nr_inodes=100000,size=$((4 * (1 + RANDOM % ($3 / 4))))k")
    fi
    # shellcheck disable=SC2206 # several disks
    [ -z "${FULL_DISKS:-}" ] || disks=($FULL_DISKS)
    for at in "${disks[@]}"; do
        full "$job" "$at"
        [ $is_right = yes ] || wrong=$((wrong + 1))
    done
    check "$job: ${#disks[@]} disks that became full (${disks[0]}): $wrong wrong" [ $wrong = 0 ]
}
mkdir "$work/probe" && mount -t tmpfs -o size=1m tmpfs "$work/probe" 2>/dev/null || { echo "skip full: nothing can be mounted here"; exit 0; }
umount "$work/probe"
for each in "${most[@]}"; do
    IFS=: read -r job count kib <<<"$each"
    [ -n "${FULL_ONLY:-}" ] && [[ " $FULL_ONLY " != *" $job "* ]] || some "$job" "$count" "$kib"
done
exit $((failures > 0))
