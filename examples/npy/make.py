#!/usr/bin/env python3
"""Makes what is in data/, with Python's standard library alone: an array of small grey pictures of digits for each of
two days, and the network that reads them. Run it again after a change of it; the same bytes come out each time.

With numpy an array of yours is one line: numpy.save("data/digits/tuesday.npy", pictures), of any shape [n, ...].
"""
import os
import random
import struct

NAMES = "zero one two three four five six seven eight nine".split()
# 5 rows of 3 points each; a bit is a point.
GLYPHS = [0b111101101101111, 0b010110010010111, 0b111001111100111, 0b111001111001111, 0b101101111001001,
          0b111100111001111, 0b111100111101111, 0b111001010010010, 0b111101111101111, 0b111101111001111]


def points(digit):
    return [float(GLYPHS[digit] >> (14 - i) & 1) for i in range(15)]


def array(path, digits):
    """float32 [n, 5, 3]: 0 is white, 1 black, and every point is off by up to 0.3."""
    values = [point + random.uniform(-0.3, 0.3) for digit in digits for point in points(digit)]
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(digits)}, 5, 3), }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values))


# ---- the network, as ONNX's protobuf -------------------------------------------------------------


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(kind, inputs, output, axis=None):
    attribute = b"" if axis is None else field(5, field(1, "axis") + field(3, axis) + field(20, 2))
    return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, output) + field(4, kind) + attribute)


def tensor(name, sides, values):
    data = struct.pack(f"<{len(values)}f", *values)
    return field(5, b"".join(field(1, side) for side in sides) + field(2, 1) + field(8, name) + field(9, data))


def value(number, name, sides):
    shape = b"".join(field(1, field(2 if isinstance(side, str) else 1, side)) for side in sides)
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


def network(path):
    """The digit whose points are nearest: of |x - d|^2 what differs from digit to digit is |d|^2 - 2 x d."""
    weights = [2 * points(digit)[i] for i in range(15) for digit in range(10)]
    biases = [-sum(points(digit)) for digit in range(10)]
    graph = (node("Flatten", ["pictures"], "flat", axis=1) + node("Gemm", ["flat", "weights", "biases"], "nearness")
             + node("Softmax", ["nearness"], "scores", axis=1) + field(2, "digits")
             + tensor("weights", [15, 10], weights) + tensor("biases", [10], biases)
             + value(11, "pictures", ["n", 5, 3]) + value(12, "scores", ["n", 10]))
    with open(path, "wb") as file:
        file.write(field(1, 7) + field(2, "windlass-example") + field(7, graph) + field(8, field(2, 13)))


random.seed(7)
data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
for folder in "digits", "model":
    os.makedirs(os.path.join(data, folder), exist_ok=True)
array(os.path.join(data, "digits", "monday.npy"), [2, 0, 2, 6, 1, 1, 2, 1])
array(os.path.join(data, "digits", "tuesday.npy"), list(range(10)))
network(os.path.join(data, "model", "digits.onnx"))
with open(os.path.join(data, "model", "names.txt"), "w", encoding="ascii") as file:
    file.write("".join(f"{name}\n" for name in NAMES))
