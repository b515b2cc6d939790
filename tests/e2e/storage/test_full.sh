#!/usr/bin/env bash
# Jobs by `windlass run` whose output is on a disk (tmpfs) that becomes full at one of their writes: it has room for N files
# or N KiB. While anything is missing no job says that it has succeeded; with room again, the same job, or the next one if
# that has failed and named the file, ends whole. BatchScores in each form of output, a DistTrain and a Sweep.
# SOAK_SEED: which N (one for each kind of job); FULL_ONLY (perfile:28) and FULL_DISKS (nr_inodes=12): these; SOAK_ROUNDS: each number of files, and as many sizes as a sixteenth of it.
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
mkdir -p "$work/in" "$work/code" "$work/model"
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
        # A trial may have failed for want of room, and says so; each other one has its result, and the best is registered.
        [ "$(find "$out/registry/sweep" -name model.onnx | wc -l)" = 1 ] || return 1
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
has_no_room() { stat -f -c '%d %f' "$1" | grep -qE '^[01] | [01]$'; } # for files (a folder and its first), or blocks
ended_or_full() { ended || complains "$1"; }
starts() {
    rm -rf "$work/$1/state"
    timeout 300 "$build/windlass" run -f "$work/$1/job.yaml" --state "$work/$1/state" >"$work/$1/log" 2>&1 </dev/null &
    run=$!
}
# full JOB OPTION...: that job on a disk with that room. Sets $is_right, and $was_full.
full() {
    local job=$1 disk=$work/$1/disk code said=none
    shift
    is_right=yes was_full=no
    mkdir -p "$disk"
    umount "$disk" 2>/dev/null
    mount -t tmpfs -o "$1" tmpfs "$disk" || return 1
    starts "$job"
    until_true 3 ended_or_full "$job" 2>/dev/null # some waits for room are silent
    if ! ended; then
        ! has_no_room "$disk" && ! complains "$job" || was_full=yes
        mount -o remount,size=64m,nr_inodes=100000 "$disk"
    fi
    wait $run
    code=$?
    ! complains "$job" || was_full=yes
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
    [ -z "${FULL_SHOWS:-}" ] || echo "# $job $1 code $code full $was_full right $is_right files $(find "$disk" | wc -l)"
    [ $is_right = yes ] || { echo "# $job, $1: code $code, $said" && tail -n 5 "$work/$job/log" "$work/$job/said" | sed 's/^/# /'; }
}
most=(perfile:24 rows:19 csv:19 npy:19 film:18 summary:18 train:18 sweep:60) # files that such a job has at a time, or less
some() { # JOB: for side_by_side
    local job=$1 at most=$2 wrong=0 fulls=0 tried=0 kinds=()
    mkdir -p "$work/$job"
    manifest "$job" >"$work/$job/job.yaml"
    if [ -n "${SOAK_ROUNDS:-}" ]; then
        for ((at = 2; at <= most; at++)); do kinds+=("size=64m,nr_inodes=$at"); done
        for ((at = 0; at < SOAK_ROUNDS / 16; at++)); do kinds+=("nr_inodes=100000,size=$((4 + RANDOM % 120))k"); done
    else
        kinds=("size=64m,nr_inodes=$((2 + RANDOM % (most - 1)))")
    fi
    for at in ${FULL_DISKS:-"${kinds[@]}"}; do
        full "$job" "$at"
        tried=$((tried + 1))
        [ $is_right = yes ] || wrong=$((wrong + 1))
        [ $was_full = no ] || fulls=$((fulls + 1))
    done
    check "$job: $tried disks, $fulls full while it ran (${kinds[0]}): $wrong wrong" [ $wrong = 0 ]
    [ -z "${SOAK_ROUNDS:-}" ] || check "$job: most of them were" [ $((2 * fulls)) -gt $tried ]
}
mkdir "$work/probe" && mount -t tmpfs -o size=1m tmpfs "$work/probe" 2>/dev/null || { echo "skip full: nothing can be mounted here"; exit 0; }
umount "$work/probe"
for each in ${FULL_ONLY:-"${most[@]}"}; do
    some "${each%:*}" "${each#*:}"
done
exit $((failures > 0))
