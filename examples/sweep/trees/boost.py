"""Boosted trees that distinguish benign biopsies from malignant ones (scikit-learn's breast cancer data: Wolberg, Street and
Mangasarian 1995). It trains on the same 400 of the 569 rows as ../../trees and tests on the others after every ten trees. A
line on standard output is all that a Sweep needs. The best number of trees is written to the output MODEL as ONNX,
with Debian's python3-onnx; scores.csv holds scikit-learn's own results for the test rows."""
import argparse
import os
import random

import numpy as np
import onnx
from onnx import TensorProto, helper
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import log_loss

TREES, STEP = 200, 10


def trees_of(model, count):
    """The attributes of a TreeEnsembleClassifier: scikit-learn goes left where the float32 of x is <= threshold, a double,
    so the largest float32 that is not above it says the same of each row."""
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids")}
    weights = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for number, tree in enumerate(regressor.tree_ for regressor in model.estimators_[:count, 0]):
        for node in range(tree.node_count):
            is_leaf = tree.children_left[node] < 0
            threshold = np.float32(tree.threshold[node])
            if threshold > tree.threshold[node]:
                threshold = np.nextafter(threshold, np.float32("-inf"))
            row = (number, node, 0, "LEAF", 0.0, 0, 0) if is_leaf else (
                number, node, int(tree.feature[node]), "BRANCH_LEQ", float(threshold), int(tree.children_left[node]),
                int(tree.children_right[node]))
            for key, entry in zip(nodes, row):
                nodes[key].append(entry)
            if is_leaf:
                leaf = model.learning_rate * float(tree.value[node, 0, 0])
                for key, entry in zip(weights, (number, node, 0, leaf)):
                    weights[key].append(entry)
    return {**{f"nodes_{key}": value for key, value in nodes.items()},
            **{f"class_{key}": value for key, value in weights.items()}}


def save(model, count, path):
    """What it begins with are the logarithmic odds of the two classes, and each tree adds to that."""
    odds = float(np.log(model.init_.class_prior_[1] / model.init_.class_prior_[0]))
    node = helper.make_node("TreeEnsembleClassifier", ["rows"], ["label", "scores"], domain="ai.onnx.ml",
                            classlabels_int64s=[0, 1], post_transform="LOGISTIC", base_values=[odds], **trees_of(model, count))
    graph = helper.make_graph(
        [node], "trees", [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", model.n_features_in_])],
        [helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]),
         helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 2])])
    file = helper.make_model(graph, producer_name="examples/sweep/trees/boost.py",
                             opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)])
    file.ir_version = 8
    onnx.save(file, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, required=True)
    parser.add_argument("--depth", type=int, required=True)
    parser.add_argument("--share", type=float, required=True, help="of the rows, for each tree")
    asked = parser.parse_args()

    data = load_breast_cancer()
    order = list(range(len(data.target)))
    random.Random(7).shuffle(order)  # as ../../trees/make.py, whose table is scored then
    learned, others = order[:400], order[400:]
    malignant = 1 - data.target  # there 0 is malignant
    model = GradientBoostingClassifier(learning_rate=asked.rate, max_depth=asked.depth, subsample=asked.share,
                                       n_estimators=STEP, warm_start=True, random_state=7)
    best = None
    for count in range(STEP, TREES + 1, STEP):
        model.set_params(n_estimators=count)
        model.fit(data.data[learned], malignant[learned])
        shares = model.predict_proba(data.data[others])
        loss = log_loss(malignant[others], shares)
        print(f"logloss: {loss:.5f}", flush=True)
        if best is None or loss < best[0]:
            best = loss, count, shares[:, 1]
    folder = os.environ["AZ_BATCHAI_OUTPUT_MODEL"]
    np.savetxt(f"{folder}/scores.csv", best[2], fmt="%.7f", header="malignant", comments="")
    save(model, best[1], f"{folder}/model.onnx")


main()
