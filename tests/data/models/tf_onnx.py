#!/usr/bin/env python3
"""Writes a network of TensorFlow.js's graph format as ONNX, for tests with networks that exist as nothing else in npm (Python's
standard library only; the operators of a CenterNet over MobileNetV3, for one picture).

    tf_onnx.py MODEL.json OUTPUT OUT.onnx   with that output alone; the weights are beside MODEL.json
"""
import base64
import json
import os
import struct
import sys

from make import model, node, tensor, value, whole_numbers

KINDS = {"float32": ("f", 4), "int32": ("i", 4), "float16": ("e", 2)}
PLAIN = {"Mul": "Mul", "Add": "Add", "Sub": "Sub", "Relu": "Relu", "Sigmoid": "Sigmoid", "Equal": "Equal", "FloorDiv": "Div",
         "FloorMod": "Mod", "Identity": "Identity"}


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
        text = lambda s: base64.b64decode(s).decode()
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

    def slice(self, name, inputs, attr):
        begin, end, step = (self.numbers(i) for i in inputs[1:4])
        masked = int(attr["begin_mask"]["i"]) & int(attr["end_mask"]["i"])
        axes = [i for i in range(len(begin)) if not masked >> i & 1]
        parts = []
        for part, numbers in (("begin", begin), ("end", end), ("axes", range(len(begin))), ("step", step)):
            parts.append(f"{name}/{part}")
            self.constants.append(whole_numbers(parts[-1], [len(axes)], [numbers[i] for i in axes]))
        self.add("Slice", [inputs[0]] + parts, name)

    def convert(self, name, op, inputs, attr):
        if op in PLAIN:
            self.add(PLAIN[op], inputs, name)
        elif op.endswith(("Conv2D", "DepthwiseConv2dNative")):
            self.convolve(name, inputs, dict(attr, op=op))
        elif op == "Relu6":
            self.clip(["zero", "six"], inputs[0], name)
        elif op == "Mean":
            self.add("ReduceMean", inputs[:1], name, axes=self.numbers(inputs[1]), keepdims=int(attr["keep_dims"]["b"]))
        elif op == "ConcatV2":
            self.add("Concat", inputs[:-1], name, axis=self.numbers(inputs[-1])[0])
        elif op == "Reshape":
            self.add("Reshape", inputs, name)
        elif op == "Cast":
            self.add("Cast", inputs, name, to=1)
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
        else:
            raise SystemExit(f"{name}: {op}")


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
        if each["op"] == "Placeholder":
            dims = [int(side["size"]) for side in each["attr"]["shape"]["shape"]["dim"]]
            inputs.append(value(name, dims))
        elif each["op"] != "Const":
            writer.convert(name, each["op"], each.get("input", []), each.get("attr", {}))
    with open(out, "wb") as file:
        file.write(model(writer.nodes, inputs, [value(output, [1, "K", 6])], writer.constants))


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
