#!/usr/bin/env python3
"""Writes a network of TensorFlow.js's graph format as ONNX, for tests with networks that exist as nothing else in npm (Python's
standard library only; the operators of a CenterNet over MobileNetV3, for one picture, and of the Universal Sentence Encoder).

    tf_onnx.py MODEL.json OUTPUT OUT.onnx   with that output alone; the weights are beside MODEL.json

Sparse texts (indices, values) become input_ids and attention_mask [N, T].
"""
import base64
import json
import os
import struct
import sys

from make import model, node, tensor, value, whole_numbers

KINDS = {"float32": ("f", 4), "int32": ("i", 4), "float16": ("e", 2)}
PLAIN = {"Mul": "Mul", "Add": "Add", "Sub": "Sub", "Relu": "Relu", "Sigmoid": "Sigmoid", "Equal": "Equal", "FloorDiv": "Div",
         "FloorMod": "Mod", "Identity": "Identity", "BiasAdd": "Add", "Less": "Less", "Greater": "Greater", "LogicalNot": "Not",
         "Maximum": "Max", "Sin": "Sin", "Cos": "Cos", "Tanh": "Tanh", "RealDiv": "Div", "MatMul": "MatMul", "Softmax": "Softmax",
         "GatherNd": "GatherND", "Shape": "Shape", "Range": "Range", "Reshape": "Reshape"}
REDUCED = {"Mean": "ReduceMean", "Prod": "ReduceProd", "Max": "ReduceMax"}
TYPES = {1: 1, 3: 7, 9: 7, 10: 9}  # of TensorFlow: ONNX's
LAST = (1 << 63) - 1


def text_of(value):
    return (bytes(value) if isinstance(value, list) else base64.b64decode(value)).decode()


def flag(attr, key):
    return bool(attr.get(key, {}).get("b"))


def mask(attr, key):
    return int(attr.get(key, {}).get("i", 0))


def read_weights(path, manifest):
    weights = {}
    for group in manifest:
        data = b"".join(open(os.path.join(os.path.dirname(path), part), "rb").read() for part in group["paths"])
        at = 0
        for weight in group["weights"]:
            letter, size = KINDS[weight.get("quantization", weight)["dtype"]]
            count = 1
            for side in weight["shape"]:
                count *= side
            weights[weight["name"]] = weight["dtype"], weight["shape"], struct.unpack_from(f"<{count}{letter}", data, at)
            at += size * count
    return weights


