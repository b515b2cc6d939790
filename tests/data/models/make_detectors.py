#!/usr/bin/env python3
"""Makes small detectors, whose boxes are drawn at random and move with a picture's mean red, and says what they find
(Python's standard library only).

    make_detectors.py FOLDER   writes FOLDER/FORM.onnx for the forms yolov5, yolov8, yolov10, ssd, detr, anchored,
                           points, both
"""
import math
import random
import sys

from make import field, model, node, tensor, value

SIDE, COUNT, CLASSES = 64, 30, 3


def candidates(form):
    """COUNT times [left, top, right, bottom] in pixels of the input, objectness, scores of classes."""
    random.seed(form)
    rows = []
    for k in range(COUNT):
        if k % 3 == 2:  # near the one before, so that one of the two must go
            box = [v + random.uniform(-2, 2) for v in rows[-1][0]]
        else:
            left, top = random.uniform(-5, 40), random.uniform(-5, 40)
            box = [left, top, left + random.uniform(8, 30), top + random.uniform(8, 30)]
        rows.append((box, random.uniform(0.3, 1), [random.random() for _ in range(CLASSES)]))
    return rows


def centre(box):
    return [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, box[2] - box[0], box[3] - box[1]]


def anchor(k):
    """Of a grid of 4x4 places, two at each: [x, y, width, height]."""
    return [16 * (k // 2 % 4) + 8, 16 * (k // 8) + 8, 16, 16 if k % 2 == 0 else 24]


def offsets(k, box):
    """As RetinaNet has them, with SSD's variances."""
    (x, y, width, height), own = anchor(k), centre(box)
    return [(own[0] - x) / width / 0.1, (own[1] - y) / height / 0.1, math.log(own[2] / width) / 0.2, math.log(own[3] / height) / 0.2]


def shifted(name, rows, moves):
    """A network's output `name`: [n, rows, columns], where the columns of which `moves` is not 0 move with red."""
    columns, flat = len(rows[0]), [v for row in rows for v in row]
    factors = tensor(f"{name}_moves", [1, 1, columns], moves)
    return ([node("Mul", ["shift", f"{name}_moves"], [f"{name}_by"]), node("Add", [f"{name}_by", f"{name}_at"], [name])],
            [factors, tensor(f"{name}_at", [1, len(rows), columns], flat)], value(name, ["N", len(rows), columns]))


def network(parts, transposed=None):
    shape = field(1, 3) + field(2, 7) + field(8, "shape") + b"".join(field(7, d) for d in (-1, 1, 1))
    nodes = [node("GlobalAveragePool", ["x"], ["means"]), node("Conv", ["means", "red"], ["mean"], kernel_shape=[1, 1]),
             node("Reshape", ["mean", "shape"], ["shift"])]
    constants, outputs = [shape, tensor("red", [1, 3, 1, 1], [1 / 16, 0, 0])], []
    for own, fixed, output in parts:
        nodes += own
        constants += fixed
        outputs.append(output)
    if transposed:
        nodes.append(node("Transpose", [transposed], ["turned"], perm=[0, 2, 1]))
        outputs = [value("turned", ["N", "C", "K"])]
    return model(nodes, [value("x", ["N", 3, SIDE, SIDE])], outputs, constants)


def main(folder):
    unit = [1 / SIDE, 0, 1 / SIDE, 0]
    five, eight, ten, ssd, detr, points, anchored = (
        candidates(f) for f in ("yolov5", "yolov8", "yolov10", "ssd", "detr", "points", "anchored"))
    scaled = lambda box: [v / SIDE for v in box]
    odds = lambda scores: [math.log(s / (1 - s)) for s in scores]
    logits = lambda scores: [math.log(s + 1e-3) for s in scores]
    made = {
        "yolov5": network([shifted("y", [centre(b) + [o] + s for b, o, s in five], [1] + [0] * (4 + CLASSES))]),
        "yolov8": network([shifted("y", [centre(b) + s for b, _, s in eight], [1] + [0] * (3 + CLASSES))], "y"),
        "points": network([shifted("y", [centre(b) + s + [500.0, -3.0] for b, _, s in points], [1] + [0] * (5 + CLASSES))], "y"),
        "yolov10": network([shifted("y", [b + [o, s.index(max(s))] for b, o, s in ten], [1, 0, 1, 0, 0, 0])]),
        "ssd": network([shifted("confidences", [[1 - o] + s for _, o, s in ssd], [0] * (1 + CLASSES)),
                        shifted("places", [scaled(b) for b, _, _ in ssd], unit)]),
        "detr": network([shifted("logits", [logits(s + [1 - o]) for _, o, s in detr], [0] * (1 + CLASSES)),
                         shifted("pred_boxes", [scaled(centre(b)) for b, _, _ in detr], [1 / SIDE, 0, 0, 0])]),
        # Two more than there are boxes, without scores.
        "anchored": network([shifted("cls", [odds(s) for _, _, s in anchored] + [[-9.0] * CLASSES] * 2, [0] * CLASSES),
                             shifted("bbox", [offsets(k, b) for k, (b, _, _) in enumerate(anchored)] + [[0.0] * 4] * 2,
                                     [1 / 16 / 0.1, 0, 0, 0])]),
        "both": network([shifted("y", [centre(b) + [o] + s for b, o, s in five], [1] + [0] * (4 + CLASSES)),
                         shifted("z", [centre(b) + [o] + s for b, o, s in ten], [1] + [0] * (4 + CLASSES))]),
    }
    for name, data in made.items():
        with open(f"{folder}/{name}.onnx", "wb") as file:
            file.write(data)


def overlap(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    area = lambda r: max(r[2] - r[0], 0) * max(r[3] - r[1], 0)
    return shared / (area(a) + area(b) - shared) if shared else 0


def found(form, red, threshold=0.25, limit=None):
    """[(box in pixels of the input, score, class)], the best first, by a computation of its own."""
    rows = []
    for box, objectness, scores in candidates(form):
        box = [box[0] + red / 16, box[1], box[2] + red / 16, box[3]]
        best = scores.index(max(scores))
        score = scores[best]
        if form == "yolov5":
            score *= objectness
        elif form == "yolov10":
            score = objectness
        elif form == "detr":
            score = (scores[best] + 1e-3) / (sum(scores) + 1 - objectness + 4e-3)
        rows.append((box, score, best))
    rows = sorted((row for row in rows if row[1] >= threshold), key=lambda row: -row[1])
    limit = limit if limit is not None else 1 if form in ("yolov10", "detr") else 0.45
    kept = []
    for row in rows:
        if limit >= 1 or all(row[2] != k[2] or overlap(row[0], k[0]) <= limit for k in kept):
            kept.append(row)
    return kept


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
