#!/usr/bin/env bash
# Changes of opsets 18 to 21, quantized and recurrent operators (opsets.py): one node each, compared with ONNX Runtime
# if npm can install it, or refused by name. `make soak` (SOAK_ROUNDS): ten seeds.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
(. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy) || exit 3
agent=$(realpath "${BUILD:-build}/windlass-agent")
python=/usr/bin/python3 # Debian's python, which has these packages
seed=${SOAK_SEED:-1}
echo "# SOAK_SEED=$seed SOAK_ROUNDS=${SOAK_ROUNDS:-}"
runtime=$(tests/onnxruntime.sh) || { echo "skip opsets 18 to 21 on onnxruntime-node: npm could not get it"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # FOLDER NAME: our devices' outputs
    local at=$1/$2 device inputs=() file
    for file in "$at"/x*.pb; do
        [ ! -e "$file" ] || inputs+=(-i "$(basename "$file" .pb)=$file")
    done
    : >"$at/errors"
    for device in cpu reference; do
        "$agent" model run "$at/model.onnx" "${inputs[@]}" -o "$at/$device" --device $device --threads 1 >/dev/null 2>>"$at/errors"
    done
}
for ((round = 0; round < (${SOAK_ROUNDS:-0} ? 10 : 1); round++)); do
    folder=$work/$round
    mkdir -p "$folder"
    check "models of seed $((seed + round)) are made" "$python" tests/e2e/engine/opsets.py make "$folder" $((seed + round))
    mapfile -t names <"$folder/names"
    check "onnxruntime-node runs them" node tests/e2e/engine/runtime.cjs "$runtime" "$folder" "${names[@]}"
    for name in "${names[@]}"; do run "$folder" "$name"; done
    check "${#names[@]} models of seed $((seed + round)): as it says, or refused by name" \
        "$python" tests/e2e/engine/opsets.py compare "$folder"
done
exit $((failures > 0))
