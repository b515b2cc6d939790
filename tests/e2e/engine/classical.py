#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Classical models as ONNX files, made of xgboost's and sklearn's own dumps, and the results of these libraries for
some rows.

    classical.py FOLDER SEED        FOLDER/NAME/{model.onnx, input.pb, ...}, FOLDER/names

These files are ours: no exporter wrote them. They have the conventions of skl2onnx and onnxmltools (ZipMap, Cast behind the
label, one score for two classes, thresholds as doubles, hit rates), as in their sources.
"""
import json
import os
import statistics
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Trees:
    """The lists that TreeEnsemble* has."""

    def __init__(self):
        self.nodes = {key: [] for key in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids",
                                          "falsenodeids", "missing_value_tracks_true")}
        self.weights = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}

    def branch(self, tree, node, feature, value, yes, no, mode="BRANCH_LEQ", missing=0):
        row = (tree, node, feature, mode, float(value), yes, no, missing)
        for key, entry in zip(self.nodes, row):
            self.nodes[key].append(entry)

    def leaf(self, tree, node, weights):
        """weights: {target: value}"""
        row = (tree, node, 0, "LEAF", 0.0, 0, 0, 0)
        for key, entry in zip(self.nodes, row):
            self.nodes[key].append(entry)
        for target, value in weights.items():
            for key, entry in zip(self.weights, (tree, node, target, float(value))):
                self.weights[key].append(entry)

    def attributes(self, prefix, doubles=False):
        found = {"nodes_" + key: values for key, values in self.nodes.items()}
        found["nodes_hitrates"] = [1.0] * len(found["nodes_values"])
        if not any(found["nodes_missing_value_tracks_true"]):
            del found["nodes_missing_value_tracks_true"]
        found.update({f"{prefix}_{key}": values for key, values in self.weights.items()})
        if doubles:
            for key in ("nodes_values", "nodes_hitrates", prefix + "_weights"):
                values = np.array(found.pop(key), "f8")
                found[key + "_as_tensor"] = numpy_helper.from_array(values, key)
        return found


def ml(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=op + "_" + outputs[0], domain=ML, **attributes)


def classifier_tail(labels, scores, classes):
    """The nodes that skl2onnx puts after a classifier: the label through Cast, the scores through ZipMap."""
    return [helper.make_node("Cast", [labels], ["output_label"], to=INT64),
            ml("ZipMap", [scores], ["output_probability"], classlabels_int64s=classes)]


def floats(values):
    return [float(value) for value in np.ravel(values)]


class Case:
    """One folder."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder, exist_ok=True)
        self.wanted = {}
        with open(os.path.join(folder, "names"), "a", encoding="ascii") as file:
            file.write(name + "\n")

    def save(self, nodes, outputs, rows, ml_version=1, constants=(), opset=13):
        """outputs: {name: element type}; rows: the input."""
        rows = np.ascontiguousarray(rows)
        kind = numpy_helper.from_array(rows[:0]).data_type
        told = []
        for name, element in outputs.items():
            if element == "maps":
                maps = onnx.ValueInfoProto(name=name)
                inner = maps.type.sequence_type.elem_type.map_type
                inner.key_type = TensorProto.STRING if TensorProto.STRING in outputs.values() else INT64
                inner.value_type.tensor_type.elem_type = FLOAT
                told.append(maps)
            else:
                rank = np.ndim(self.wanted.get(name, [0]))
                told.append(helper.make_tensor_value_info(name, element, [None] * rank))
        graph = helper.make_graph(nodes, "classical", [helper.make_tensor_value_info(
            "X", kind, [None, rows.shape[1]])], told,
            [numpy_helper.from_array(value, name) for name, value in constants])
        versions = [helper.make_opsetid(ML, ml_version)]
        if opset:
            versions.insert(0, helper.make_opsetid("", opset))
        model = helper.make_model(graph, opset_imports=versions, producer_name="tests/e2e/engine/classical.py")
        model.ir_version = 7
        if ml_version < 5:  # Debian's onnx knows no more
            onnx.checker.check_model(model)
        onnx.save(model, self.folder + "/model.onnx")
        with open(self.folder + "/input.pb", "wb") as file:
            file.write(numpy_helper.from_array(rows, "X").SerializeToString())
        rows.tofile(self.folder + "/input.raw")
        with open(self.folder + "/input.json", "w", encoding="ascii") as file:
            json.dump({"type": str(rows.dtype), "dims": rows.shape,
                       "tensors": [name for name, element in outputs.items() if element != "maps"]}, file)
        np.savez(self.folder + "/wanted.npz", **self.wanted)


