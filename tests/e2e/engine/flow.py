#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with control flow, sequences and shapes that only the run knows; opsets.py compares our results with those of
ONNX Runtime.

    flow.py make FOLDER SEED        FOLDER/NAME/{model.onnx, inputs.json, x0.raw, x0.pb, ...}, FOLDER/names
    flow.py compare FOLDER          NAME/{cpu,reference}/y0.pb ... against NAME/ort.json
"""
import json
import os
import sys

import numpy as np
import onnx
import opsets
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def value(name, type_, shape=None):
    return helper.make_tensor_value_info(name, type_, shape)


def sequence(name, type_=FLOAT):
    return helper.make_tensor_sequence_value_info(name, type_, None)


def const(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def body(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", inputs, outputs, list(constants))


class Models:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.all = {}

    def f(self, *shape):
        return (self.rng.random(shape) * 2 - 1).astype("f4")

    def add(self, name, nodes, inputs, outputs, constants=(), opset=17):
        """inputs: name -> array; outputs: how many, y0, y1, ..."""
        self.all[name] = (nodes, inputs, outputs, constants, opset)


def shapes(m):
    f, add, rng = m.f, m.add, m.rng
    add("non-zero", [node("Relu", ["x0"], ["a"]), node("NonZero", ["a"], ["n"]), node("Transpose", ["n"], ["y0"]),
                     node("GatherND", ["x0", "y0"], ["g"]), node("Exp", ["g"], ["y1"]), node("Shape", ["n"], ["y2"])],
        {"x0": f(5, 7, 3)}, 3)
    add("non-zero-none", [node("NonZero", ["x0"], ["y0"]), node("Gather", ["x1", "y0"], ["y1"])],
        {"x0": np.zeros(9, "f4"), "x1": f(9, 2)}, 2)
    for name, attributes, condition in (("axis", {"axis": 1}, rng.random(7) > 0.5), ("flat", {}, rng.random(20) > 0.5),
                                        ("negative", {"axis": -1}, rng.random(2) > 0.3)):
        add("compress-" + name, [node("Compress", ["x0", "x1"], ["c"], **attributes), node("Neg", ["c"], ["y0"])],
            {"x0": f(4, 7, 3), "x1": condition}, 1)
    x = rng.integers(0, 5, (6, 3, 2))
    for name, attributes in (("flat", {}), ("unsorted", {"sorted": 0}), ("axis", {"axis": 1}), ("rows", {"axis": 0}),
                             ("rows-unsorted", {"axis": 0, "sorted": 0})):
        for type_ in ("f4", "i8"):
            add(f"unique-{name}-{type_}", [node("Unique", ["x0"], ["y0", "y1", "y2", "y3"], **attributes)],
                {"x0": x.astype(type_)}, 4)
    boxes = np.sort(rng.random((2, 30, 4)).astype("f4"), axis=2)
    for name, center, rest in (("corners", 0, ["m", "i", "s"]), ("center", 1, ["m", "i", "s"]), ("free", 0, ["m", "i"])):
        add("suppression-" + name,
            [node("NonMaxSuppression", ["x0", "x1", *rest], ["y0"], center_point_box=center),
             node("Slice", ["y0", "two", "three", "one"], ["k"]), node("Squeeze", ["k", "one"], ["kk"]),
             node("Squeeze", ["x2", "zero"], ["b"]), node("Gather", ["b", "kk"], ["y1"])],
            {"x0": boxes, "x1": rng.random((2, 3, 30)).astype("f4"), "x2": boxes[:1]}, 2,
            [const("m", np.int64(7)), const("i", np.float32(0.4)), const("s", np.float32(0.3)), const("zero", [0]),
             const("one", [1]), const("two", [2]), const("three", [3])])
    add("reshape-computed", [node("ReduceSum", ["x1"], ["s"], keepdims=1), node("Cast", ["s"], ["si"], to=INT),
                             node("Concat", ["si", "rest"], ["shape"], axis=0), node("Mul", ["x0", "x0"], ["q"]),
                             node("Reshape", ["q", "shape"], ["r"]), node("Softmax", ["r"], ["y0"], axis=1)],
        {"x0": f(4, 6), "x1": np.array([1.25, 0.75, 1], "f4")}, 1, [const("rest", [-1])])
    add("cut-beside-a-folded-constant",
        [node("NonZero", ["x0"], ["y0"]), node("Exp", ["w"], ["c"]), node("ReduceSum", ["x1"], ["s"], keepdims=1),
         node("Cast", ["s"], ["si"], to=INT), node("Concat", ["si", "rest"], ["shape"], axis=0),
         node("Reshape", ["x0", "shape"], ["r"]), node("Add", ["r", "c"], ["y1"])],
        {"x0": f(4, 6), "x1": np.array([1.25, 0.75, 1], "f4")}, 2, [const("rest", [-1]), const("w", f(8))])
    add("range-computed", [node("ReduceMax", ["x0"], ["m"], keepdims=0), node("Cast", ["m"], ["mi"], to=INT),
                           node("Range", ["zero", "mi", "step"], ["r"]), node("Mul", ["r", "r"], ["y0"]),
                           node("Unsqueeze", ["mi", "axes"], ["one"]), node("ConstantOfShape", ["one"], ["z"]),
                           node("Shape", ["z"], ["y1"]), node("Slice", ["x1", "axes", "one"], ["y2"]),
                           node("Tile", ["x1", "one"], ["y3"]), node("TopK", ["x1", "one"], ["y4", "y5"])],
        {"x0": np.array([1, 4.5, 2], "f4"), "x1": f(11)}, 6,
        [const("zero", np.int64(0)), const("step", np.int64(1)), const("axes", [0])])
    add("half", [node("Cast", ["x0"], ["h"], to=TensorProto.FLOAT16), node("Compress", ["h", "x1"], ["c"], axis=0),
                 node("MatMul", ["c", "w"], ["p"]), node("Softmax", ["p"], ["s"]),
                 node("Cast", ["s"], ["y0"], to=FLOAT)],
        {"x0": f(6, 8), "x1": np.array([1, 0, 1, 1, 0, 1], "?")}, 1, [const("w", f(8, 5).astype("f2"))])


def branches(m):
    f, add = m.f, m.add
    then = body([node("Conv", ["a", "w"], ["conv"]), node("Relu", ["conv"], ["t"])], [], [value("t", FLOAT)])
    other = body([node("ReduceMean", ["a"], ["e"], axes=[2, 3], keepdims=1)], [], [value("e", FLOAT)])
    weights = const("w", f(4, 3, 3, 3))
    for name, sign in (("then", 1), ("else", -1)):
        add("if-" + name, [node("ReduceSum", ["x1"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c"]),
                           node("Abs", ["x0"], ["a"]), node("If", ["c"], ["r"], then_branch=then, else_branch=other),
                           node("Shape", ["r"], ["y0"]), node("Mul", ["r", "two"], ["y1"])],
            {"x0": f(1, 3, 8, 9), "x1": np.array([sign, sign / 2], "f4")}, 2,
            [weights, const("zero", np.float32(0)), const("two", np.float32(2))])
    inner = body([node("Add", ["v", "outer"], ["u"])], [], [value("u", FLOAT)])
    same = body([node("Identity", ["v"], ["u"])], [], [value("u", FLOAT)])
    loop = body([node("Mod", ["n", "two"], ["r"]), node("Cast", ["r"], ["odd"], to=BOOL),
                 node("If", ["odd"], ["w"], then_branch=inner, else_branch=same), node("Identity", ["c"], ["go"]),
                 node("ReduceSum", ["w"], ["sum"], keepdims=0)],
                [value("n", INT, []), value("c", BOOL, []), value("v", FLOAT)],
                [value("go", BOOL), value("w", FLOAT), value("sum", FLOAT, [])])
    add("loop-if", [node("Sin", ["x0"], ["outer"]), node("Loop", ["x1", "", "x2"], ["y0", "y1"], body=loop)],
        {"x0": f(3, 4), "x1": np.array(7, "i8"), "x2": f(3, 4)}, 2, [const("two", np.int64(2))])


def loops(m):
    f, add = m.f, m.add
    grow = body([node("Concat", ["v", "row"], ["w"], axis=0), node("ReduceSum", ["w"], ["s"], keepdims=0),
                 node("Less", ["s", "most"], ["go"]), node("Shape", ["w"], ["shape"])],
                [value("n", INT, []), value("c", BOOL, []), value("v", FLOAT)],
                [value("go", BOOL), value("w", FLOAT), value("shape", INT, [2])])
    for name, most in (("long", 100.0), ("broken", 7.5)):
        add("loop-grows-" + name, [node("Loop", ["n", "t", "x0"], ["y0", "y1"], body=grow)], {"x0": f(1, 4)}, 2,
            [const("row", np.ones((1, 4), "f4")), const("most", np.float32(most)), const("n", np.int64(9)),
             const("t", np.bool_(True))])
    count = body([node("Add", ["v", "n"], ["w"]), node("Identity", ["c"], ["go"]), node("Mul", ["w", "w"], ["q"])],
                 [value("n", INT, []), value("c", BOOL, []), value("v", INT, [])],
                 [value("go", BOOL, []), value("w", INT, []), value("q", INT, [])])
    for name, rounds in (("none", 0), ("some", 40)):
        add("loop-" + name, [node("Loop", ["x0", "", "x1"], ["y0", "y1"], body=count)],
            {"x0": np.array(rounds, "i8"), "x1": np.array(3, "i8")}, 2)
    cut = body([node("Unsqueeze", ["n", "zero"], ["from"]), node("Add", ["from", "one"], ["to"]),
                node("Slice", ["outer", "from", "to"], ["row"]), node("Squeeze", ["row", "zero"], ["flat"]),
                node("Identity", ["c"], ["go"])],
               [value("n", INT, []), value("c", BOOL, [])], [value("go", BOOL), value("flat", FLOAT, [4])])
    add("loop-slices", [node("Cos", ["x0"], ["outer"]), node("Shape", ["x0"], ["sh"]),
                        node("Gather", ["sh", "first"], ["len"]), node("Loop", ["len", ""], ["y0"], body=cut)],
        {"x0": f(11, 4)}, 1, [const("zero", [0]), const("one", [1]), const("first", np.int64(0))])
    scan = body([node("MatMul", ["h", "w"], ["p"]), node("Add", ["p", "a"], ["q"]), node("Add", ["q", "b"], ["s"]),
                 node("Tanh", ["s"], ["g"]), node("Mul", ["g", "b"], ["k"])],
                [value("h", FLOAT, [5]), value("a", FLOAT, [5]), value("b", FLOAT, [5])],
                [value("g", FLOAT, [5]), value("k", FLOAT, [5])])
    for name, attributes, x1 in (("", {}, f(9, 5)),
                                 ("-turned", {"scan_input_directions": [1, 0], "scan_output_directions": [1],
                                              "scan_output_axes": [1], "scan_input_axes": [0, 1]}, f(5, 9))):
        add("scan" + name, [node("Scan", ["x0", "x2", "x1"], ["y0", "y1"], body=scan, num_scan_inputs=2, **attributes)],
            {"x0": f(5), "x1": x1, "x2": f(9, 5)}, 2, [const("w", f(5, 5))])


def sequences(m):
    f, add = m.f, m.add
    add("sequence", [node("SequenceConstruct", ["x0", "x1"], ["s"]), node("Exp", ["x0"], ["e"]),
                     node("SequenceInsert", ["s", "e"], ["t"]), node("SequenceInsert", ["t", "x1", "zero"], ["u"]),
                     node("SequenceErase", ["u", "minus"], ["v"]), node("SequenceAt", ["v", "one"], ["y0"]),
                     node("SequenceLength", ["v"], ["y1"]), node("ConcatFromSequence", ["u"], ["y2"], axis=-1),
                     node("ConcatFromSequence", ["v"], ["y3"], axis=1, new_axis=1), node("Neg", ["y2"], ["y4"])],
        {"x0": f(3, 4), "x1": f(3, 4)}, 5,
        [const("zero", np.int64(0)), const("one", np.int64(1)), const("minus", np.int64(-2))])
    for name, split, attributes in (("list", [2, 1, 4], {}), ("number", np.int64(3), {}), ("ones", None, {}),
                                    ("flat", None, {"keepdims": 0})):
        inputs = ["x0"] + (["p"] if split is not None else [])
        add("split-" + name, [node("SplitToSequence", inputs, ["s"], axis=1, **attributes),
                              node("SequenceLength", ["s"], ["y0"]), node("SequenceAt", ["s", "minus"], ["y1"])],
            {"x0": f(3, 7, 2)}, 2, [const("minus", np.int64(-1))] + ([const("p", split)] if split is not None else []))
    loop = body([node("Cast", ["n"], ["n1"], to=FLOAT), node("Add", ["outer", "n1"], ["a"]),
                 node("SequenceInsert", ["s", "a"], ["t"]), node("Identity", ["c"], ["go"])],
                [value("n", INT, []), value("c", BOOL, []), sequence("s")], [value("go", BOOL), sequence("t")])
    add("sequence-loop", [node("Relu", ["x0"], ["outer"]), node("SequenceEmpty", [], ["e"], dtype=FLOAT),
                          node("Loop", ["x1", "", "e"], ["s"], body=loop),
                          node("ConcatFromSequence", ["s"], ["y0"], axis=0)],
        {"x0": f(2, 3), "x1": np.array(5, "i8")}, 1)
    maps = body([node("Mul", ["e", "k"], ["p"]), node("Add", ["p", "outer"], ["q"])],
                [value("e", FLOAT), value("k", FLOAT)], [value("q", FLOAT)])
    add("sequence-map", [node("SplitToSequence", ["x0"], ["s"]), node("Relu", ["x1"], ["outer"]),
                         node("SequenceMap", ["s", "x1"], ["t"], body=maps),
                         node("ConcatFromSequence", ["t"], ["y0"], axis=0)],
        {"x0": f(4, 3), "x1": f(1, 3)}, 1)
    add("optional", [node("Optional", ["x0"], ["o"]), node("OptionalHasElement", ["o"], ["y0"]),
                     node("OptionalGetElement", ["o"], ["g"]), node("Neg", ["g"], ["y1"])], {"x0": f(3)}, 2, opset=18)


def write(folder, name, model):
    nodes, inputs, outputs, constants, opset = model
    at = os.path.join(folder, name)
    os.makedirs(at)
    told = []
    for key, array in inputs.items():
        onnx.save_tensor(numpy_helper.from_array(array, key), f"{at}/{key}.pb")
        np.asarray(array, order="C").tofile(f"{at}/{key}.raw")
        told.append({"name": key, "type": str(array.dtype), "dims": list(array.shape)})
    fed = [value(key, helper.np_dtype_to_tensor_dtype(a.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype")
                 else onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[a.dtype], a.shape) for key, a in inputs.items()]
    graph = helper.make_graph(nodes, name, fed, [onnx.ValueInfoProto(name=f"y{k}") for k in range(outputs)],
                              list(constants))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 8
    onnx.save(made, f"{at}/model.onnx")
    with open(f"{at}/inputs.json", "w") as file:
        json.dump(told, file)


def make(folder, seed):
    models = Models(seed)
    for family in (shapes, branches, loops, sequences):
        family(models)
    for name, model in models.all.items():
        write(folder, name, model)
    with open(f"{folder}/names", "w") as file:
        file.writelines(name + "\n" for name in models.all)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(opsets.compare(sys.argv[2], 30))
