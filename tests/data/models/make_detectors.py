#!/usr/bin/env python3
"""Makes small detectors, whose boxes are drawn at random and move with a picture's mean red, and says what they find
(Python's standard library only).

    make_detectors.py FOLDER   writes FOLDER/FORM.onnx for the forms yolov5, yolox, yolov8, yolov10, ssd, detr, tf,
                           torch, yunet, anchored, points, both
"""
import math
import random
import sys

from make import field, model, node, tensor, value, whole_numbers

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


def cell(k):
    """The first grid of 8x8 cells: [x, y, side] of one."""
    return [8 * (k % 8), 8 * (k // 8), 8]


def from_cell(k, box):
    """As YOLOX and YuNet have them: from the cell's corner, in its sides."""
    (x, y, side), own = cell(k), centre(box)
    return [(own[0] - x) / side, (own[1] - y) / side, math.log(own[2] / side), math.log(own[3] / side)]


def filled(rows, count):
    """With rows of zeros behind."""
    return rows + [[0.0] * len(rows[0])] * (count - len(rows))


def shifted(name, rows, moves):
    """A network's output `name`: [n, rows, columns], where the columns of which `moves` is not 0 move with red."""
    columns, flat = len(rows[0]), [v for row in rows for v in row]
    factors = tensor(f"{name}_moves", [1, 1, columns], moves)
    return ([node("Mul", ["shift", f"{name}_moves"], [f"{name}_by"]), node("Add", [f"{name}_by", f"{name}_at"], [name])],
            [factors, tensor(f"{name}_at", [1, len(rows), columns], flat)], value(name, ["N", len(rows), columns]))


def list_of(name, values):
    """An output [n, k], which is the same for all items."""
    nodes, constants, _ = shifted(name + "_column", [[v] for v in values], [0])
    constants.append(whole_numbers(name + "_shape", [2], [-1, len(values)]))
    nodes.append(node("Reshape", [name + "_column", name + "_shape"], [name]))
    return nodes, constants, value(name, ["N", len(values)])


def of_one(parts):
    """The same outputs without the axis of the items, and classes as whole numbers, as torchvision's exports have them."""
    changed = []
    for nodes, constants, output in parts:
        name, last = output[2:2 + output[1]].decode(), [-1, 4] if b"boxes" in output else [-1]
        cast = [node("Cast", [name], [name + "_whole"], to=7)] if name == "labels" else []
        shape = whole_numbers(name + "_one", [len(last)], last)
        nodes = nodes + cast + [node("Reshape", [name + ("_whole" if cast else ""), name + "_one"], [name + "_of_one"])]
        changed.append((nodes, constants + [shape], value(name + "_of_one", ["K", 4][:len(last)], 7 if cast else 1)))
    return changed


def network(parts, transposed=None, of_bytes=False, is_bare=False):
    """of_bytes: pictures as TensorFlow's exports take them, one at a time and of any size. is_bare: one, without its axis."""
    shape = field(1, 3) + field(2, 7) + field(8, "shape") + b"".join(field(7, d) for d in (-1, 1, 1))
    nodes = [node("Cast", ["x"], ["floats"], to=1), node("Transpose", ["floats"], ["planes"], perm=[0, 3, 1, 2])] if of_bytes else []
    if is_bare:
        shape_of_one = whole_numbers("of_one", [4], [1, 3, SIDE, SIDE])
        nodes = [node("Reshape", ["x", "of_one"], ["planes"])]
    nodes += [node("GlobalAveragePool", ["planes" if of_bytes or is_bare else "x"], ["means"]),
              node("Conv", ["means", "red"], ["mean"], kernel_shape=[1, 1]), node("Reshape", ["mean", "shape"], ["shift"])]
    constants, outputs = [shape, tensor("red", [1, 3, 1, 1], [1 / 16, 0, 0])] + ([shape_of_one] if is_bare else []), []
    for own, fixed, output in parts:
        nodes += own
        constants += fixed
        outputs.append(output)
    if transposed:
        nodes.append(node("Transpose", [transposed], ["turned"], perm=[0, 2, 1]))
        outputs = [value("turned", ["N", "C", "K"])]
    pictures = value("x", [1, "H", "W", 3], 2) if of_bytes else value("x", ["N", 3, SIDE, SIDE][is_bare:])
    return model(nodes, [pictures], outputs, constants)


def main(folder):
    unit = [1 / SIDE, 0, 1 / SIDE, 0]
    five, grid, eight, ten, ssd, detr, lists, torch, faces, points, anchored = (candidates(f) for f in (
        "yolov5", "yolox", "yolov8", "yolov10", "ssd", "detr", "tf", "torch", "yunet", "points", "anchored"))
    scaled = lambda box: [v / SIDE for v in box]
    odds = lambda scores: [math.log(s / (1 - s)) for s in scores]
    logits = lambda scores: [math.log(s + 1e-3) for s in scores]
    made = {
        "yolov5": network([shifted("y", [centre(b) + [o] + s for b, o, s in five], [1] + [0] * (4 + CLASSES))]),
        "yolox": network([shifted("y", filled([from_cell(k, b) + [o] + s for k, (b, o, s) in enumerate(grid)], 84),
                                  [1 / 8] + [0] * (4 + CLASSES))]),
        "yolov8": network([shifted("y", [centre(b) + s for b, _, s in eight], [1] + [0] * (3 + CLASSES))], "y"),
        "points": network([shifted("y", [centre(b) + s + [500.0, -3.0] for b, _, s in points], [1] + [0] * (5 + CLASSES))], "y"),
        "yolov10": network([shifted("y", [b + [o, s.index(max(s))] for b, o, s in ten], [1, 0, 1, 0, 0, 0])]),
        "ssd": network([shifted("confidences", [[1 - o] + s for _, o, s in ssd], [0] * (1 + CLASSES)),
                        shifted("places", [scaled(b) for b, _, _ in ssd], unit)]),
        "detr": network([shifted("logits", [logits(s + [1 - o]) for _, o, s in detr], [0] * (1 + CLASSES)),
                         shifted("pred_boxes", [scaled(centre(b)) for b, _, _ in detr], [1 / SIDE, 0, 0, 0])]),
        # With all that TensorFlow's API gives out, under its names.
        "tf": network([list_of("detection_anchor_indices", [float(k) for k in range(COUNT)]),
                       shifted("detection_boxes", [scaled([b[1], b[0], b[3], b[2]]) for b, _, _ in lists],
                               [0, 1 / SIDE, 0, 1 / SIDE]),
                       list_of("detection_classes", [float(s.index(max(s))) for _, _, s in lists]),
                       shifted("detection_multiclass_scores", [[0.1] + s for _, _, s in lists], [0] * (1 + CLASSES)),
                       list_of("detection_scores", [max(s) for _, _, s in lists]),
                       shifted("raw_detection_boxes", [[0.1, 0.1, 0.9, 0.9]] * 50, [0] * 4),
                       shifted("raw_detection_scores", [[0.5] * (1 + CLASSES)] * 50, [0] * (1 + CLASSES))], of_bytes=True),
        "torch": network(of_one([shifted("boxes", [b for b, _, _ in torch], [1, 0, 1, 0]),
                                 list_of("labels", [float(s.index(max(s))) for _, _, s in torch]),
                                 list_of("scores", [max(s) for _, _, s in torch])]), is_bare=True),
        "yunet": network([shifted(f"{name}_{stride}", filled(rows, (SIDE // stride) ** 2) if stride == 8 else
                                  [[0.0] * len(rows[0])] * (SIDE // stride) ** 2, [moves] + [0] * (len(rows[0]) - 1))
                          for name, rows, moves in (("cls", [[s[0]] for _, _, s in faces], 0), ("obj", [[o] for _, o, _ in faces], 0),
                                                    ("bbox", [from_cell(k, b) for k, (b, _, _) in enumerate(faces)], 1 / 8),
                                                    ("kps", [[0.5] * 10] * COUNT, 0)) for stride in (8, 16, 32)]),
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
        if form in ("yolov5", "yolox"):
            score *= objectness
        elif form == "yunet":
            best, score = 0, math.sqrt(objectness * scores[0])
        elif form == "yolov10":
            score = objectness
        elif form == "detr":
            score = (scores[best] + 1e-3) / (sum(scores) + 1 - objectness + 4e-3)
        rows.append((box, score, best))
    rows = sorted((row for row in rows if row[1] >= threshold), key=lambda row: -row[1])
    limit = limit if limit is not None else 1 if form in ("yolov10", "detr", "tf", "torch") else 0.3 if form == "yunet" else 0.45
    kept = []
    for row in rows:
        if limit >= 1 or all(row[2] != k[2] or overlap(row[0], k[0]) <= limit for k in kept):
            kept.append(row)
    return kept


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