class Writer:
    """All whole numbers become int64. Convolutions and the like have their channels first, between two Transposes."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], [tensor("zero", [], [0.0]), tensor("six", [], [6.0])]
        for name, (kind, shape, numbers) in weights.items():
            self.constants.append((tensor if kind == "float32" else whole_numbers)(name, shape, numbers))

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(node(op, inputs, output if isinstance(output, list) else [output], **attributes))

    def numbers(self, name):
        return list(self.weights[name][2])

    def channels_first(self, op, inputs, name, **attributes):
        self.add("Transpose", inputs[:1], f"{name}/first", perm=[0, 3, 1, 2])
        self.add(op, [f"{name}/first"] + inputs[1:], f"{name}/made", **attributes)
        self.add("Transpose", [f"{name}/made"], name, perm=[0, 2, 3, 1])

    def convolve(self, name, inputs, attr):
        text = text_of
        sides = lambda key: [int(i) for i in attr[key]["list"]["i"]][1:3]
        fused = [text(s) for s in attr.get("fused_ops", {"list": {"s": []}})["list"]["s"]]
        height, width, ins, outs = self.weights[inputs[1]][1]
        kernel, is_deep = self.weights[inputs[1]][2], "Depthwise" in attr["op"]
        at = lambda y, x, i, o: kernel[((y * width + x) * ins + i) * outs + o]
        turned = [at(y, x, i, o) for a in range(ins if is_deep else outs) for b in range(outs if is_deep else ins)
                  for i, o in [(a, b) if is_deep else (b, a)] for y in range(height) for x in range(width)]
        dims = [ins * outs, 1, height, width] if is_deep else [outs, ins, height, width]
        self.constants.append(tensor(f"{name}/turned", dims, turned))
        bias = inputs[2:3] if "BiasAdd" in fused else []
        last = name if fused in ([], ["BiasAdd"]) else f"{name}/sums"
        self.channels_first("Conv", [inputs[0], f"{name}/turned"] + bias, last, kernel_shape=[height, width], strides=sides("strides"),
                            dilations=sides("dilations"), group=ins if is_deep else 1,
                            auto_pad={"SAME": "SAME_UPPER"}.get(text(attr["padding"]["s"]), "VALID"))
        if last != name:
            self.clip({"Relu": ["zero"], "Relu6": ["zero", "six"]}[fused[1]], last, name)

    def clip(self, bounds, given, name):
        self.add("Clip", [given] + bounds, name)

    def whole(self, name, numbers):
        self.constants.append(whole_numbers(name, [len(numbers)], numbers))
        return name

    def slice(self, name, inputs, attr):
        begin, end, step = (self.numbers(i) for i in inputs[1:4])
        whole = mask(attr, "begin_mask") & mask(attr, "end_mask")
        axes = [i for i in range(len(begin)) if not whole >> i & 1]
        begin = [0 if mask(attr, "begin_mask") >> i & 1 else b for i, b in enumerate(begin)]
        end = [LAST if mask(attr, "end_mask") >> i & 1 else e for i, e in enumerate(end)]
        parts = [self.whole(f"{name}//{part}", [numbers[i] for i in axes])
                 for part, numbers in (("begin", begin), ("end", end), ("axes", range(len(begin))), ("step", step))]
        gone = [i for i in range(len(begin)) if mask(attr, "shrink_axis_mask") >> i & 1]
        self.add("Slice", [inputs[0]] + parts, f"{name}//kept" if gone else name)
        if gone:
            self.add("Squeeze", [f"{name}//kept", self.whole(f"{name}//gone", gone)], name)

    def convert_text(self, name, op, inputs, attr):
        """The operators of an encoder of texts; False: it is none of them."""
        if op == "Where":
            self.add("NonZero", inputs, f"{name}//rows")
            self.add("Transpose", [f"{name}//rows"], name, perm=[1, 0])
        elif op == "Square":
            self.add("Mul", inputs * 2, name)
        elif op == "Rsqrt":
            self.add("Sqrt", inputs, f"{name}//root")
            self.add("Reciprocal", [f"{name}//root"], name)
        elif op == "Sum":
            axes = self.whole(f"{name}//axes", self.numbers(inputs[1]))
            self.add("ReduceSum", [inputs[0], axes], name, keepdims=int(flag(attr, "keep_dims")))
        elif op == "Pack":
            axis = self.whole(f"{name}//axis", [mask(attr, "axis")])
            for i, each in enumerate(inputs):
                self.add("Unsqueeze", [each, axis], f"{name}//{i}")
            self.add("Concat", [f"{name}//{i}" for i in range(len(inputs))], name, axis=mask(attr, "axis"))
        elif op == "Squeeze":
            gone = [int(i) for i in attr["squeeze_dims"]["list"]["i"]]
            self.add("Squeeze", [inputs[0], self.whole(f"{name}//gone", gone)], name)
        elif op == "SplitV":
            parts = [name if i == 0 else f"{name}:{i}" for i in range(len(self.numbers(inputs[1])))]
            self.add("Split", inputs[:2], parts, axis=self.numbers(inputs[2])[0])
        elif op == "Slice":
            begin, size = self.numbers(inputs[1]), self.numbers(inputs[2])
            ends = [LAST if s < 0 else b + s for b, s in zip(begin, size)]
            self.add("Slice", [inputs[0], self.whole(f"{name}//begin", begin), self.whole(f"{name}//end", ends)], name)
        elif op in ("ScatterNd", "SparseToDense"):
            rows, values, shape, empty = (inputs + ["zero"])[:4] if op == "ScatterNd" else [inputs[i] for i in (0, 2, 1, 3)]
            self.add("Expand", [empty, shape], f"{name}//empty")
            self.add("ScatterND", [f"{name}//empty", rows, values], name)
        elif op == "Transpose":
            self.add("Transpose", inputs[:1], name, perm=self.numbers(inputs[1]))
        elif op == "BatchMatMul":
            second = f"{name}//turned" if flag(attr, "adj_y") else inputs[1]
            if second != inputs[1]:
                self.add("Transpose", inputs[1:], second, perm=[0, 1, 3, 2])
            self.add("MatMul", [inputs[0], second], name)
        else:
            return False
        return True

    def convert(self, name, op, inputs, attr):
        if op in PLAIN:
            self.add(PLAIN[op], inputs, name)
        elif op.endswith(("Conv2D", "DepthwiseConv2dNative")):
            self.convolve(name, inputs, dict(attr, op=op))
        elif op == "Relu6":
            self.clip(["zero", "six"], inputs[0], name)
        elif op in REDUCED:
            self.add(REDUCED[op], inputs[:1], name, axes=self.numbers(inputs[1]), keepdims=int(flag(attr, "keep_dims")))
        elif op == "ConcatV2":
            self.add("Concat", inputs[:-1], name, axis=self.numbers(inputs[-1])[0])
        elif op == "Cast":
            self.add("Cast", inputs, name, to=TYPES[int(attr.get("DstT", {}).get("type", 1))])
        elif op in ("ExpandDims", "TopKV2"):
            self.constants.append(whole_numbers(f"{name}/number", [1], self.numbers(inputs[1])))
            made = "Unsqueeze" if op == "ExpandDims" else "TopK"
            self.add(made, [inputs[0], f"{name}/number"], name if op == "ExpandDims" else [name, f"{name}:1"])
        elif op == "GatherV2":
            self.add("Gather", inputs[:2], name, axis=self.numbers(inputs[2])[0])
        elif op == "StridedSlice":
            self.slice(name, inputs, attr)
        elif op == "MaxPool":
            sides = [int(i) for i in attr["ksize"]["list"]["i"]][1:3]
            self.channels_first("MaxPool", inputs, name, kernel_shape=sides, auto_pad="SAME_UPPER")
        elif op == "ResizeBilinear":  # of Keras's UpSampling2D, by two
            self.constants.append(tensor(f"{name}/scales", [4], [1.0, 1.0, 2.0, 2.0]))
            self.channels_first("Resize", [inputs[0], "", f"{name}/scales"], name, mode="linear",
                                coordinate_transformation_mode="asymmetric")
        elif not self.convert_text(name, op, inputs, attr):
            raise SystemExit(f"{name}: {op}")

    def take_texts(self):
        """What the sparse inputs hold, of dense ones."""
        self.add("NonZero", ["attention_mask"], "places")
        self.add("Transpose", ["places"], "indices", perm=[1, 0])
        self.add("GatherND", ["input_ids", "indices"], "values")
        return [value(name, ["N", "T"], 7) for name in ("input_ids", "attention_mask")]


def main(path, output, out):
    with open(path, encoding="utf-8") as file:
        tree = json.load(file)
    made = {each["name"]: each for each in tree["modelTopology"]["node"]}
    writer, done, inputs = Writer(read_weights(path, tree["weightsManifest"])), set(), []
    waiting = [output]
    while waiting:  # what a node reads comes before it
        each = made[waiting[-1]]
        own = [name.lstrip("^").split(":")[0] for name in each.get("input", [])]
        open_ones = [name for name in own if name not in done]
        if open_ones:
            waiting += open_ones
            continue
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        if each["op"] == "Placeholder" and name in ("indices", "values"):
            continue
        if each["op"] == "Placeholder":
            dims = [int(side["size"]) for side in each["attr"]["shape"]["shape"]["dim"]]
            inputs.append(value(name, dims))
        elif each["op"] != "Const":
            writer.convert(name, each["op"], each.get("input", []), each.get("attr", {}))
    nodes, dims = writer.nodes, [1, "K", 6]
    if {"indices", "values"} <= done:
        writer.nodes, dims = [], ["N", "D"]
        inputs = writer.take_texts()
        nodes = writer.nodes + nodes
    with open(out, "wb") as file:
        file.write(model(nodes, inputs, [value(output, dims)], writer.constants))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
