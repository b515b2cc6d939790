#!/usr/bin/env python3
"""Makes the small networks that the end-to-end tests run (Python's standard library only).

    make.py FOLDER      writes FOLDER/invert.onnx  255 - x, any size
                               FOLDER/fixed.onnx   255 - x, only 1x3x32x48
                               FOLDER/classes.onnx mean of each colour -> scores [N, 3]
                               FOLDER/nhwc.onnx    its [N, H, W, 3] -> means of each colour [N, 3]
                               FOLDER/scaled.onnx  the means, times an input k of 1 value -> [N, 3]
                               FOLDER/paired.onnx  inputs a and b, each [3, H, W] -> means of the sum [3]
                               FOLDER/joined.onnx  inputs a [N, 1] and b [N, 2] -> [N, 3]
                               FOLDER/missing.onnx two operators nobody has
                               FOLDER/slow.onnx    255 - x after a heavy 9x9 convolution chain
"""
import struct
import sys


def varint(number):
    out = b""
    while True:
        out += bytes([(number & 127) | (128 if number > 127 else 0)])
        number >>= 7
        if not number:
            return out


def field(number, value):
    """One protobuf field: an int as varint, bytes or str length-delimited."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, numbers):
    return (b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name)
            + field(9, struct.pack(f"<{len(numbers)}f", *numbers)))


def whole_numbers(name, dims, numbers):
    return (b"".join(field(1, d) for d in dims) + field(2, 7) + field(8, name)
            + field(9, struct.pack(f"<{len(numbers)}q", *numbers)))


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)


def node(op, inputs, outputs, **attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, outputs[0])
            + field(4, op) + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))


def value(name, dims, kind=1):
    """Of an element type by its ONNX number: 1 float32, 7 int64."""
    shape = b"".join(field(1, field(2, d) if isinstance(d, str) else field(1, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def model(nodes, inputs, outputs, initializers=(), opset=13):
    graph = (b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, i) for i in initializers)
             + b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))
    return field(1, 7) + field(2, "windlass-tests") + field(7, graph) + field(8, field(2, opset))


def main(folder):
    anything = ["N", 3, "H", "W"]
    constants = [tensor("minus", [1], [-1.0]), tensor("white", [1], [255.0])]
    invert = [node("Mul", ["x", "minus"], ["m"]), node("Add", ["m", "white"], ["y"])]
    weights = tensor("w", [3, 3, 9, 9], [1 / 243.0] * 729)
    slow, last = [], "x"
    for i in range(24):
        slow.append(node("Conv", [last, "w"], [f"c{i}"], pads=[4, 4, 4, 4], kernel_shape=[9, 9]))
        last = f"c{i}"
    slow += [node("Mul", [last, "minus"], ["m"]), node("Add", ["m", "white"], ["y"])]
    models = {
        "invert": model(invert, [value("x", anything)], [value("y", anything)], constants),
        "fixed": model(invert, [value("x", [1, 3, 32, 48])], [value("y", [1, 3, 32, 48])], constants),
        "classes": model([node("GlobalAveragePool", ["x"], ["p"]), node("Flatten", ["p"], ["y"], axis=1)],
                         [value("x", anything)], [value("y", ["N", 3])]),
        "nhwc": model([node("ReduceMean", ["x"], ["y"], axes=[1, 2], keepdims=0)],
                      [value("x", ["N", "H", "W", 3])], [value("y", ["N", 3])]),
        "scaled": model([node("GlobalAveragePool", ["x"], ["p"]), node("Flatten", ["p"], ["f"], axis=1),
                         node("Mul", ["f", "k"], ["y"])],
                        [value("x", anything), value("k", [1])], [value("y", ["N", 3])]),
        "paired": model([node("Add", ["a", "b"], ["sum"]), node("ReduceMean", ["sum"], ["y"], axes=[1, 2], keepdims=0)],
                        [value("a", anything[1:]), value("b", anything[1:])], [value("y", [3])]),
        "joined": model([node("Concat", ["a", "b"], ["y"], axis=1)],
                        [value("a", ["N", 1]), value("b", ["N", 2])], [value("y", ["N", 3])]),
        "missing": model([node("Frobnicate", ["x"], ["a"]), node("Quux", ["a"], ["y"])],
                         [value("x", anything)], [value("y", anything)]),
        "slow": model(slow, [value("x", anything)], [value("y", anything)], constants + [weights]),
    }
    for name, data in models.items():
        with open(f"{folder}/{name}.onnx", "wb") as file:
            file.write(data)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