# ---- models of libraries -------------------------------------------------------------------------


def xgboost_trees(model, target_of=lambda tree: 0, scale=1.0):
    """The JSON dump: yes is x < split_condition."""
    trees = Trees()
    for tree, text in enumerate(model.get_booster().get_dump(dump_format="json")):
        todo = [json.loads(text)]
        while todo:
            node = todo.pop(0)
            if "leaf" in node:
                trees.leaf(tree, node["nodeid"], {target_of(tree): np.float32(node["leaf"]) * scale})
                continue
            feature = int(node["split"].lstrip("f"))
            trees.branch(tree, node["nodeid"], feature, np.float32(node["split_condition"]), node["yes"], node["no"],
                         "BRANCH_LT", int(node["missing"] == node["yes"]))
            todo += node["children"]
    return trees


def sklearn_trees(estimators, weights_of, doubles):
    """weights_of(estimator's index, value of a leaf) -> {target: weight}; a row goes left if float32(x) <= threshold."""
    trees = Trees()
    for tree, estimator in enumerate(estimators):
        inner = estimator.tree_
        for node in range(inner.node_count):
            if inner.children_left[node] < 0:
                trees.leaf(tree, node, weights_of(tree, inner.value[node]))
                continue
            threshold = inner.threshold[node]
            if not doubles:  # the largest float32 that is not above it: the same rows go left
                threshold = np.float32(threshold)
                if float(threshold) > inner.threshold[node]:
                    threshold = np.nextafter(threshold, np.float32(-np.inf))
            trees.branch(tree, node, int(inner.feature[node]), threshold, int(inner.children_left[node]),
                         int(inner.children_right[node]))
    return trees


def made_rows(random, rows, features, classes):
    """A table with a rule in it, and noise."""
    x = random.standard_normal((rows, features)).astype("f4")
    lines = random.standard_normal((features, classes)).astype("f4")
    scores = x @ lines + 2 * np.sin(x[:, :1] * 2) * lines[0] + random.standard_normal((rows, classes))
    return x, scores


def xgboost_cases(folder, random):
    import xgboost
    x, scores = made_rows(random, 900, 12, 3)
    holes = x.copy()
    holes[random.random(x.shape) < 0.1] = np.nan
    train, test = holes[:500], holes[500:]
    options = {"n_jobs": 1, "max_depth": 5, "n_estimators": 40, "use_label_encoder": False}

    case = Case(folder, "xgboost-binary")
    model = xgboost.XGBClassifier(eval_metric="logloss", base_score=0.4, **options)
    model.fit(train, (scores[:500, 0] > 0).astype(int))
    case.wanted = {"probabilities": model.predict_proba(test), "label": model.predict(test)}
    attributes = xgboost_trees(model).attributes("class")
    bias = -np.log(1 / np.float32(0.4) - 1)
    case.save([ml("TreeEnsembleClassifier", ["X"], ["label", "probabilities"], classlabels_int64s=[0, 1],
                  post_transform="LOGISTIC", base_values=[float(bias)], **attributes)]
              + classifier_tail("label", "probabilities", [0, 1]),
              {"output_label": INT64, "output_probability": "maps", "probabilities": FLOAT, "label": INT64}, test)

    case = Case(folder, "xgboost-regressor")
    options.pop("use_label_encoder")
    model = xgboost.XGBRegressor(base_score=0.5, **options)
    model.fit(train, scores[:500, 1])
    case.wanted = {"variable": model.predict(test)[:, None]}
    case.save([ml("TreeEnsembleRegressor", ["X"], ["variable"], n_targets=1, base_values=[0.5],
                  **xgboost_trees(model).attributes("target"))], {"variable": FLOAT}, test, opset=None)

    case = Case(folder, "xgboost-classes")
    model = xgboost.XGBClassifier(eval_metric="mlogloss", use_label_encoder=False, objective="multi:softprob", **options)
    model.fit(train, scores[:500].argmax(axis=1))
    case.wanted = {"probabilities": model.predict_proba(test), "label": model.predict(test) * 10}
    case.save([ml("TreeEnsembleClassifier", ["X"], ["label", "probabilities"], classlabels_int64s=[0, 10, 20],
                  post_transform="SOFTMAX", base_values=[0.5] * 3,
                  **xgboost_trees(model, lambda tree: tree % 3).attributes("class"))],
              {"label": INT64, "probabilities": FLOAT}, test)


