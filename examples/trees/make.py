#!/usr/bin/env python3
"""Makes what is in data/: boosted trees of xgboost as an ONNX file, trained on 400 of the 569 biopsies of scikit-learn's
breast cancer data (Wolberg, Street and Mangasarian 1995, UCI machine learning repository; it comes with the package), the
other 169 as a table of two files, and what they really were. Debian's python3-sklearn, python3-xgboost, python3-onnx.

An exporter (onnxmltools, skl2onnx) writes the same operator; Debian has none.
"""
import csv
import json
import os
import random

import numpy as np
import onnx
import xgboost
from onnx import TensorProto, helper
from sklearn.datasets import load_breast_cancer

HERE = os.path.dirname(os.path.abspath(__file__))


def trees_of(model):
    """The attributes of a TreeEnsembleClassifier: xgboost says yes where x < split_condition."""
    nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                                 "missing_value_tracks_true")}
    weights = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for tree, text in enumerate(model.get_booster().get_dump(dump_format="json")):
        todo = [json.loads(text)]
        while todo:
            node = todo.pop(0)
            is_leaf = "leaf" in node
            row = (tree, node["nodeid"], 0 if is_leaf else int(node["split"][1:]), "LEAF" if is_leaf else "BRANCH_LT",
                   0.0 if is_leaf else float(np.float32(node["split_condition"])), node.get("yes", 0), node.get("no", 0),
                   0 if is_leaf else int(node["missing"] == node["yes"]))
            for key, entry in zip(nodes, row):
                nodes[key].append(entry)
            if is_leaf:
                for key, entry in zip(weights, (tree, node["nodeid"], 0, float(np.float32(node["leaf"])))):
                    weights[key].append(entry)
            todo += node.get("children", [])
    return {**{f"nodes_{key}": value for key, value in nodes.items()},
            **{f"class_{key}": value for key, value in weights.items()}}


def main():
    data = load_breast_cancer()
    names = [name.replace(" ", "_") for name in data.feature_names]
    order = list(range(len(data.target)))
    random.Random(7).shuffle(order)
    train, test = order[:400], order[400:]
    malignant = 1 - data.target  # there 0 is malignant
    model = xgboost.XGBClassifier(n_estimators=60, max_depth=3, n_jobs=1, base_score=0.5, eval_metric="logloss",
                                  use_label_encoder=False)
    model.fit(data.data[train].astype("f4"), malignant[train])
    node = helper.make_node("TreeEnsembleClassifier", ["rows"], ["label", "scores"], domain="ai.onnx.ml",
                            classlabels_int64s=[0, 1], post_transform="LOGISTIC", **trees_of(model))
    graph = helper.make_graph(
        [node], "trees", [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", len(names)])],
        [helper.make_tensor_value_info("label", TensorProto.INT64, ["n"]),
         helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 2])])
    file = helper.make_model(graph, producer_name="examples/trees/make.py",
                             opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)])
    file.ir_version = 8
    onnx.save(file, f"{HERE}/data/model/trees.onnx")
    with open(f"{HERE}/data/model/names.txt", "w") as text:
        text.write("benign\nmalignant\n")
    for number, part in enumerate((test[:100], test[100:])):
        with open(f"{HERE}/data/rows/clinic-{number + 1}.csv", "w", newline="") as text:
            table = csv.writer(text, lineterminator="\n")
            table.writerow(["patient"] + names)
            table.writerows([f"P{i:03}"] + [repr(float(value)) for value in data.data[i]] for i in part)
    with open(f"{HERE}/data/truth.txt", "w") as text:
        text.writelines(("benign", "malignant")[malignant[i]] + "\n" for i in test)
    with open(f"{HERE}/data/xgboost.txt", "w") as text:  # xgboost's own result for the same rows: the probability of malignant
        text.writelines(f"{share:.6f}\n" for share in model.predict_proba(data.data[test].astype("f4"))[:, 1])


main()
