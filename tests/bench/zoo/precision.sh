#!/usr/bin/env bash
# Networks of the zoo in FP32, in BF16 and quantized to 8 bits (quantize.py), by turns on one thread: medians in milliseconds,
# and FP32 divided by the others; then the quantized ones beside onnxruntime-node 1.30.0. ONLY="bert_base resnet50_8" names
# networks; ROUNDS=9 and THREADS=2 change the numbers of rounds and of threads.
cd "$(dirname "$0")/../../.." || exit 3
set -e
(. tests/cluster/lib.sh && need_packages python3-torch python3-torchvision python3-onnx python3-numpy)
models=build/bench/zoo quantized=build/bench/quantized
only=(${ONLY:-bert_base resnet50_8})
mkdir -p $models $quantized
for name in "${only[@]}"; do
    [ -e $models/$name.onnx ] || /usr/bin/python3 tests/bench/zoo/zoo.py $models "$name"
done
/usr/bin/python3 tests/bench/zoo/quantize.py $models $quantized "${only[@]}"
ms() { build/windlass-agent model bench "$1" --threads "${THREADS:-1}" --runs 5 --precision "$2" | awk '/^median/ { print $2 }'; }
median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
for name in "${only[@]}"; do
    work=$(mktemp -d)
    for _ in $(seq "${ROUNDS:-5}"); do
        ms $models/$name.onnx FP32 >>$work/32
        ms $models/$name.onnx BF16 >>$work/16
        ms $quantized/$name.onnx FP32 >>$work/8
    done
    for bits in 32 16 8; do median <$work/$bits; done | paste -sd' ' | awk -v name="$name" \
        '{ printf "%s: FP32 %s, BF16 %s (%.2f), 8 bits %s (%.2f)\n", name, $1, $2, $1 / $2, $3, $1 / $3 }'
    rm -r "$work"
done
node tests/bench/zoo/zoo.cjs build/windlass-agent $quantized "$(tests/onnxruntime.sh)" --threads "${THREADS:-1}" --rounds "${ROUNDS:-5}"
