#!/usr/bin/env python3
"""Makes data/test/ of the test pictures, with Python's standard library alone: pictures.npy, float32 [10000, 1, 28, 28],
as the network wants them (0..1, less the mean, divided by the deviation: `normalize` of disttrain.yaml), and labels.txt,
what they are."""
import array
import gzip
import os
import sys

MEAN, DEVIATION = 0.286, 0.353


def content(name, head):
    with gzip.open(f"data/{name}-ubyte.gz") as file:
        return file.read()[head:]


os.chdir(os.path.dirname(os.path.abspath(__file__)))
os.makedirs("data/test", exist_ok=True)
pixels = content("t10k-images-idx3", 16)
values = [(byte / 255 - MEAN) / DEVIATION for byte in range(256)]
numbers = array.array("f", map(values.__getitem__, pixels))
if sys.byteorder == "big":
    numbers.byteswap()
head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(pixels) // 784}, 1, 28, 28), }}".encode()
head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
with open("data/test/pictures.npy.tmp", "wb") as file:
    file.write(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + numbers.tobytes())
os.rename("data/test/pictures.npy.tmp", "data/test/pictures.npy")

with open("data/names.txt") as file:
    names = file.read().splitlines()
with open("data/test/labels.txt.tmp", "w") as file:
    file.writelines(names[label] + "\n" for label in content("t10k-labels-idx1", 8))
os.rename("data/test/labels.txt.tmp", "data/test/labels.txt")
