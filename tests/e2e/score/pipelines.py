#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pipelines of sklearn over a table's columns as ONNX files, with an input for each column, and the wanted results.

    pipelines.py make FOLDER SEED     FOLDER/NAME/{model.onnx, data/rows/*.csv, inputs.json, wanted.json}, FOLDER/names
    pipelines.py compare FOLDER NAME  the BatchScore's rows (data/out/rows.txt) and ONNX Runtime's (ort.json) against them

The files are ours, in the form of skl2onnx, as in its sources: inputs [n, 1] of floats, int64 and strings, Concat,
Imputer, Scaler, ArrayFeatureExtractor before OneHotEncoder, LabelEncoder and Cast for OrdinalEncoder, ZipMap.
"""
import csv
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../engine"))  # classical.py
from classical import ML, ml, sklearn_trees

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
NUMBERS = ["age", "fare", "visits"]
KINDS = {"age": FLOAT, "fare": FLOAT, "visits": INT64, "sex": STRING, "town": STRING, "size": STRING}
TOWNS = ["Ulm", "Köln", 'the "Hague"', "Den Haag, NL", "東京", "", " Ulm", "a\nb", "7"]
SIZES = ["small", "medium", "large"]


def table(random, rows):
    """Columns by name: floats with holes, whole numbers, texts."""
    age = random.uniform(1, 90, rows).astype("f4")
    age[random.random(rows) < 0.1] = np.nan
    return {"age": age, "fare": random.lognormal(2, 1, rows).astype("f4"), "visits": random.integers(-3, 2**40, rows) %
            np.where(random.random(rows) < 0.9, 50, 2**40), "sex": random.choice(["f", "m"], rows).astype(object),
            "town": random.choice(np.array(TOWNS, object), rows), "size": random.choice(np.array(SIZES, object), rows)}


def stacked(columns):
    return np.column_stack([columns[name].astype(object) for name in KINDS])


def transformer():
    return ColumnTransformer([
        ("numbers", Pipeline([("fill", SimpleImputer()), ("scale", StandardScaler())]), [0, 1, 2]),
        ("texts", OneHotEncoder(handle_unknown="ignore"), [3, 4]),
        ("order", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), [5])], sparse_threshold=0)


def front(columns):
    """Nodes and constants up to "features"."""
    fill = columns.named_transformers_["numbers"]["fill"]
    scale = columns.named_transformers_["numbers"]["scale"]
    texts = columns.named_transformers_["texts"].categories_
    order = columns.named_transformers_["order"].categories_[0]
    nodes = [helper.make_node("Cast", ["visits"], ["visits_float"], to=FLOAT),
             helper.make_node("Concat", ["age", "fare", "visits_float"], ["numbers"], axis=1),
             ml("Imputer", ["numbers"], ["filled"], imputed_value_floats=fill.statistics_.astype("f4").tolist(),
                replaced_value_float=float("nan")),
             ml("Scaler", ["filled"], ["scaled"], offset=scale.mean_.astype("f4").tolist(),
                scale=(1 / scale.scale_).astype("f4").tolist()),
             helper.make_node("Concat", ["sex", "town"], ["texts"], axis=1)]
    constants = []
    for i, categories in enumerate(texts):
        constants.append(("column" + str(i), np.array([i])))
        nodes += [ml("ArrayFeatureExtractor", ["texts", "column" + str(i)], ["text" + str(i)]),
                  ml("OneHotEncoder", ["text" + str(i)], ["hot" + str(i)], cats_strings=list(categories), zeros=1)]
    constants += [("wide", np.array([-1, sum(map(len, texts))])), ("one", np.array([-1, 1]))]
    nodes += [helper.make_node("Concat", ["hot0", "hot1"], ["hots"], axis=2),
              helper.make_node("Reshape", ["hots", "wide"], ["encoded"]),
              ml("LabelEncoder", ["size"], ["placed"], keys_strings=list(order), values_int64s=list(range(len(order))),
                 default_int64=-1),
              helper.make_node("Cast", ["placed"], ["placed_float"], to=FLOAT),
              helper.make_node("Reshape", ["placed_float", "one"], ["ordered"]),
              helper.make_node("Concat", ["scaled", "encoded", "ordered"], ["features"], axis=1)]
    return nodes, constants


def classifier_tail(classes):
    return [ml("ZipMap", ["probabilities"], ["output_probability"], classlabels_strings=list(classes))]


def save(folder, name, nodes, constants, inputs, columns, outputs, wanted, names):
    """wanted: scores by row, or None; names: of their columns, or None"""
    folder = os.path.join(folder, name)
    os.makedirs(folder + "/data/rows")
    told = []
    for output, element in outputs.items():
        if element == "maps":
            told.append(onnx.ValueInfoProto(name=output))
            inner = told[-1].type.sequence_type.elem_type.map_type
            inner.key_type = STRING
            inner.value_type.tensor_type.elem_type = FLOAT
        else:
            told.append(helper.make_tensor_value_info(output, element, [None] if element == STRING else [None, None]))
    graph = helper.make_graph(nodes, "pipeline", [helper.make_tensor_value_info(key, kind, [None, 1])
                                                  for key, kind in inputs.items()], told,
                              [numpy_helper.from_array(value, key) for key, value in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid(ML, 2)])
    model.ir_version = 7
    onnx.checker.check_model(model)
    onnx.save(model, folder + "/data/model.onnx")
    scores = "probabilities" if STRING in outputs.values() else next(iter(outputs))
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info(scores, FLOAT, [None, None]))
    onnx.save(model, folder + "/ort.onnx") # the outputs that its binding for node supports
    rows = len(next(iter(columns.values())))
    order = list(columns)[::-1] # the table's order is its own
    for part in range(2):
        with open(f"{folder}/data/rows/{part}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id"] + order)
            for row in range(part * rows // 2, (part + 1) * rows // 2):
                values = [columns[key][row] for key in order]
                writer.writerow([row] + ["" if value != value else value for value in values])
    types = {FLOAT: "float32", INT64: "int64", STRING: "string"}
    with open(folder + "/inputs.json", "w", encoding="ascii") as file:
        json.dump({"outputs": [scores], "inputs": {
            key: {"type": types[kind], "data": [None if value != value else value if kind == STRING else
                                                str(value) if kind == INT64 else float(value)
                                                for value in columns[key]]} for key, kind in inputs.items()}}, file)
    with open(folder + "/wanted.json", "w", encoding="ascii") as file:
        json.dump({"rows": rows, "scores": None if wanted is None else np.asarray(wanted, "f8").reshape(rows, -1).tolist(),
                   "names": None if names is None else list(names)}, file)
    with open(os.path.dirname(folder) + "/names", "a", encoding="ascii") as file:
        file.write(name + "\n")


def make(folder, seed):
    random = np.random.default_rng(seed)
    os.makedirs(folder, exist_ok=True)
    train, rows = table(random, 600), table(random, 301)
    rows["town"][random.random(301) < 0.1] = "nowhere" # no category
    rows["size"][random.random(301) < 0.1] = "Large"
    weight = np.nan_to_num(train["age"], nan=40) / 90 + (train["sex"] == "f") + (train["size"] == "large")
    labels = np.array(["no", "maybe", "yes, sir"], object)[np.digitize(weight + random.normal(0, 0.2, 600), [0.7, 1.4])]

    forest = Pipeline([("columns", transformer()), ("model", RandomForestClassifier(20, max_depth=6, random_state=seed))])
    forest.fit(stacked(train), labels)
    classes = len(forest.classes_)
    def shares(_, value):
        return dict(enumerate(value[0] / value[0].sum() / 20))
    nodes, constants = front(forest["columns"])
    trees = sklearn_trees(forest["model"].estimators_, shares, False)
    nodes.append(ml("TreeEnsembleClassifier", ["features"], ["output_label", "probabilities"],
                    classlabels_strings=list(forest.classes_), post_transform="NONE", **trees.attributes("class")))
    outputs = {"output_label": STRING, "output_probability": "maps"}
    save(folder, "forest", nodes + classifier_tail(forest.classes_), constants, KINDS, rows, outputs,
         forest.predict_proba(stacked(rows)), forest.classes_)

    line = Pipeline([("columns", transformer()), ("model", LogisticRegression(max_iter=2000))])
    line.fit(stacked(train), labels)
    nodes, constants = front(line["columns"])
    model = line["model"]
    nodes += [ml("LinearClassifier", ["features"], ["output_label", "sums"], classlabels_strings=list(line.classes_),
                 coefficients=model.coef_.astype("f4").ravel().tolist(), intercepts=model.intercept_.astype("f4").tolist(),
                 multi_class=1, post_transform="SOFTMAX"),
              ml("Normalizer", ["sums"], ["probabilities"], norm="L1")]
    save(folder, "line", nodes, constants, KINDS, rows, {"output_label": STRING, "probabilities": FLOAT},
         line.predict_proba(stacked(rows)), line.classes_)
    assert classes == 3 and len(model.coef_) == 3

    boosted = Pipeline([("columns", transformer()),
                        ("model", GradientBoostingRegressor(n_estimators=30, init="zero", random_state=seed))])
    boosted.fit(stacked(train), weight)
    nodes, constants = front(boosted["columns"])
    trees = sklearn_trees(boosted["model"].estimators_[:, 0], lambda _, value: {0: 0.1 * value[0, 0]}, False)
    nodes.append(ml("TreeEnsembleRegressor", ["features"], ["variable"], n_targets=1, **trees.attributes("target")))
    save(folder, "boosted", nodes, constants, KINDS, rows, {"variable": FLOAT}, boosted.predict(stacked(rows)), None)

    # As the label of a network (or of naive Bayes, neighbours, ...): the greatest score picks one of a constant of texts.
    nodes, constants = front(line["columns"])
    constants += [("classes", np.array(line.classes_, object)), ("flat", np.array([-1])),
                  ("w", model.coef_.T.astype("f4")), ("b", model.intercept_.astype("f4"))]
    nodes += [helper.make_node("MatMul", ["features", "w"], ["products"]), helper.make_node("Add", ["products", "b"], ["sums"]),
              helper.make_node("Softmax", ["sums"], ["probabilities"], axis=1),
              helper.make_node("ArgMax", ["probabilities"], ["best"], axis=1),
              ml("ArrayFeatureExtractor", ["classes", "best"], ["picked"]),
              helper.make_node("Reshape", ["picked", "flat"], ["output_label"])]
    save(folder, "network", nodes + classifier_tail(line.classes_), constants, KINDS, rows, outputs,
         line.predict_proba(stacked(rows)), line.classes_)

    # Texts through an encoder into other texts, which a second one reads; nothing known is the default.
    some = [town for town in TOWNS if town != "7"]
    nodes = [ml("LabelEncoder", ["town"], ["region"], keys_strings=some, values_strings=["r%d" % (i % 3) for i in
                                                                                        range(len(some))],
                default_string="else"),
             ml("LabelEncoder", ["region"], ["number"], keys_strings=["r1", "else", "r0"], values_floats=[10.5, -2, 3],
                default_float=99.0),
             ml("CategoryMapper", ["town"], ["place"], cats_strings=some, cats_int64s=[7 * i - 9 for i in range(len(some))],
                default_int64=-50),
             helper.make_node("Cast", ["place"], ["place_float"], to=FLOAT),
             ml("OneHotEncoder", ["region"], ["hot"], cats_strings=["r2", "else"]),
             helper.make_node("Reshape", ["hot", "wide"], ["flat"]),
             helper.make_node("Concat", ["number", "place_float", "flat"], ["variable"], axis=1)]
    save(folder, "encoders", nodes, [("wide", np.array([-1, 2]))], {"town": STRING}, rows, {"variable": FLOAT}, None, None)


def compare(folder, name):
    with open(f"{folder}/{name}/wanted.json", encoding="ascii") as file:
        wanted = json.load(file)
    with open(f"{folder}/{name}/data/out/rows.txt", encoding="utf-8") as file:
        told = [json.loads(line) for line in file]
    assert len(told) == wanted["rows"], len(told)
    ours = np.full((len(told), len(told[0].get("classes") or told[0]["values"])), np.nan)
    for row, line in enumerate(told):
        if "values" in line:  # one number, of a regression
            assert wanted["names"] is None or not wanted["names"], line
            ours[row] = line["values"]
        for entry in line.get("classes", []):
            ours[row, entry["index"]] = entry["score"]
            assert entry.get("label") == (wanted["names"] and wanted["names"][entry["index"]]), entry
    assert np.isfinite(ours).all() and len(np.unique(ours.round(4), axis=0)) > 3
    if wanted["scores"]:
        near = np.abs(ours - np.array(wanted["scores"])).max(1) < 1e-4
        # float32 before trees: a value near a threshold may be on its other side
        assert near.mean() > 0.97, near.mean()
        assert (ours.argmax(1) == np.array(wanted["scores"]).argmax(1)).mean() > 0.98
    if os.path.exists(f"{folder}/{name}/ort.json"):
        with open(f"{folder}/{name}/ort.json", encoding="ascii") as file:
            theirs = np.array(json.load(file)).reshape(ours.shape)
        far = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
        assert far.max() < 1e-5, (far.max(), np.unravel_index(far.argmax(), far.shape))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    else:
        compare(sys.argv[2], sys.argv[3])
