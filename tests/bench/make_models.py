#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the benchmark's networks as ONNX files, with seeded random weights (He's scale).

    make_models.py DIRECTORY        johnson.onnx, johnson_half.onnx, resnet50.onnx, squeezenet.onnx,
                                    mobilenetv2.onnx, mlp.onnx; those that are there stay

Standard library only: the few protobuf messages an ONNX file needs are written by hand below.
"""
import array
import math
import os
import random
import sys


# --- protobuf: fields are (number << 3 | wire type), sizes and integers are varints ---------------
def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field, value):
    return varint(field << 3) + varint(value)


def data(field, payload):
    if isinstance(payload, str):
        payload = payload.encode()
    return varint(field << 3 | 2) + varint(len(payload)) + payload


FLOAT, INT64 = 1, 7  # TensorProto.DataType


def tensor(name, dims, values, kind=FLOAT):
    raw = array.array("f" if kind == FLOAT else "q", values)
    if sys.byteorder == "big":
        raw.byteswap()
    packed = b"".join(varint(d) for d in dims)
    return data(1, packed) + integer(2, kind) + data(8, name) + data(9, raw.tobytes())


def attribute(name, value):
    if isinstance(value, int):
        body = integer(3, value) + integer(20, 2)
    elif isinstance(value, float):
        body = varint(2 << 3 | 5) + array.array("f", [value]).tobytes() + integer(20, 1)
    elif isinstance(value, str):
        body = data(4, value) + integer(20, 3)
    else:
        body = b"".join(integer(8, v) for v in value) + integer(20, 7)
    return data(1, name) + body


def value_info(name, dims):
    shape = b"".join(
        data(1, data(2, d) if isinstance(d, str) else integer(1, d)) for d in dims)
    return data(1, name) + data(2, data(1, integer(1, FLOAT) + data(2, shape)))


# --- a network under construction ------------------------------------------------------------------
class Network:
    def __init__(self, name, seed, opset):
        self.name, self.opset = name, opset
        self.random = random.Random(seed)
        self.nodes, self.constants, self.count, self.parameters = [], [], 0, 0

    def node(self, op, inputs, **attributes):
        self.count += 1
        output = "%s_%d" % (op.lower(), self.count)
        body = b"".join(data(1, name) for name in inputs) + data(2, output)
        body += data(3, output) + data(4, op)
        body += b"".join(data(5, attribute(k, v)) for k, v in sorted(attributes.items()))
        self.nodes.append(data(1, body))
        return output

    def constant(self, dims, values, kind=FLOAT):
        name = "constant_%d" % len(self.constants)
        self.constants.append(data(5, tensor(name, dims, values, kind)))
        return name

    def weights(self, dims, deviation, mean=0.0):
        self.parameters += math.prod(dims)
        gauss = self.random.gauss
        return self.constant(dims, [gauss(mean, deviation) for _ in range(math.prod(dims))])

    def conv(self, x, channels_in, channels_out, kernel, stride=1, pad=0, bias=True, gain=2.0,
             group=1):
        each = channels_in // group
        deviation = math.sqrt(gain / (each * kernel * kernel))
        inputs = [x, self.weights([channels_out, each, kernel, kernel], deviation)]
        if bias:
            inputs.append(self.weights([channels_out], 0.1))
        return self.node("Conv", inputs, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                         pads=[pad] * 4, dilations=[1, 1], group=group)

    def norm(self, x, channels, scale=1.0):
        uniform = self.random.uniform
        inputs = [x, self.weights([channels], 0.05, scale), self.weights([channels], 0.05),
                  self.weights([channels], 0.1),
                  self.constant([channels], [uniform(0.8, 1.2) for _ in range(channels)])]
        return self.node("BatchNormalization", inputs, epsilon=1e-5)

    def save(self, path, inputs, output, output_dims):
        graph = b"".join(self.nodes) + data(2, self.name) + b"".join(self.constants)
        graph += b"".join(data(11, value_info(n, d)) for n, d in inputs)
        graph += data(12, value_info(output, output_dims))
        model = integer(1, 7) + data(2, "windlass-bench") + data(7, graph)
        model += data(8, integer(2, self.opset))
        with open(path + ".new", "wb") as file:
            file.write(model)
        os.rename(path + ".new", path)
        print("%s: %d parameters" % (path, self.parameters))


def johnson(path, seed, width=32):
    """Fast style transfer (Johnson et al. 2016) with instance norm, as PyTorch exports it."""
    n = Network("TransformerNet", seed, 11)
    scales = n.constant([4], [1, 1, 2, 2])
    roi = n.constant([0], [])

    def reflect_conv(x, channels_in, channels_out, kernel, stride=1, gain=2.0):
        p = kernel // 2
        pads = n.constant([8], [0, 0, p, p, 0, 0, p, p], INT64)
        return n.conv(n.node("Pad", [x, pads], mode="reflect"), channels_in, channels_out, kernel,
                      stride, gain=gain)

    def norm(x, channels):
        inputs = [x, n.weights([channels], 0.1, 1.0), n.weights([channels], 0.1)]
        return n.node("InstanceNormalization", inputs, epsilon=1e-5)

    def relu(x):
        return n.node("Relu", [x])

    def double(x):
        return n.node("Resize", [x, roi, scales], mode="nearest", nearest_mode="floor",
                      coordinate_transformation_mode="asymmetric")

    a, b, c = width, 2 * width, 4 * width
    x = relu(norm(reflect_conv("input", 3, a, 9), a))
    x = relu(norm(reflect_conv(x, a, b, 3, 2), b))
    x = relu(norm(reflect_conv(x, b, c, 3, 2), c))
    for _ in range(5):
        y = relu(norm(reflect_conv(x, c, c, 3), c))
        x = n.node("Add", [norm(reflect_conv(y, c, c, 3), c), x])
    x = relu(norm(reflect_conv(double(x), c, b, 3), b))
    x = relu(norm(reflect_conv(double(x), b, a, 3), a))
    x = reflect_conv(x, a, 3, 9)
    n.save(path, [("input", ["n", 3, "h", "w"])], x, ["n", 3, "oh", "ow"])


def resnet50(path, seed):
    """ResNet-50 v1.5: the 3x3 convolution of a stage's first block has the stride."""
    n = Network("ResNet-50", seed, 13)

    def conv_norm(x, channels_in, channels_out, kernel, stride=1, gain=2.0, scale=1.0):
        x = n.conv(x, channels_in, channels_out, kernel, stride, kernel // 2, False, gain)
        return n.norm(x, channels_out, scale)

    def relu(x):
        return n.node("Relu", [x])

    x = relu(conv_norm("input", 3, 64, 7, 2))
    x = n.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = relu(conv_norm(x, channels, width, 1))
            y = relu(conv_norm(y, width, width, 3, stride))
            y = conv_norm(y, width, 4 * width, 1, scale=0.5)
            if block == 0:
                x = conv_norm(x, channels, 4 * width, 1, stride, gain=1.0)
            x = relu(n.node("Add", [y, x]))
            channels = 4 * width
    x = n.node("Flatten", [n.node("GlobalAveragePool", [x])], axis=1)
    w = n.weights([1000, 2048], math.sqrt(1 / 2048))
    x = n.node("Gemm", [x, w, n.weights([1000], 0.1)], transB=1, alpha=1.0, beta=1.0)
    n.save(path, [("input", ["n", 3, 224, 224])], x, ["n", 1000])


def squeezenet(path, seed):
    """SqueezeNet 1.1 (Iandola et al. 2016); its dropout does nothing in inference."""
    n = Network("SqueezeNet", seed, 13)

    def conv(x, channels_in, channels_out, kernel, stride=1, pad=0):
        return n.node("Relu", [n.conv(x, channels_in, channels_out, kernel, stride, pad)])

    def pool(x):
        return n.node("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)

    x = pool(conv("input", 3, 64, 3, 2))
    channels = 64
    for index, (squeezed, wide) in enumerate(
            ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))):
        x = pool(x) if index in (2, 4) else x
        y = conv(x, channels, squeezed, 1)
        x = n.node("Concat", [conv(y, squeezed, wide, 1), conv(y, squeezed, wide, 3, 1, 1)], axis=1)
        channels = 2 * wide
    x = n.node("Flatten", [n.node("GlobalAveragePool", [conv(x, channels, 1000, 1)])], axis=1)
    n.save(path, [("input", ["n", 3, 224, 224])], x, ["n", 1000])


