#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the benchmark's trees: 500 of depth 6 to 8 over 50 features, one target, seeded.

    make_trees.py DIRECTORY        trees.onnx
"""
import array
import os
import random
import sys

from make_models import data, integer, value_info, varint

TREES, FEATURES, FULL, DEEPEST = 500, 50, 6, 8


def attribute(name, kind, body):
    return data(5, data(1, name) + body + integer(20, kind))


def integers(name, values):
    return attribute(name, 7, data(8, b"".join(varint(value) for value in values)))


def numbers(name, values):
    return attribute(name, 6, data(7, array.array("f", values).tobytes()))


def grow(draw, rows, tree):
    """Appends the tree's nodes breadth-first: (tree, node, feature, threshold, true, false); leaves have no feature."""
    todo, count = [(0, 0)], 1
    while todo:
        node, depth = todo.pop(0)
        if depth == DEEPEST or (depth >= FULL and draw.random() < 0.5):
            rows.append((tree, node, None, draw.gauss(0, 0.1), 0, 0))
            continue
        rows.append((tree, node, draw.randrange(FEATURES), draw.uniform(-0.8, 0.8), count, count + 1))
        todo += [(count, depth + 1), (count + 1, depth + 1)]
        count += 2


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_trees.py DIRECTORY")
    draw, rows = random.Random(5), []
    for tree in range(TREES):
        grow(draw, rows, tree)
    leaves = [row for row in rows if row[2] is None]
    body = data(1, "input") + data(2, "output") + data(3, "trees") + data(4, "TreeEnsembleRegressor")
    body += data(7, "ai.onnx.ml") + attribute("n_targets", 2, integer(3, 1))
    body += attribute("nodes_modes", 8, b"".join(data(9, "LEAF" if row[2] is None else "BRANCH_LEQ") for row in rows))
    for name, values in (("treeids", [row[0] for row in rows]), ("nodeids", [row[1] for row in rows]),
                         ("featureids", [row[2] or 0 for row in rows]), ("truenodeids", [row[4] for row in rows]),
                         ("falsenodeids", [row[5] for row in rows])):
        body += integers("nodes_" + name, values)
    body += numbers("nodes_values", [0 if row[2] is None else row[3] for row in rows])
    body += integers("target_treeids", [row[0] for row in leaves]) + integers("target_nodeids", [row[1] for row in leaves])
    body += integers("target_ids", [0] * len(leaves)) + numbers("target_weights", [row[3] for row in leaves])
    graph = data(1, body) + data(2, "trees") + data(11, value_info("input", ["n", FEATURES]))
    graph += data(12, value_info("output", ["n", 1]))
    model = integer(1, 7) + data(2, "windlass-bench") + data(7, graph)
    model += data(8, integer(2, 13)) + data(8, data(1, "ai.onnx.ml") + integer(2, 1))
    path = os.path.join(sys.argv[1], "trees.onnx")
    with open(path, "wb") as file:
        file.write(model)
    print("%s: %d trees, %d nodes" % (path, TREES, len(rows)))


if __name__ == "__main__":
    main()