def forest_cases(folder, random):
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
    x, scores = made_rows(random, 700, 9, 3)
    classes = scores.argmax(axis=1)
    train, test = x[:400], x[400:]
    seed = int(random.integers(1 << 30))

    case = Case(folder, "boosting-classes")
    model = GradientBoostingClassifier(n_estimators=25, max_depth=3, random_state=seed).fit(train, classes[:400])
    estimators = model.estimators_.ravel()
    prior = model.init_.class_prior_
    base = np.log(np.clip(prior, np.finfo("f4").eps, 1 - np.finfo("f4").eps))
    case.wanted = {"probabilities": model.predict_proba(test), "label": model.predict(test)}
    trees = sklearn_trees(estimators, lambda tree, value: {tree % 3: value[0, 0] * model.learning_rate}, False)
    case.save([ml("TreeEnsembleClassifier", ["X"], ["label", "probabilities"], classlabels_int64s=[0, 1, 2],
                  post_transform="SOFTMAX", base_values=[float(b) for b in base], **trees.attributes("class"))],
              {"label": INT64, "probabilities": FLOAT}, test)

    def shares(count):
        return lambda tree, value: dict(enumerate(value[0] / value[0].sum() / count))
    for doubles in False, True:
        case = Case(folder, "forest-classes" + ("-doubles" if doubles else ""))
        model = RandomForestClassifier(n_estimators=30, max_depth=7, random_state=seed).fit(train, classes[:400])
        case.wanted = {"probabilities": model.predict_proba(test), "label": model.predict(test)}
        trees = sklearn_trees(model.estimators_, shares(30), doubles)
        case.save([ml("TreeEnsembleClassifier", ["X"], ["label", "probabilities"], classlabels_int64s=[0, 1, 2],
                      post_transform="NONE", **trees.attributes("class", doubles))],
                  {"label": INT64, "probabilities": FLOAT}, test.astype("f8") if doubles else test, 3)

    case = Case(folder, "forest-two")
    model = RandomForestClassifier(n_estimators=25, random_state=seed).fit(train, classes[:400] > 0)
    case.wanted = {"probabilities": model.predict_proba(test), "label": model.predict(test).astype(int)}
    trees = sklearn_trees(model.estimators_, lambda tree, value: {0: value[0, 1] / value[0].sum() / 25}, False)
    case.save([ml("TreeEnsembleClassifier", ["X"], ["label", "probabilities"], classlabels_int64s=[0, 1],
                  post_transform="NONE", **trees.attributes("class"))], {"label": INT64, "probabilities": FLOAT}, test)

    case = Case(folder, "forest-regressor")
    model = RandomForestRegressor(n_estimators=20, max_depth=9, random_state=seed).fit(train, scores[:400, :2])
    case.wanted = {"variable": model.predict(test)}
    trees = sklearn_trees(model.estimators_, lambda tree, value: {0: value[0, 0], 1: value[1, 0]}, False)
    case.save([ml("TreeEnsembleRegressor", ["X"], ["variable"], n_targets=2, aggregate_function="AVERAGE",
                  **trees.attributes("target"))], {"variable": FLOAT}, test)


