#!/usr/bin/env bash
# postprocess.type: Boxes in whole jobs by `windlass run`: detectors of each form, over pictures of several sizes that are
# stretched, padded or cropped; every box is where a computation in Python finds it, in the picture's own pixels. What is
# not of one known form is refused by name.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/engine/onnx_job.sh
mkdir -p "$work/data/photos"
python3 tests/data/models/make_detectors.py "$work/model"
printf 'cat\ndog\nbird\n' >"$work/data/labels.txt"
python3 - "$work/data" <<'P'
import struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
for i in range(20):  # of one colour each
    width, height = 40 + 9 * i, 150 - 4 * i
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    png += chunk(b"IDAT", zlib.compress((b"\0" + bytes((12 * i, 9, 90)) * width) * height)) + chunk(b"IEND", b"")
    open(f"{sys.argv[1]}/photos/p{i:02}.png", "wb").write(png)
P
size=7
job() { # MODEL POSTPROCESS-FIELDS [PREPROCESS-FIELDS [MODE]]
    onnx_job '{files: {path: data/photos}}' "path: model/$1.onnx, postprocess: {type: Boxes$2}, preprocess: {${3:-}}" \
        "mode: ${4:-AppendRow}"
}
# Every picture's boxes are those of found(ARGUMENTS), moved back from the network's input.
boxes() { # FORM FIT [ARGUMENTS OF found]
    PYTHONPATH=tests/data/models python3 - "$work/data/out/rows.txt" "$@" <<'P'
import json, sys
from make_detectors import SIDE, found
rows = [json.loads(line) for line in open(sys.argv[1])]
form, fit, arguments = sys.argv[2], sys.argv[3], json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}
if [row["file"] for row in rows] != [f"p{i:02}.png" for i in range(20)]:
    sys.exit(f"# {len(rows)} rows, or in another order")
seen = 0
for i, row in enumerate(rows):
    width, height, red = 40 + 9 * i, 150 - 4 * i, 12 * i
    inner = [SIDE, SIDE]
    if fit != "Stretch":
        share = (min if fit == "Pad" else max)(SIDE / width, SIDE / height)
        inner = [round(width * share), round(height * share)]
    left, top = int((SIDE - inner[0]) / 2), int((SIDE - inner[1]) / 2)
    if fit == "Pad":  # the margins are black
        red *= inner[0] * inner[1] / SIDE / SIDE
    wanted = []
    for box, score, kind in found(form, red, **arguments):
        x = [min(max((v - left) * width / inner[0], 0), width) for v in box[::2]]
        y = [min(max((v - top) * height / inner[1], 0), height) for v in box[1::2]]
        if x[1] > x[0] and y[1] > y[0]:
            wanted.append(([x[0], y[0], x[1], y[1]], score, kind))
    near = 1e-2 if fit == "Stretch" else 0.2  # a padded picture's mean red is not exact
    if len(wanted) != len(row["boxes"]):
        sys.exit(f"# {row['file']}: {len(row['boxes'])} boxes, {len(wanted)} are wanted")
    for a, b in zip(row["boxes"], wanted):
        seen += 1
        if any(abs(p - q) > near for p, q in zip(a["box"], b[0])) or abs(a["score"] - b[1]) > 1e-5 or a["class"] != b[2]:
            sys.exit(f"# {row['file']}: {a}, not {b}")
sys.exit("# no boxes" if seen < 60 else 0)
P
}

for form in yolov5 yolov8 yolov10; do
    [ $form = yolov10 ] && named=', form: YOLOv10' || named=
    job $form "$named"
    check "$form: boxes in the pictures' own pixels" boxes $form Stretch
