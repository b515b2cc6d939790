#!/usr/bin/env python3
"""Writes a network of TensorFlow.js's layers format as ONNX, with pictures [N, H, W, 3] at both ends, for tests with networks
that exist as nothing else in npm (Python's standard library only; convolutions of stride 1, sums, concatenations, Relu,
enlargement to the nearest).

    keras_onnx.py MODEL.json OUT.onnx   the weights are beside MODEL.json
"""
import json
import os
import struct
import sys

from make import model, node, tensor, value


def read_weights(path, manifest):
    weights = {}
    for group in manifest:
        data = b"".join(open(os.path.join(os.path.dirname(path), part), "rb").read() for part in group["paths"])
        at = 0
        for weight in group["weights"]:
            count = 1
            for side in weight["shape"]:
                count *= side
            weights[weight["name"]] = weight["shape"], struct.unpack_from(f"<{count}f", data, at)
            at += 4 * count
    return weights


def turned(shape, numbers):
    """A kernel [h, w, in, out] as [out, in, h, w]."""
    height, width, ins, outs = shape
    return [outs, ins, height, width], [numbers[((y * width + x) * ins + i) * outs + o] for o in range(outs) for i in range(ins)
                                        for y in range(height) for x in range(width)]


def convert(layer, inputs, weights, constants):
    name, kind, config = layer["name"], layer["class_name"], layer["config"]
    if kind == "Conv2D" and config["strides"] == [1, 1] and config["dilation_rate"] == [1, 1]:
        constants += [tensor(f"{name}/kernel", *turned(*weights[f"{name}/kernel"])), tensor(f"{name}/bias", *weights[f"{name}/bias"])]
        pad = [side // 2 if config["padding"] == "same" else 0 for side in config["kernel_size"]]
        return node("Conv", [inputs[0], f"{name}/kernel", f"{name}/bias"], [name], kernel_shape=config["kernel_size"], pads=pad + pad)
    if kind == "Activation" and config["activation"] == "relu":
        return node("Relu", inputs, [name])
    if kind == "Concatenate" and config["axis"] in (3, -1):
        return node("Concat", inputs, [name], axis=1)
    if kind == "Add" and len(inputs) == 2:
        return node("Add", inputs, [name])
    if kind == "UpSampling2D" and config["interpolation"] == "nearest":
        constants.append(tensor(f"{name}/scales", [4], [1.0, 1.0] + [float(side) for side in config["size"]]))
        return node("Resize", [inputs[0], "", f"{name}/scales"], [name], mode="nearest", nearest_mode="floor",
                    coordinate_transformation_mode="asymmetric")
    raise SystemExit(f"{name}: {kind} {config}")


def main(path, out):
    with open(path, encoding="utf-8") as file:
        tree = json.load(file)
    graph = tree["modelTopology"]["model_config"]["config"]
    weights, constants, nodes = read_weights(path, tree["weightsManifest"]), [], []
    for layer in graph["layers"]:
        if layer["class_name"] == "InputLayer":
            nodes.append(node("Transpose", ["picture"], [layer["name"]], perm=[0, 3, 1, 2]))
            continue
        if layer["config"].get("activation", "linear") != "linear" and layer["class_name"] != "Activation":
            raise SystemExit(f"{layer['name']}: an activation inside")
        nodes.append(convert(layer, [bound[0] for bound in layer["inbound_nodes"][0]], weights, constants))
    nodes.append(node("Transpose", [graph["output_layers"][0][0]], ["larger"], perm=[0, 2, 3, 1]))
    with open(out, "wb") as file:
        file.write(model(nodes, [value("picture", ["N", "H", "W", 3])], [value("larger", ["N", "H2", "W2", 3])], constants))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