def linear_cases(folder, random):
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    x, scores = made_rows(random, 500, 8, 3)
    x = x * np.linspace(1, 50, 8, dtype="f4") + np.linspace(-3, 30, 8, dtype="f4")
    train, test = x[:300], x[300:]
    classes = scores[:300].argmax(axis=1)

    for name, wanted, transform in (("logistic-two", (classes > 0).astype(int), "LOGISTIC"),
                                    ("logistic-classes", classes, "SOFTMAX")):
        case = Case(folder, name)
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train, wanted)
        scaler, logistic = model[0], model[1]
        coefficients, intercepts = logistic.coef_, logistic.intercept_
        if len(intercepts) == 1:
            coefficients, intercepts = np.vstack([-coefficients, coefficients]), np.hstack([-intercepts, intercepts])
        labels = [int(label) for label in logistic.classes_]
        case.wanted = {"scores": model.predict_proba(test), "output_label": model.predict(test)}
        case.save([ml("Scaler", ["X"], ["scaled"], offset=floats(scaler.mean_), scale=floats(1 / scaler.scale_)),
                   ml("LinearClassifier", ["scaled"], ["label", "raw"], classlabels_ints=labels, multi_class=1,
                      coefficients=floats(coefficients), intercepts=floats(intercepts), post_transform=transform),
                   ml("Normalizer", ["raw"], ["scores"], norm="L1")] + classifier_tail("label", "scores", labels),
                  {"output_label": INT64, "output_probability": "maps", "scores": FLOAT}, test)

    case = Case(folder, "linear-regressor")
    model = LinearRegression().fit(train, scores[:300, :2])
    case.wanted = {"variable": model.predict(test)}
    case.save([ml("LinearRegressor", ["X"], ["variable"], targets=2, coefficients=floats(model.coef_),
                  intercepts=floats(model.intercept_))], {"variable": FLOAT}, test)


# ---- our own models -----------------------------------------------------------------------------

COMPARE = {"BRANCH_LEQ": np.less_equal, "BRANCH_LT": np.less, "BRANCH_GTE": np.greater_equal,
           "BRANCH_GT": np.greater, "BRANCH_EQ": np.equal, "BRANCH_NEQ": np.not_equal}


def random_trees(random, count, features, targets, modes, missing, leaf_weights):
    """Trees of up to six levels, nodes in no order; and a function that walks them."""
    trees, roots = Trees(), []
    rows = []

    def grow(tree, depth):
        node = len(rows)
        rows.append(None)
        if depth == 0 or random.random() < 0.15:
            kinds = random.permutation(targets)[:leaf_weights]
            weights = {int(kind): float(np.float32(random.standard_normal())) for kind in kinds}
            rows[node] = ("leaf", tree, node, weights)
            return node, weights
        feature, mode = int(random.integers(features)), str(random.choice(modes))
        value, track = float(random.integers(-3, 4)) / 2, int(missing and random.random() < 0.5)
        yes_id, yes = grow(tree, depth - 1)
        no_id, no = grow(tree, depth - 1)
        rows[node] = ("branch", tree, node, feature, value, yes_id, no_id, mode, track)
        return node, (feature, mode, value, track, yes, no)
    for tree in range(count):
        rows = []
        roots.append(grow(tree * 3 + 1, 6)[1])
        names = [int(name) for name in random.permutation(len(rows))]
        # ONNX Runtime takes a tree's first node for its root.
        for at in [0] + [int(at) for at in 1 + random.permutation(len(rows) - 1)]:
            kind, number, node, *row = rows[at]
            if kind == "leaf":
                trees.leaf(number, names[node], *row)
            else:
                row[2], row[3] = names[row[2]], names[row[3]]
                trees.branch(number, names[node], *row)

    def walk(root, row):
        while isinstance(root, tuple):
            feature, mode, value, track, yes, no = root
            x = row[feature]
            root = yes if COMPARE[mode](x, value) or (track and np.isnan(x)) else no
        return root
    return trees, lambda row: [walk(root, row) for root in roots]


