#!/usr/bin/env bash
# Images a second of training ResNet-50 on one GPU: bfloat16 (channels last), TF32 and float32, against PyTorch's
# autocast with torch.compile where it is installed, alternating in one run on the same card. Goal: PyTorch's rate; the
# published record is 7,950 a second on an H200. It runs build/gpu, made by `make gpu-build` here, or copied to a bare
# machine.
#   BATCH=256 STEPS=30 ROUNDS=3
# Prints a table, writes build/bench/train_gpu.json: the median of the rounds. Exit code 3: no GPU found.
set -u
cd "$(dirname "$0")/../.." || exit 3
: "${BATCH:=256}" "${STEPS:=30}" "${ROUNDS:=3}"
[ -x build/gpu/train_bench ] || make --no-print-directory gpu-build || exit 3
. tests/cuda/libraries.bash
mkdir -p build/bench
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
has_peer=$(python3 -c 'import torch, torchvision; print(int(torch.cuda.is_available()))' 2>/dev/null)
for round in $(seq "$ROUNDS"); do
    for device in cuda:bfloat16 cuda:tf32 cuda; do
        build/gpu/train_bench $device "$BATCH" "$STEPS" >"$rows.one"
        code=$?
        [ $code -eq 0 ] || { rm -f "$rows.one"; exit $code; }
        sed '$d' "$rows.one"
        tail -n 1 "$rows.one" >>"$rows"
    done
    if [ "$has_peer" = 1 ] && python3 tests/cuda/peer_train.py "$BATCH" "$STEPS" >"$rows.one"; then
        sed '$d' "$rows.one"
        tail -n 1 "$rows.one" >>"$rows"
    fi
done
rm -f "$rows.one"
[ "$has_peer" = 1 ] || echo "train_gpu.sh: PyTorch with torchvision and a GPU is not here: no peer was measured" >&2
python3 - "$rows" "$BATCH" "$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)" <<'P' | tee build/bench/train_gpu.json
import json, statistics, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
medians = {}
for device in dict.fromkeys(row["device"] for row in rows):
    mine = [row for row in rows if row["device"] == device]
    medians[device] = {key: statistics.median(row[key] for row in mine)
                       for key in mine[0] if key not in ("device", "batch")}
print(json.dumps({"card": sys.argv[3], "batch": int(sys.argv[2]), "images_a_second": medians}, indent=1))
P
