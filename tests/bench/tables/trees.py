#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XGBoost's side of trees.sh.

    trees.py make FOLDER ROWS     FOLDER/data/model/trees.onnx, FOLDER/trees.json (XGBoost's own), FOLDER/rows.f32
    trees.py predict FOLDER       its predictions as FOLDER/wanted.f32; prints the processor seconds that they took
"""
import sys
import time

import numpy as np
import xgboost

COLUMNS = 20


def rows_of(count):
    """As trees.sh asks DuckDB for them; each is a float32 exactly."""
    i, j = np.arange(count, dtype="i8")[:, None], np.arange(COLUMNS, dtype="i8")
    return ((i * (2 * j + 3) * 7919 + j * 104729) % 4093 / 4096).astype("f4")


def make(folder, count):
    import onnx
    from classical import xgboost_trees
    from onnx import TensorProto, helper
    rows = rows_of(max(count, 20000))
    train = rows[:20000]
    target = np.sin(7 * train[:, 0]) * train[:, 1] + train[:, 2] * train[:, 3] + np.cumsum(train, 1)[:, -1] % 1
    model = xgboost.XGBRegressor(n_estimators=200, max_depth=6, n_jobs=1, base_score=0.0)
    model.fit(train, target)
    node = helper.make_node("TreeEnsembleRegressor", ["rows"], ["value"], domain="ai.onnx.ml", n_targets=1,
                            **xgboost_trees(model).attributes("target"))
    graph = helper.make_graph([node], "trees", [helper.make_tensor_value_info("rows", TensorProto.FLOAT, ["n", COLUMNS])],
                              [helper.make_tensor_value_info("value", TensorProto.FLOAT, ["n", 1])])
    file = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 1)])
    file.ir_version = 7
    onnx.save(file, f"{folder}/data/model/trees.onnx")
    model.save_model(f"{folder}/trees.json")
    rows[:count].tofile(f"{folder}/rows.f32")


def predict(folder):
    rows = np.fromfile(f"{folder}/rows.f32", "f4").reshape(-1, COLUMNS)
    booster = xgboost.Booster({"nthread": 1}, model_file=f"{folder}/trees.json")
    before = time.process_time()
    told = booster.inplace_predict(rows)
    print(time.process_time() - before)
    told.astype("f4").tofile(f"{folder}/wanted.f32")


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    predict(sys.argv[2])