def transform(post, scores):
    scores = np.asarray(scores, "f8")
    if post == "LOGISTIC":
        return 1 / (1 + np.exp(-scores))
    if post == "PROBIT":
        return np.vectorize(statistics.NormalDist().inv_cdf)(scores)
    if post == "SOFTMAX":
        return np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    if post == "SOFTMAX_ZERO":
        parts = np.where(abs(scores) <= 1e-7, 0, np.exp(scores - scores.max()))
        return parts / parts.sum()
    return scores


def halves(random, shape):
    """Numbers that are often exactly a threshold."""
    return (random.integers(-5, 6, shape) / 2).astype("f4")


def own_regressors(folder, random):
    number = 0
    modes = list(COMPARE)
    for aggregate in "SUM", "AVERAGE", "MIN", "MAX":
        for post in ("NONE", "LOGISTIC") if aggregate == "SUM" else ("NONE",):
            for targets in 1, 3:
                used = modes[:4] if number % 2 else modes
                trees, walk = random_trees(random, 7, 5, targets, used, number % 3 > 0, targets)
                x = halves(random, (60, 5))
                x[random.random(x.shape) < 0.1] = np.nan
                base = [0.25, -0.5, 1.0][:targets]
                wanted = []
                for row in x:
                    sums = []
                    for target in range(targets):
                        values = [leaf[target] for leaf in walk(row) if target in leaf] or [0]
                        sums.append({"SUM": sum(values), "AVERAGE": sum(values) / 7, "MIN": min(values),
                                     "MAX": max(values)}[aggregate] + base[target])
                    wanted.append(transform(post, sums))
                # ONNX Runtime forgets LOGISTIC for one target.
                case = Case(folder, f"own-{aggregate}-{post}-{targets}".lower()
                            + ("-differs" if post == "LOGISTIC" and targets == 1 else ""))
                case.wanted = {"variable": np.array(wanted)}
                case.save([ml("TreeEnsembleRegressor", ["X"], ["variable"], n_targets=targets, base_values=base,
                              aggregate_function=aggregate, post_transform=post, **trees.attributes("target"))],
                          {"variable": FLOAT}, x)
                number += 1


def own_classifiers(folder, random):
    for post in "NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT":
        for type_ in "f4", "i8", "i4", "f8":
            if post != "SOFTMAX" and type_ != "f4":
                continue
            trees, walk = random_trees(random, 9, 5, 4, list(COMPARE), type_[0] == "f", 4)
            x = halves(random, (80, 5)).astype(type_)
            if post == "PROBIT":
                trees.weights["weights"] = [1 / (10 + 9 * abs(w)) for w in trees.weights["weights"]]
            sums = np.zeros((80, 4))
            for i, row in enumerate(x):
                for leaf in walk(row):
                    for target, value in leaf.items():
                        sums[i, target] += 1 / (10 + 9 * abs(value)) if post == "PROBIT" else value
            case = Case(folder, f"own-classes-{post}-{type_}".lower() + ("-rough" if post == "PROBIT" else ""))
            case.wanted = {"scores": np.array([transform(post, row) for row in sums]),
                           "label": np.array([5, -2, 7, 9])[sums.astype("f4").argmax(axis=1)]}
            case.save([ml("TreeEnsembleClassifier", ["X"], ["label", "scores"], classlabels_int64s=[5, -2, 7, 9],
                          post_transform=post, **trees.attributes("class"))], {"label": INT64, "scores": FLOAT}, x)
    for name, positive, post, target in (("share", True, "NONE", 0), ("margin", False, "NONE", 0),
                                         ("logistic", False, "LOGISTIC", 0), ("first-logistic", True, "LOGISTIC", 0)):
        trees, walk = random_trees(random, 5, 4, 1, ["BRANCH_LT", "BRANCH_GTE"], True, 1)
        if positive:
            trees.weights["weights"] = [abs(w) / 5 for w in trees.weights["weights"]]
        x = halves(random, (70, 4))
        sums = np.array([sum(abs(leaf[0]) / 5 if positive else leaf[0] for leaf in walk(row)) for row in x])
        scores = np.stack([1 - sums if positive else -sums, sums], axis=1)
        if post == "LOGISTIC":
            scores = transform(post, np.stack([-sums, sums], axis=1))
        case = Case(folder, "own-two-" + name + ("-differs" if positive and post == "LOGISTIC" else ""))
        case.wanted = {"scores": scores, "label": (sums > (0.5 if positive and post == "NONE" else 0)) * 3}
        case.save([ml("TreeEnsembleClassifier", ["X"], ["label", "scores"], classlabels_int64s=[0, 3],
                      post_transform=post, **trees.attributes("class"))], {"label": INT64, "scores": FLOAT}, x)