def mobilenetv2(path, seed):
    """MobileNetV2 (Sandler et al. 2018), width 1, as PyTorch exports it: relu6 is a Clip."""
    n = Network("MobileNetV2", seed, 13)
    low, high = n.constant([], [0.0]), n.constant([], [6.0])

    def conv(x, channels_in, channels_out, kernel, stride=1, group=1, clips=True):
        x = n.conv(x, channels_in, channels_out, kernel, stride, kernel // 2, False, group=group)
        x = n.norm(x, channels_out)
        return n.node("Clip", [x, low, high]) if clips else x

    x = conv("input", 3, 32, 3, 2)
    channels = 32
    for times, out, count, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                     (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(count):
            stride, wide = first if block == 0 else 1, times * channels
            y = conv(x, channels, wide, 1) if times > 1 else x
            y = conv(y, wide, wide, 3, stride, wide)
            y = conv(y, wide, out, 1, clips=False)
            x = n.node("Add", [x, y]) if stride == 1 and channels == out else y
            channels = out
    x = conv(x, channels, 1280, 1)
    x = n.node("Flatten", [n.node("GlobalAveragePool", [x])], axis=1)
    w = n.weights([1000, 1280], math.sqrt(1 / 1280))
    x = n.node("Gemm", [x, w, n.weights([1000], 0.1)], transB=1, alpha=1.0, beta=1.0)
    n.save(path, [("input", ["n", 3, 224, 224])], x, ["n", 1000])


def mlp(path, seed, sizes=(1024, 4096, 4096, 1000)):
    """Dense layers: at batch 1 all weights are read for one row."""
    n = Network("MLP", seed, 13)
    x = "input"
    for index, (from_, to) in enumerate(zip(sizes, sizes[1:])):
        bound = math.sqrt(6 / from_) / 2 ** 31  # uniform: 25 million gaussian numbers would take long
        numbers = array.array("i", n.random.randbytes(4 * from_ * to))
        n.parameters += from_ * to
        w = n.constant([to, from_], [bound * number for number in numbers])
        x = n.node("Gemm", [x, w, n.weights([to], 0.1)], transB=1, alpha=1.0, beta=1.0)
        x = n.node("Relu", [x]) if index < len(sizes) - 2 else x
    n.save(path, [("input", ["n", sizes[0]])], x, ["n", sizes[-1]])


def johnson_half(path, seed):
    johnson(path, seed, 16)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_models.py DIRECTORY")
    os.makedirs(sys.argv[1], exist_ok=True)
    for seed, make in enumerate((johnson, johnson_half, resnet50, squeezenet, mobilenetv2, mlp), 1):
        path = os.path.join(sys.argv[1], make.__name__ + ".onnx")
        if not os.path.exists(path):
            make(path, seed)


if __name__ == "__main__":
    main()
