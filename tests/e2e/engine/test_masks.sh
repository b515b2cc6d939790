#!/usr/bin/env bash
# postprocess.type: Mask and Text in whole jobs by `windlass run`: the class of every pixel of pictures that were stretched,
# padded or cropped, as a grey PNG that a reader of its own decodes; texts of scores of characters, as Python reads them.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/engine/onnx_job.sh
mkdir -p "$work/data/photos" "$work/data/arrays"
PYTHONPATH=tests/data/models python3 - "$work" <<'P'
import random, struct, sys, zlib
from make import model, node, tensor, value
def save(name, nodes, outputs, constants=(), inputs=None):
    inputs = inputs or [value("x", ["N", 3, 64, 64])]
    open(f"{sys.argv[1]}/model/{name}.onnx", "wb").write(model(nodes, inputs, outputs, constants))
half = node("AveragePool", ["x"], ["classes"], kernel_shape=[2, 2], strides=[2, 2])
save("classes", [half], [value("classes", ["N", 3, 32, 32])])
save("last", [half, node("Transpose", ["classes"], ["y"], perm=[0, 2, 3, 1])], [value("y", ["N", 32, 32, 3])])
save("red", [half, node("Conv", ["classes", "w"], ["y"], kernel_shape=[1, 1])], [value("y", ["N", 1, 32, 32])],
     [tensor("w", [1, 3, 1, 1], [1 / 255, 0, 0])])
save("lines", [node("Identity", ["x"], ["y"])], [value("y", ["N", 9, 6])], inputs=[value("x", ["N", 9, 6])])
save("turned", [node("Transpose", ["x"], ["y"], perm=[1, 0, 2])], [value("y", [9, "N", 6])], inputs=[value("x", ["N", 9, 6])])
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
corners = (200, 10, 30), (0, 180, 90), (20, 40, 210), (150, 149, 140)  # quarters, in which class 0, 1, 2, 0 is best
for i in range(8):
    width, height = 64 + 22 * i, 150 - 12 * i
    upper, lower = (b"\0" + bytes(corners[k]) * (width // 2) + bytes(corners[k + 1]) * (width - width // 2) for k in (0, 2))
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    png += chunk(b"IDAT", zlib.compress(upper * (height // 2) + lower * (height - height // 2))) + chunk(b"IEND", b"")
    open(f"{sys.argv[1]}/data/photos/p{i}.png", "wb").write(png)
random.seed(5)
count, values = 70, []
for _ in range(count * 9):
    best = random.choice([0, 0, 1, 2, 3, 4, 5])
    values += [0.9 if c == best else random.uniform(0, 0.5) for c in range(6)]
head = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 9, 6), }" % count).encode()
head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
open(f"{sys.argv[1]}/data/arrays/a.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}f", *values))
open(f"{sys.argv[1]}/data/characters.txt", "w").write("a\nb\n\u00e9\n\u6587\n")  # and the space
with open(f"{sys.argv[1]}/texts", "w") as file:
    for i in range(count):
        text, before = "", 0
        for t in range(9):
            row = values[(i * 9 + t) * 6:][:6]
            best = row.index(max(row))
            text += "" if best in (0, before) else "ab\u00e9\u6587 "[best - 1]
            before = best
        file.write(text + "\n")
P
size=3
job() { # INPUT MODEL POSTPROCESS-FIELDS [PREPROCESS-FIELDS]
    onnx_job "$1" "path: model/$2.onnx, postprocess: {$3}, preprocess: {${4:-}}"
}
# Each mask has the size of its picture, one channel, and in each quarter the value of `values`, but for the pixels near the
# edges between them; what FIT Crop has cut off is 0.
masks() { # VALUES FIT
    python3 - "$work/data" "$@" <<'P'
import struct, sys, zlib
def grey(path):
    data, at, body = open(path, "rb").read(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
            if (depth, colour) != (8, 0):
                sys.exit(f"# {path} has {depth} bits, colour {colour}")
        body += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    raw, rows, before = zlib.decompress(body), [], bytes(width)
    for y in range(height):
        kind, line = raw[y * (width + 1)], bytearray(raw[y * (width + 1) + 1:(y + 1) * (width + 1)])
        for x in range(width):
            a, b, c = line[x - 1] if x else 0, before[x], before[x - 1] if x else 0
            p = min((a, b, c), key=lambda v: abs(a + b - c - v))
            line[x] = (line[x] + (0, a, b, (a + b) // 2, p)[kind]) & 255
        rows.append(bytes(line))
        before = rows[-1]
    return rows
values = eval(sys.argv[2])
for i in range(8):
    width, height = 64 + 22 * i, 150 - 12 * i
    rows = grey(f"{sys.argv[1]}/out/p{i}.png.png")
    if len(rows) != height or len(rows[0]) != width:
        sys.exit(f"# p{i}: {len(rows[0])}x{len(rows)}, not {width}x{height}")
    share = max(64 / width, 64 / height)
    out = (max(width - 64 / share, 0) / 2, max(height - 64 / share, 0) / 2) if sys.argv[3] == "Crop" else (0, 0)
    near = 3 * max(width, height) / 64 + 1
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            edges = [abs(x - width / 2), abs(y - height / 2)] + [abs(x - e) for e in (out[0], width - out[0]) if out[0]] + \
                [abs(y - e) for e in (out[1], height - out[1]) if out[1]]
            cut = not (out[0] <= x < width - out[0] and out[1] <= y < height - out[1])
            wanted = 0 if cut else values[2 * (y > height / 2) + (x > width / 2)]
            if min(edges) > near and value != wanted:
                sys.exit(f"# p{i} at {x}, {y}: {value}, not {wanted}")
P
}
photos='{files: {path: data/photos}}'
job "$photos" classes 'type: Mask'
check "the best class of each pixel" masks "[0, 1, 2, 0]" Stretch
job "$photos" last 'type: Mask' 'fit: Pad, width: 64, height: 64'
check "of a padded picture, with the channels behind" masks "[0, 1, 2, 0]" Pad
job "$photos" classes 'type: Mask' 'fit: Crop, width: 64, height: 64'
check "of a cropped one" masks "[0, 1, 2, 0]" Crop
job "$photos" red 'type: Mask, threshold: 0.5'
check "where one channel reaches a threshold" masks "[255, 0, 0, 255]" Stretch
job "$photos" classes 'type: Mask, draw: true'
check "the picture, coloured" [ "$code $(ls "$work/data/out"/p?.png | wc -l)" = "0 8" ]
check "and changed" eval '! cmp -s "$work/data/photos/p1.png" "$work/data/out/p1.png"'
size=30
arrays='{npy: {path: data/arrays}}'
same() { diff <(jq -r .text "$work/data/out/rows.txt") "$work/texts" >/dev/null; }
job "$arrays" lines 'type: Text, labels: data/characters.txt'
check "texts of [n, t, c]" same
job "$arrays" turned 'type: Text, labels: data/characters.txt'
check "and of [t, n, c]" same
scored() { jq -es 'all(.score == 0.9 or (.text == "" and .score == 0))' "$work/data/out/rows.txt" >/dev/null; }
check "with scores" scored

##### what does not fit ##########################################################################
wanted=2
printf 'a\nb\n' >"$work/data/characters.txt"
job "$arrays" lines 'type: Text, labels: data/characters.txt'
check "another number of characters" says 'postprocess type Text needs float32 [n, t, c] or [t, n, c], with c one or two more than the labels'
job "$photos" classes 'type: Mask, labels: data/characters.txt'
check "labels of a mask" says 'labels belong to type: Classes, Boxes or Text'
exit $((failures > 0))