class Ensemble:
    """The attributes of TreeEnsemble of version 5: leaves apart, numbered modes, sets of members."""
    MODES = [np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal]
    MEMBER = 6

    def __init__(self, random, features, targets):
        self.random, self.features, self.targets = random, features, targets
        self.nodes = {key: [] for key in ("featureids", "modes", "splits", "truenodeids", "trueleafs", "falsenodeids",
                                          "falseleafs", "missing_value_tracks_true")}
        self.leaves, self.members, self.roots = [], {}, []

    def grow(self, depth):
        """(number, whether it is a leaf) of a random tree"""
        if depth == 0 or (depth < 5 and self.random.random() < 0.15):
            self.leaves.append((int(self.random.integers(self.targets)), float(np.float32(self.random.standard_normal()))))
            return len(self.leaves) - 1, 1
        number = len(self.nodes["modes"])
        mode = int(self.random.integers(self.MEMBER + 1))
        row = (int(self.random.integers(self.features)), mode, float(self.random.integers(-3, 4)) / 2, 0, 0, 0, 0,
               int(self.random.random() < 0.5))
        for entries, entry in zip(self.nodes.values(), row):
            entries.append(entry)
        if mode == self.MEMBER:
            self.members[number] = [float(v) for v in self.random.permutation(np.arange(1, 6))[:1 + number % 3]]
        for side in ("true", "false"):
            child, is_leaf = self.grow(depth - 1)
            self.nodes[side + "nodeids"][number], self.nodes[side + "leafs"][number] = child, is_leaf
        return number, 0

    def walk(self, root, row):
        at, is_leaf = root, 0
        while not is_leaf:
            feature, mode, split, missing = (self.nodes[key][at] for key in ("featureids", "modes", "splits",
                                                                             "missing_value_tracks_true"))
            x = row[feature]
            fits = x in self.members[at] if mode == self.MEMBER else self.MODES[mode](x, split)
            side = "true" if fits or (missing and np.isnan(x)) else "false"
            at, is_leaf = self.nodes[side + "nodeids"][at], self.nodes[side + "leafs"][at]
        return self.leaves[at]

    def attributes(self):
        found = {"nodes_" + key: values for key, values in self.nodes.items()}
        members = [v for number in sorted(self.members) for v in self.members[number] + [np.nan]]
        for key, values, kind in (("nodes_modes", found["nodes_modes"], "u1"), ("nodes_splits", found["nodes_splits"], "f4"),
                                  ("leaf_weights", [weight for _, weight in self.leaves], "f4"), ("membership_values", members, "f4")):
            found[key] = numpy_helper.from_array(np.array(values, kind), key)
        return {**found, "leaf_targetids": [target for target, _ in self.leaves], "tree_roots": self.roots,
                "n_targets": self.targets}


