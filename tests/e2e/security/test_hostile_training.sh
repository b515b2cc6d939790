#!/usr/bin/env bash
# Training data that others wrote to a job's volume, by the trainer as it is: each training ends by itself, with the right exit
# code and a message that names the file, its row, member or byte, and no process of it takes more than 2.5 GiB
# (hostile_training.py has the files).
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
built "${BUILD:-build}/windlass-trainer" || { echo "not ok ${0##*/}: cannot be built"; exit 1; }
trainer_begins hostile 2
python3 tests/e2e/security/hostile_training.py "$data" >"$work/jobs" || { echo "not ok the files are made"; exit 1; }

training() { # DATA MODEL CODE PATTERN
    local code
    discard "$out"
    mkdir "$out"
    WINDLASS_SPEC=$(printf '{"trainer": {"model": %s, "data": {%s"train": %s}, "epochs": 1, "batchSize": 1, "optimizer": {"learningRate": "0.01"}, "output": {"path": "out/model"}}}' \
        "$2" "$([[ $1 != *'"folder"'* && $1 != *'"masks"'* ]] || echo '"augment": {"size": 12}, ')" "$1")
    export WINDLASS_SPEC
    timeout -k 5 "${LIMIT:-300}" python3 tests/e2e/security/hostile_files.py run 2560 "$trainer" train >"$work/said" 2>&1 </dev/null
    code=$?
    [ -z "${SHOW:-}" ] || grep -h "^# [0-9]* MiB" "$work/said"
    [[ "|$3|" == *"|$code|"* ]] && grep -qE -- "$4" "$work/said" && return 0
    echo "# exit code $code, wanted $3; wanted: $4"
    cut -c1-400 "$work/said" | tail -n 4 | sed 's/^/# /'
    return 1
}
while IFS=$'\t' read -r name feed model code pattern; do
    if [ -n "${ONLY:-}" ]; then [[ $name == *$ONLY* ]]; else sampled 4; fi || continue
    check "$name" training "$feed" "$model" "$code" "$pattern"
done <"$work/jobs"
exit $((failures > 0))
