# jobs.bash: jobs of empty files for tests/bench/scorer.c, by `windlass run`; sourced by dispatch.sh and auto.sh.
# folder_of_files FOLDER COUNT
folder_of_files() {
    mkdir -p "$1"
    (cd "$1" && seq -w 1 "$2" | xargs touch)
}
# scorer_job WORK FILES SIZE SLOTS [START_US ITEM_US]: runs a job on two workers with SLOTS programs each. Its times are
# then in WORK/out/summary.json and WORK/out/mini_batches.csv, processor seconds (user, system) in WORK/times.
scorer_job() {
    local work=$1 files=$2
    rm -rf "$work/out" "$work/state"
    mkdir -p "$work/out"
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: bench}
spec:
  input: {files: {path: in/$(basename "$files")}}
  scorer: {command: {command: [\$(program)/scorer, "${5:-0}", "${6:-0}"], processesPerWorker: $4}}
  output: {path: work/out, mode: SummaryOnly}
  miniBatchSize: $3
  retry: {timeoutSeconds: 600}
  workers: {min: 2, max: 2}
  volumes:
    - {name: in, persistentVolumeClaim: {claimName: in}}
    - {name: work, persistentVolumeClaim: {claimName: work}}
    - {name: program, persistentVolumeClaim: {claimName: program}}
M
    local TIMEFORMAT='%U %S'
    { time build/windlass run -f "$work/job.yaml" --volume in="$(dirname "$files")" --volume work="$work" \
        --volume program=build/tests/bench --state "$work/state" >"$work/log" 2>&1; } 2>"$work/times" ||
        { tail -20 "$work/log" >&2; return 1; }
}
# Seconds from the first lease to the last result, as the coordinator recorded them.
scorer_seconds() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { start = $at["startSeconds"]; end = start + $at["seconds"]; if (NR == 2 || start < first) first = start; if (end > last) last = end }
        END { printf "%.3f\n", last - first }' "$1/out/mini_batches.csv"
}