def ensembles(folder, random):
    for aggregate in 0, 1, 2:
        made = Ensemble(random, 5, 3)
        made.roots = [made.grow(5)[0] for _ in range(9)]
        x = random.integers(-4, 7, (90, 5)).astype("f4")  # ONNX Runtime's members are whole numbers
        x[random.random(x.shape) < 0.1] = np.nan
        wanted = []
        for row in x:
            reached = [made.walk(root, row) for root in made.roots]
            sums = [[weight for target, weight in reached if target == k] or [0] for k in range(3)]
            sums = [min(s) if aggregate == 2 else sum(s) / (1 if aggregate else 9) for s in sums]
            wanted.append(sums)
        case = Case(folder, f"ensemble-{aggregate}")
        case.wanted = {"Y": np.array(wanted)}
        case.save([ml("TreeEnsemble", ["X"], ["Y"], aggregate_function=aggregate, **made.attributes())],
                  {"Y": FLOAT}, x, 5)


def catboost_form(folder, random, bias):
    """As CatBoost writes its models, in no version of the standard domain: symmetric trees of x > border, both classes weighed."""
    trees, depth = Trees(), 4
    x = halves(random, (70, 6))
    x[random.random(x.shape) < 0.1] = np.nan
    sums = np.full(70, float(bias))
    for tree in range(11):
        splits = [(int(random.integers(6)), float(random.integers(-4, 5)) / 2, int(random.random() < 0.3)) for _ in range(depth)]
        values = random.standard_normal(2 ** depth).astype("f4")
        for node in range(2 ** depth - 1):
            feature, border, missing = splits[(node + 1).bit_length() - 1]
            trees.branch(tree, node, feature, border, 2 * node + 2, 2 * node + 1, "BRANCH_GT", missing)
        for leaf, value in enumerate(values):
            trees.leaf(tree, 2 ** depth - 1 + leaf, {0: -value, 1: value})
        at = np.zeros(70, int)
        for feature, border, missing in splits:
            at = 2 * at + ((x[:, feature] > border) | (np.isnan(x[:, feature]) & bool(missing)))
        sums += values[at]
    # With a bias ONNX Runtime takes the first class's sum for the second's.
    case = Case(folder, "catboost-form" + ("-differs" if bias else ""))
    case.wanted = {"probability_tensor": transform("LOGISTIC", np.stack([-sums, sums], axis=1)), "label": (sums > 0) * 1}
    case.save([ml("TreeEnsembleClassifier", ["X"], ["label", "probability_tensor"], classlabels_int64s=[0, 1],
                  post_transform="LOGISTIC", **({"base_values": [-bias, bias]} if bias else {}), **trees.attributes("class")),
               ml("ZipMap", ["probability_tensor"], ["probabilities"], classlabels_int64s=[0, 1])],
              {"label": INT64, "probabilities": "maps", "probability_tensor": FLOAT}, x, 2, opset=None)


