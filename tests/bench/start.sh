#!/usr/bin/env bash
# Opening a model and its first answer, in our engine and in onnxruntime-node 1.30.0, by turns, each time in a new
# process: times and peak memory. Ours is the whole process, with its output in a file; theirs begins behind
# node's own start. THREADS=1 and ROUNDS=9 change the numbers of threads and of rounds; ONLY="bert_base resnet18" selects networks.
cd "$(dirname "$0")/../.." || exit 3
set -e
(. tests/cluster/lib.sh && need_packages python3-torch python3-torchvision python3-onnx python3-numpy time)
models=build/bench/zoo
mkdir -p "$models"
for name in ${ONLY:-vgg11 vit_b_16 bert_base resnet50_8 efficientnet_v2_s}; do
    [ -e "$models/$name.onnx" ] || /usr/bin/python3 tests/bench/zoo/zoo.py "$models" "$name"
done
node tests/bench/zoo/start.cjs build/windlass-agent "$models" "$(tests/onnxruntime.sh)" \
    "${THREADS:-1}" "${ROUNDS:-3}" ${ONLY:-vgg11 vit_b_16 bert_base resnet50_8 efficientnet_v2_s}
