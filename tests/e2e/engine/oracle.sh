# shellcheck shell=bash disable=SC2154 # sourced by tests that source tests/e2e/lib.sh
# Models that a script makes, run by us on all CPU devices and by onnxruntime-node.
#   compare_with_runtime SCRIPT WHAT     SCRIPT make FOLDER SEED, SCRIPT compare FOLDER: see opsets.py
# `make soak` (SOAK_ROUNDS): ten seeds.

run_model() { # FOLDER: our devices' outputs
    local at=$1 device inputs=() file
    for file in "$at"/x*.pb; do
        [ ! -e "$file" ] || inputs+=(-i "$(basename "$file" .pb)=$file")
    done
    : >"$at/errors"
    for device in cpu reference; do
        ask_program "$at/errors" model run "$at/model.onnx" "${inputs[@]}" -o "$at/$device" --device $device --threads 1
    done
}

compare_with_runtime() {
    local script=$1 what=$2 seed=${SOAK_SEED:-1} round folder name names runtime work
    local python=/usr/bin/python3 # Debian's python, which has these packages
    (. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy) || exit 3
    agent=$(realpath "${BUILD:-build}/windlass-agent")
    echo "# SOAK_SEED=$seed SOAK_ROUNDS=${SOAK_ROUNDS:-}"
    runtime=$(tests/onnxruntime.sh) || { echo "skip $what on onnxruntime-node: npm could not get it"; exit 0; }
    warm_program "$agent" || exit 3
    work=$(mktemp -d)
    # shellcheck disable=SC2064 # the folder of now
    trap "rm -rf '$work'" EXIT
    for ((round = 0; round < (${SOAK_ROUNDS:-0} ? 10 : 1); round++)); do
        folder=$work/$round
        mkdir -p "$folder"
        check "models of seed $((seed + round)) are made" "$python" "$script" make "$folder" $((seed + round))
        mapfile -t names <"$folder/names"
        check "onnxruntime-node runs them" node tests/e2e/engine/runtime.cjs "$runtime" "$folder" "${names[@]}"
        for name in "${names[@]}"; do run_model "$folder/$name"; done
        check "${#names[@]} models of seed $((seed + round)): as it says, or refused by name" \
            "$python" "$script" compare "$folder"
    done
}