def column_cases(folder, random):
    x = halves(random, (40, 6))
    x[random.random(x.shape) < 0.2] = np.nan
    filled = np.where(np.isnan(x), np.arange(6, dtype="f4") + 0.5, x)
    highest = filled.max(axis=1, keepdims=True)
    case = Case(folder, "columns")
    case.wanted = {"imputed": filled, "scaled": (filled - 0.5) * np.arange(1, 7, dtype="f4"),
                   "binary": (filled > 0.75).astype("f4"),
                   "l1": filled / abs(filled).sum(axis=1, keepdims=True),
                   "l2": filled / np.sqrt((filled ** 2).sum(axis=1, keepdims=True)),
                   "highest": filled / np.where(highest == 0, 1, highest),
                   "some": filled[:, [5, 0, 5]],
                   "side": np.hstack([filled[:, :4], filled, np.zeros((40, 2), "f4")])}
    case.save([ml("Imputer", ["X"], ["imputed"], imputed_value_floats=[float(i) + 0.5 for i in range(6)],
                  replaced_value_float=float("nan")),
               ml("Scaler", ["imputed"], ["scaled"], offset=[0.5] * 6, scale=[float(i) for i in range(1, 7)]),
               ml("Binarizer", ["imputed"], ["binary"], threshold=0.75),
               ml("Normalizer", ["imputed"], ["l1"], norm="L1"), ml("Normalizer", ["imputed"], ["l2"], norm="L2"),
               ml("Normalizer", ["imputed"], ["highest"], norm="MAX"),
               ml("ArrayFeatureExtractor", ["imputed", "at"], ["some"]),
               ml("FeatureVectorizer", ["imputed", "imputed"], ["side"], inputdimensions=[4, 8])],
              {name: FLOAT for name in case.wanted}, x, constants=[("at", np.array([5, 0, 5], "i8"))])

    kinds = random.integers(0, 6, (30, 2)).astype("i8")
    case = Case(folder, "categories")
    table = {0: 7, 1: -4, 3: 12, 4: 0}
    case.wanted = {"hot": (kinds[..., None] == np.array([4, 1, 5])).astype("f4"),
                   "codes": np.vectorize(lambda key: table.get(key, 99))(kinds),
                   "values": np.vectorize(lambda key: {2: 0.25, 5: -1.5}.get(key, 8.0))(kinds),
                   "filled": np.where(kinds == 3, np.array([100, 200]), kinds)}
    case.save([ml("OneHotEncoder", ["X"], ["hot"], cats_int64s=[4, 1, 5], zeros=1),
               ml("LabelEncoder", ["X"], ["codes"], keys_int64s=list(table), values_int64s=list(table.values()),
                  default_int64=99),
               ml("LabelEncoder", ["X"], ["values"], keys_int64s=[2, 5], values_floats=[0.25, -1.5], default_float=8.0),
               ml("Imputer", ["X"], ["filled"], imputed_value_int64s=[100, 200], replaced_value_int64=3)],
              {"hot": FLOAT, "codes": INT64, "values": FLOAT, "filled": INT64}, kinds, 2)

    case = Case(folder, "tensors")  # from version 4 on
    case.wanted = {"codes": np.vectorize(lambda key: table.get(key, 99))(kinds)}
    lists = {"keys": list(table), "values": list(table.values()), "default": [99]}
    case.save([ml("LabelEncoder", ["X"], ["codes"], **{f"{key}_tensor": numpy_helper.from_array(np.array(list_, "i8"), key)
                                                       for key, list_ in lists.items()})], {"codes": INT64}, kinds, 5)


def text_case(folder, random):
    """A churn model whose labels are strings: its scores are usable, and ONNX Runtime has them, too."""
    x = halves(random, (20, 3))
    trees, walk = random_trees(random, 3, 3, 2, ["BRANCH_LEQ"], False, 2)
    sums = np.array([[sum(leaf[k] for leaf in walk(row)) for k in range(2)] for row in x])
    case = Case(folder, "strings")
    case.wanted = {"scores": sums}
    case.save([ml("TreeEnsembleClassifier", ["X"], ["label", "scores"], classlabels_strings=["no", "yes"],
                  post_transform="NONE", **trees.attributes("class")),
               helper.make_node("Identity", ["label"], ["output_label"]),
               ml("ZipMap", ["scores"], ["output_probability"], classlabels_strings=["no", "yes"])],
              {"output_label": TensorProto.STRING, "output_probability": "maps", "scores": FLOAT}, x)


def make(folder, seed):
    random = np.random.default_rng(seed)
    xgboost_cases(folder, random)
    forest_cases(folder, random)
    linear_cases(folder, random)
    own_regressors(folder, random)
    own_classifiers(folder, random)
    ensembles(folder, random)
    catboost_form(folder, random, 0)
    catboost_form(folder, random, 0.3)
    column_cases(folder, random)
    text_case(folder, random)


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]))
    from classical_svm import svm_cases  # which reads this file as a module
    svm_cases(sys.argv[1], np.random.default_rng(int(sys.argv[2])))
