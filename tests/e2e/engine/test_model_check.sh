#!/usr/bin/env bash
# `windlass-agent model check` finds what `model bench` finds: Dropout in training mode runs with ratio 0,
# where nothing is dropped (torchvision exports it so), and is refused by both otherwise.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
agent=$(realpath "${AGENT:-${BUILD:-build}/windlass-agent}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Networks written field by field: y = Dropout(x [n, 3], ratio, training).
python3 - "$work" <<'P'
import struct, sys
def field(n, data): return bytes([n << 3 | 2, len(data)]) + data
def number(n, value): return bytes([n << 3, value])
def constant(name, kind, raw): return field(5, number(2, kind) + field(8, name) + field(9, raw))
def value(name, *dims):
    shape = b"".join(field(1, number(1, d) if d else field(2, b"n")) for d in dims)
    return field(1, name) + field(2, field(1, number(1, 1) + field(2, shape)))
def model(name, items, ratio, training):
    node = field(1, b"".join(field(1, i) for i in (b"x", b"ratio", b"training")) + field(2, b"y") + field(4, b"Dropout"))
    graph = node + field(2, b"g") + constant(b"ratio", 1, struct.pack("<f", ratio)) + \
        constant(b"training", 9, bytes([training])) + field(11, value(b"x", items, 3)) + field(12, value(b"y", items, 3))
    data = number(1, 7) + b"\x3a" + bytes([len(graph) & 127 | 128, len(graph) >> 7]) + graph
    open(f"{sys.argv[1]}/{name}.onnx", "wb").write(data + field(8, number(2, 13)))
model("zero", 1, 0.0, 1)
model("free", 0, 0.0, 1)
model("half", 1, 0.5, 1)
model("half-free", 0, 0.5, 1)
model("asleep", 1, 0.5, 0)
P
code() { "$agent" model "$@" >"$work/log" 2>&1; echo $?; }
both() { # NAME CODE
    local checked benched
    checked=$(code check "$work/$1.onnx")
    benched=$(code bench "$work/$1.onnx" --runs 1 --shape x=1x3)
    [ "$checked $benched" = "$2 $2" ] || { echo "# check $checked, bench $benched"; false; }
}
for name in zero free asleep; do
    check "$name: check and bench take it" both "$name" 0
done
for name in half half-free; do
    check "$name: check and bench refuse it" both "$name" "$(code bench "$work/half.onnx" --runs 1)"
    check "$name: not as supported" sh -c "! '$agent' model check '$work/$name.onnx' | grep -qx supported"
done
code check "$work/half.onnx" >/dev/null
check "by what is missing" grep -q 'the training mode is not supported' "$work/log"
export WINDLASS_CPU_BF16=plain # for any processor
check "bench --precision BF16" [ "$(code bench "$work/zero.onnx" --runs 1 --precision BF16)" = 0 ]
check "FP16 is not for a processor" [ "$(code bench "$work/zero.onnx" --precision FP16)" = 2 ]
check "in one line" grep -qx 'windlass-agent model: .*device "cpu:float16": a processor computes in float32 or bfloat16' "$work/log"
check "another word" [ "$(code test "$work" --precision BF17)" = 2 ]
check "what is expected" grep -qxF 'windlass-agent model: --precision BF17: expected FP32, BF16, TF32 or FP16' "$work/log"
unset WINDLASS_CPU_BF16
check "an older processor has no BF16" [ "$(WINDLASS_CPU_ISA=avx2 code bench "$work/zero.onnx" --precision BF16)" != 0 ]
check "in one line, with what it has" grep -qx 'windlass-agent model: .*bfloat16 needs a processor with .*, and this one has avx2' "$work/log"
exit $((failures > 0))
