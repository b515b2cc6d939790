#!/usr/bin/env bash
# output.format with pictures: COCO, one file that a reader of annotation files takes, with ids of pictures that are named by
# numbers; and mode PerFile, where each item's row is a file of its own in each format.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/engine/onnx_job.sh
mkdir -p "$work/data/photos" "$work/data/numbers"
python3 tests/data/models/make_detectors.py "$work/model"
python3 tests/data/models/make.py "$work/model"
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
    open(f"{sys.argv[1]}/numbers/{1000 + 37 * i:012}.png", "wb").write(png)
P
size=7
job() { # FOLDER MODEL POSTPROCESS OUTPUT
    onnx_job "{files: {path: data/$1}}" "path: model/$2.onnx, postprocess: {$3}" "$4"
}
detector='type: Boxes, labels: data/labels.txt'
# The file is as pycocotools indexes it (COCO, createIndex, loadRes), and has the boxes of the lines.
coco() { # FILE LINES FIRST-ID STEP
    python3 - "$@" <<'P'
import json, sys
data, lines = json.load(open(sys.argv[1])), [json.loads(line) for line in open(sys.argv[2])]
images = {image["id"]: image for image in data["images"]}
names = {category["id"]: category["name"] for category in data["categories"]}
of = {}
for annotation in data["annotations"]:
    of.setdefault(annotation["image_id"], []).append(annotation)
ids = [int(sys.argv[3]) + i * int(sys.argv[4]) for i in range(20)]
assert sorted(images) == ids and set(of) <= set(images), sorted(images)
assert len({a["id"] for a in data["annotations"]}) == len(data["annotations"]) == sum(len(line["boxes"]) for line in lines) > 60
for i, (key, line) in enumerate(zip(ids, lines)):
    image = images[key]
    assert (image["file_name"], image["width"], image["height"]) == (line["file"], 40 + 9 * i, 150 - 4 * i), image
    for annotation, box in zip(of.get(key, []), line["boxes"], strict=True):
        left, top, right, bottom = box["box"]
        assert names[annotation["category_id"]] == box["label"] and annotation["iscrowd"] == 0
        for a, b in zip(annotation["bbox"] + [annotation["area"], annotation["score"]],
                        [left, top, right - left, bottom - top, (right - left) * (bottom - top), box["score"]]):
            assert abs(a - b) < 1e-4 * max(1, abs(b)), (annotation, box)
P
}
job photos yolov8 "$detector" 'mode: AppendRow'
cp "$work/data/out/rows.txt" "$work/lines"
job photos yolov8 "$detector" 'mode: AppendRow, format: COCO'
check "COCO: pictures, boxes, classes" coco "$work/data/out/rows.json" "$work/lines" 1 1
job numbers yolov8 "$detector" 'mode: AppendRow'
cp "$work/data/out/rows.txt" "$work/lines"
job numbers yolov8 "$detector" 'mode: AppendRow, format: COCO'
check "pictures that are named by numbers have them as ids" coco "$work/data/out/rows.json" "$work/lines" 1000 37

##### PerFile ####################################################################################
each() { # EXPRESSION of i, path
    python3 - "$work/data/out" "$1" <<'P'
import csv, json, os, struct, sys
folder = sys.argv[1]
def array(path):
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    return eval(data[10:10 + size])["shape"], struct.unpack(f"<{(len(data) - 10 - size) // 4}f", data[10 + size:])
for i in range(20):
    path = f"{folder}/p{i:02}.png"
    if not eval(sys.argv[2]):
        sys.exit(f"# {path}")
P
}
job photos classes 'type: Classes' 'mode: PerFile, format: CSV'
check "PerFile: a CSV file for each picture" each '(lambda rows: len(rows) == 1 and rows[0]["file"] == f"p{i:02}.png" and 0 < float(rows[0]["score"]))(list(csv.DictReader(open(path + ".csv", newline=""))))'
check "which are in result.json's outputs" [ "$(find "$work/data/out" -name 'p*.png.csv' | wc -l) $(find "$work/data/out" -name 'p*.png.json' | wc -l)" = "20 0" ]
job photos nhwc 'type: Values' 'mode: PerFile, format: Npy'
check "arrays" each '(lambda shape, values: shape == (1, 3) and abs(values[0] - 12 * i) < 1e-3)(*array(path + ".npy"))'
job photos nhwc 'type: Values' 'mode: PerFile, format: JSONLines'
check "lines" each 'abs(json.loads(open(path + ".jsonl").read())["values"][0] - 12 * i) < 1e-3'
job photos nhwc 'type: Values' 'mode: PerFile, format: Parquet'
check "Parquet" each 'open(path + ".parquet", "rb").read(4) == b"PAR1"'
job photos yolov8 "$detector" 'mode: PerFile, format: COCO'
check "COCO" each '[image["file_name"] for image in json.load(open(path + ".json"))["images"]] == [f"p{i:02}.png"]'
exit $((failures > 0))
