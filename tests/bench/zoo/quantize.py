"""Networks of zoo.py quantized to 8 bits, for precision.sh: what a convolution, a product with constant weights or an addition
reads goes through QuantizeLinear and DequantizeLinear with one scale for all, weights through one for each output. Usage:
quantize.py FOLDER OUT NAME..."""
import json
import sys

import numpy
import onnx
from onnx import helper, numpy_helper


class Quantization:
    """The nodes and constants of a quantized copy of a graph."""

    def __init__(self, graph):
        self.constants = {tensor.name: tensor for tensor in graph.initializer}
        self.nodes, self.new, self.made = [], {}, set()
        self.scale = self.constant("scale", numpy.float32(0.05))
        self.zero = self.constant("zero", numpy.uint8(120))

    def constant(self, name, value):
        self.new["quantized:" + name] = numpy_helper.from_array(numpy.asarray(value), "quantized:" + name)
        return "quantized:" + name

    def node(self, kind, inputs, output, **attributes):
        if output not in self.made:
            self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
            self.made.add(output)
        return output

    def value(self, name):
        bits = self.node("QuantizeLinear", [name, self.scale, self.zero], name + ":8")
        return self.node("DequantizeLinear", [bits, self.scale, self.zero], name + ":32")

    def weights(self, name, axis):
        if name + ":32" in self.made:
            return name + ":32"
        numbers = numpy_helper.to_array(self.constants[name])
        others = tuple(i for i in range(numbers.ndim) if i != axis)
        scale = (abs(numbers).max(axis=others) / 127 + 1e-9).astype(numpy.float32)
        shape = [-1 if i == axis else 1 for i in range(numbers.ndim)]
        bits = numpy.clip(numpy.round(numbers / scale.reshape(shape)), -127, 127).astype(numpy.int8)
        inputs = [self.constant(name, bits), self.constant(name + ":scale", scale),
                  self.constant(name + ":zero", numpy.zeros(len(scale), numpy.int8))]
        return self.node("DequantizeLinear", inputs, name + ":32", axis=axis)

    def take(self, node):
        is_layer = node.op_type in ("Conv", "Gemm", "MatMul") and node.input[1] in self.constants
        if is_layer:
            rank = len(self.constants[node.input[1]].dims)
            turned = any(a.name == "transB" and a.i for a in node.attribute)
            node.input[0] = self.value(node.input[0])
            node.input[1] = self.weights(node.input[1], 0 if node.op_type == "Conv" or turned else rank - 1)
        elif node.op_type == "Add":
            for i, name in enumerate(node.input):
                if name not in self.constants:
                    node.input[i] = self.value(name)
        self.nodes.append(node)


def quantize(model):
    graph = model.graph
    copy = Quantization(graph)
    for node in graph.node:
        copy.take(node)
    used = {name for node in copy.nodes for name in node.input}
    constants = [tensor for tensor in graph.initializer if tensor.name in used] + list(copy.new.values())
    del graph.node[:], graph.initializer[:]
    graph.node.extend(copy.nodes)
    graph.initializer.extend(constants)


def main():
    folder, out, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(f"{folder}/zoo.json", encoding="utf-8") as file:
        rows = {row["name"]: row for row in json.load(file)}
    for name in names:
        model = onnx.load(f"{folder}/{name}.onnx")
        quantize(model)
        onnx.save(model, f"{out}/{name}.onnx")
    with open(f"{out}/zoo.json", "w", encoding="utf-8") as file:
        json.dump([rows[name] for name in names], file)


main()