done
job yolox ', form: YOLOX'
check "yolox: offsets to a grid" boxes yolox Stretch
job yunet ''
check "yunet: three levels, known by their names" boxes yunet Stretch
job tf ''
check "tf: pictures of bytes of any size, boxes among all that TensorFlow gives out" boxes tf Stretch
job torch ''
check "torch: one picture at a time, boxes, scores and whole classes without an axis for it" boxes torch Stretch
job yolov10 ', columns: [Left, Top, Right, Bottom, Score, Class]'
check "columns that the manifest names" boxes yolov10 Stretch
job yolov8 ', columns: [CenterX, CenterY, Width, Height, Classes], classes: 3'
check "columns along the other axis, scores of all classes" boxes yolov8 Stretch
job yolov5 ', form: YOLOv5, labels: data/labels.txt' 'fit: Pad, width: 64, height: 64'
check "padded pictures" boxes yolov5 Pad
check "with the classes' names" python3 -c '
import json, sys
names = ["cat", "dog", "bird"]
sys.exit(any(b["label"] != names[b["class"]] for line in open(sys.argv[1]) for b in json.loads(line)["boxes"]))' "$work/data/out/rows.txt"
job yolov5 ', scoreThreshold: 0.6, iouThreshold: 1' 'fit: Crop, width: 64, height: 64'
check "cropped pictures, with thresholds" boxes yolov5 Crop '{"threshold": 0.6, "limit": 1}'
job ssd ', form: SSD'
check "ssd: boxes beside scores, and a background" boxes ssd Stretch
job detr ', form: DETR'
check "detr: probabilities of raw scores" boxes detr Stretch
job anchored ', anchors: [{stride: 16, widths: [16, 16], heights: [16, 24]}], variances: [0.1, 0.2]'
check "anchored: boxes of listed anchors" boxes anchored Stretch
job points ', form: YOLOv8, classes: 3'
check "columns that are not classes" boxes points Stretch
job yolov5 ', draw: true' '' PerFile
check "drawn on the picture" python3 - "$work/data" <<'P'
import struct, sys, zlib
def decode(path):  # rows without filters, or with those of libpng
    data, at, body = open(path, "rb").read(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height = struct.unpack(">II", data[at + 8:at + 16])
        body += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    raw, rows, before = zlib.decompress(body), [], bytes(3 * width)
    for y in range(height):
        kind, line = raw[y * (3 * width + 1)], bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        for x in range(3 * width):
            a, b, c = line[x - 3] if x > 2 else 0, before[x], before[x - 3] if x > 2 else 0
            p = min((a, b, c), key=lambda v: (abs(a + b - c - v)))
            line[x] = (line[x] + (0, a, b, (a + b) // 2, p)[kind]) & 255
        rows.append(bytes(line))
        before = rows[-1]
    return rows
own, drawn = decode(f"{sys.argv[1]}/photos/p03.png"), decode(f"{sys.argv[1]}/out/p03.png")
changed = sum(a[x:x + 3] != b[x:x + 3] for a, b in zip(own, drawn) for x in range(0, len(a), 3))
sys.exit(len(own) != len(drawn) or len(own[0]) != len(drawn[0]) or not 200 < changed < len(own) * len(own[0]) // 3)
P
check "and report.html shows the pictures before and after" [ "$(grep -o "data:image/jpeg;" "$work/data/out/report.html" | wc -l)" = 8 ]

##### what does not fit ##########################################################################
wanted=2
job yolov10 ''
check "YOLOv10, or YOLOv5 of one class" says "several forms, name one: YOLOv5 ([n, k, 5 + classes]), YOLOv10 ([n, k, 6])"
job yolox ''
check "YOLOX, or YOLOv5 with boxes that are decoded" says "several forms, name one: YOLOv5 ([n, k, 5 + classes]), YOLOX ("
job ssd ''
check "SSD, or a transformer" says "several forms, name one: SSD ([n, k, 4] and [n, k, classes]), DETR"
job yolov8 ', form: SSD'
check "another form than the network's" says "are not of the form SSD; they fit: YOLOv8 ([n, 4 + classes, k])"
job yolov8 ', columns: [Left, Top, Right, Bottom, Score]'
check "columns that it does not have" says "columns: none of the network's outputs (turned 2x7x30) has 5 columns"
job both ''
check "two outputs that fit" says "spec.scorer.onnx.postprocess.form: the network's outputs (y 2x30x8, z 2x30x8) are not of the form of any detector that is known"
wanted=1
job anchored ', anchors: [{stride: 8, widths: [16, 16], heights: [16, 24]}], variances: [0.1, 0.2]'
check "anchors of another number" says "the anchors are 128 for an input of 64x64, but not one output of boxes and one of scores has as many"
job points ''
check "columns that cannot be scores" says "is not one of 0 to 1: another postprocess.form, postprocess.scores: Sigmoid or Softmax, or postprocess.classes is expected"
exit $((failures > 0))
