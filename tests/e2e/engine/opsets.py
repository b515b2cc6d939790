#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of one node each, for the changes of opsets 18 to 28, for recurrent and quantized operators, of which ONNX's
own cases have few, and for those of com.microsoft: compares the results of Windlass with ONNX Runtime.

    opsets.py make FOLDER SEED      FOLDER/NAME/{model.onnx, inputs.json, x0.raw, x0.pb, ...}, FOLDER/names
    opsets.py compare FOLDER        NAME/{cpu,reference}/y0.pb ... against NAME/ort.json, one line of the test each

python3-onnx knows opset 17: the files are made of its messages, without its checker.
"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Refused by name: operators, attributes or values that we lack, or where runtimes are at odds (ONNX Runtime's wrap
# gives zeros beyond one round). With the message.
REFUSED = {
    "resize-antialias": "antialias",
    "resize-policy": "keep_aspect_ratio_policy",
    "resize-symmetric": "coordinate_transformation_mode",
    "reduce-l1-noop": "noop_with_empty_axes",
    "dequantize-blocks": "block_size",
    "attention-softcap-mask": "softcap together with a mask",
    "dropout-mask": "a mask that is read",
    "string-concat": "StringConcat",
    "affine-grid": "AffineGrid",
    "image-decoder": "ImageDecoder",
    "deform-conv": "DeformConv",
    "lp-pool-ceil": "ceil_mode",
    "col2im": "Col2Im",
    "rnn-affine": "activation_alpha",
    "rnn-small-letters": "activations",
    "pad-wrap-far": "in mode wrap",
}


def const(*values, dtype="i8", shape=None):
    array = np.array(values, dtype)
    return ("const", array if shape is None else array.reshape(shape))


class Cases:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.all = {}

    def f(self, *shape, low=-1, high=1, dtype="f4"):
        return (self.rng.random(shape) * (high - low) + low).astype(dtype)

    def i(self, low, high, *shape, dtype="i8"):
        return self.rng.integers(low, high, shape).astype(dtype)

    def add(self, name, opset, op, inputs, outputs=1, more=None, **attributes):
        """inputs: fed arrays, const(...), None for an absent one; more: attributes with names of arguments"""
        assert name not in self.all
        self.all[name] = (opset, op, inputs, outputs, {**attributes, **(more or {})})


def opsets(c):
    f, i, add = c.f, c.i, c.add
    for name, op, x in (("l1", "ReduceL1", f(5, 7, 9)), ("l2", "ReduceL2", f(5, 7, 9)),
                        ("log-sum", "ReduceLogSum", f(5, 7, 9, low=0.5)),
                        ("log-sum-exp", "ReduceLogSumExp", f(5, 7, 9)), ("max", "ReduceMax", i(-99, 99, 5, 7, 9)),
                        ("mean", "ReduceMean", f(5, 7, 9)), ("min", "ReduceMin", f(5, 7, 9)),
                        ("prod", "ReduceProd", f(5, 7, 9, low=0.5, high=1.5)),
                        ("sum", "ReduceSum", f(5, 7, 9)), ("sum-square", "ReduceSumSquare", f(5, 7, 9))):
        add(f"reduce-{name}", 18, op, [x, const(0, -1)])
        add(f"reduce-{name}-flat", 20, op, [x, const(1)], keepdims=0)
        add(f"reduce-{name}-all", 18, op, [x])
        add(f"reduce-{name}-empty", 21, op, [x, ("const", np.zeros(0, "i8"))], keepdims=0)
    for name, op in (("sum", "ReduceSum"), ("max", "ReduceMax"), ("mean", "ReduceMean"), ("l1", "ReduceL1")):
        add(f"reduce-{name}-noop", 18, op, [f(5, 7)], noop_with_empty_axes=1)

    x = f(3, 10, 2)
    add("split-even", 18, "Split", [x], 5, axis=1, num_outputs=5)
    add("split-uneven", 18, "Split", [x], 4, axis=1, num_outputs=4)
    add("split-sizes", 18, "Split", [x, const(3, 7)], 2, axis=-2)

    add("pad-axes", 18, "Pad", [f(5, 7, 3), const(1, 2, 2, 0), const(9, dtype="f4", shape=()), const(-1, 0)])
    add("pad-axes-reflect", 18, "Pad", [f(5, 7, 3), const(3, 4), None, const(1)], mode="reflect")
    add("pad-axes-cut", 19, "Pad", [f(5, 7, 3), const(-1, 2), None, const(1)], mode="edge")
    add("pad-wrap", 19, "Pad", [f(3, 2, 5), const(1, 0, 4, 2, 2, 3)], mode="wrap")
    add("pad-wrap-far", 19, "Pad", [f(3, 2, 5), const(7, 3, 0, 2, 5, 11)], mode="wrap")
    add("pad-wrap-whole", 19, "Pad", [f(3, 2, 5), const(3, 0, 5, 3, 2, 5)], mode="wrap")
    add("pad-integers", 21, "Pad", [i(-9, 9, 3, 5, dtype="i4"), const(1, 0, 2, 3)])

    add("mish", 18, "Mish", [f(5, 7, low=-30, high=30)])
    add("gelu", 20, "Gelu", [f(5, 7, low=-6, high=6)])
    add("gelu-tanh", 20, "Gelu", [f(5, 7, low=-6, high=6)], approximate="tanh")
    for name in ("And", "Or", "Xor"):
        for dtype in ("u1", "i1", "i2", "i4", "u8"):
            add(f"bitwise-{name.lower()}-{dtype}", 18, f"Bitwise{name}",
                [i(0, 100, 5, 7, dtype=dtype), i(0, 100, 7, dtype=dtype)])
    for dtype in ("u1", "i2", "i8"):
        add(f"bitwise-not-{dtype}", 18, "BitwiseNot", [i(0, 100, 5, 7, dtype=dtype)])
    for dims in ((5, 9), (9, 5), (4, 8), (7, 7), (10, 10), (3, 2)):
        add("crop-pad-{}-{}".format(*dims), 18, "CenterCropPad", [f(7, 7), const(*dims)])
    add("crop-pad-axes", 18, "CenterCropPad", [f(7, 6, 5), const(8, 4)], axes=[2, 0])

    for groups in (1, 2, 3, 6):
        add(f"group-norm-18-{groups}", 18, "GroupNormalization", [f(2, 6, 5, 3, high=4), f(groups), f(groups)],
            num_groups=groups)
        add(f"group-norm-21-{groups}", 21, "GroupNormalization", [f(2, 6, 5, 3, high=4), f(6), f(6)],
            num_groups=groups, epsilon=0.01)
    for reduction in ("max", "min", "add", "mul", "none"):
        at = np.stack([c.rng.permutation(5)[:3] if reduction == "none" else i(-5, 5, 3) for _ in range(7)], 1)
        add(f"scatter-{reduction}", 18, "ScatterElements", [f(5, 7), at, f(3, 7)], axis=0, reduction=reduction)
        add(f"scatter-{reduction}-i8", 18, "ScatterElements", [i(-9, 9, 5, 7), at, i(-9, 9, 3, 7)], axis=0,
            reduction=reduction)
        at = c.rng.permutation(5)[:3].reshape(3, 1) if reduction == "none" else i(0, 5, 3, 1)
        add(f"scatter-nd-{reduction}", 18, "ScatterND", [f(5, 7), at, f(3, 7)], reduction=reduction)

    x = f(1, 2, 5, 7)
    for mode in ("nearest", "linear", "cubic"):
        for where in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
            add(f"resize-{mode}-{where}", 19, "Resize", [x, None, None, const(1, 2, 9, 4)], mode=mode,
                coordinate_transformation_mode=where)
            add(f"resize-{mode}-{where}-axes", 18, "Resize", [x, None, None, const(4, 9)], mode=mode, axes=[3, 2],
                coordinate_transformation_mode=where, antialias=0)
        add(f"resize-{mode}-scales", 18, "Resize", [x, None, const(2, 3, dtype="f4")], mode=mode, axes=[2, 3])
        add(f"resize-{mode}-crop", 19, "Resize",
            [x, const(0.1, 0.2, 0.8, 1.3, dtype="f4"), None, const(6, 8)], mode=mode, axes=[2, 3],
            coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=3.0)
    add("resize-antialias", 18, "Resize", [x, None, None, const(1, 2, 3, 4)], mode="linear", antialias=1)
    add("resize-policy", 18, "Resize", [x, None, None, const(3, 4)], axes=[2, 3],
        keep_aspect_ratio_policy="not_larger")
    add("resize-symmetric", 19, "Resize", [x, None, None, const(1, 2, 3, 4)],
        coordinate_transformation_mode="half_pixel_symmetric")

    for ceil in (0, 1):
        for counts in (0, 1):
            name = f"average-pool-{ceil}{counts}"
            add(name, 19, "AveragePool", [f(2, 3, 9, 11)], kernel_shape=[3, 2], dilations=[2, 3], pads=[1, 0, 2, 1],
                ceil_mode=ceil, count_include_pad=counts)
            add(name + "-strides", 21, "AveragePool", [f(2, 3, 10, 12)], kernel_shape=[3, 3], strides=[2, 3],
                pads=[1, 1, 1, 1], ceil_mode=ceil, count_include_pad=counts)
    add("average-pool-same", 19, "AveragePool", [f(2, 3, 9, 11)], kernel_shape=[3, 2], strides=[2, 2],
        auto_pad="SAME_UPPER", count_include_pad=1)

    add("cast", 21, "Cast", [f(5, 7, low=-99, high=99)], to=TensorProto.INT32, saturate=1)
    add("cast-like", 19, "CastLike", [f(5, 7, low=-99, high=99), const(1, dtype="i2")])
    add("equal", 19, "Equal", [i(0, 3, 5, 7), i(0, 3, 7)])
    add("shape", 21, "Shape", [f(5, 7, 3)], start=-2)
    add("reshape", 21, "Reshape", [f(5, 6), const(-1, 3)])
    add("flatten", 21, "Flatten", [i(0, 9, 5, 6, 2, dtype="i2")], axis=1)
    add("transpose", 21, "Transpose", [f(5, 6, 2)], perm=[1, 2, 0])
    add("squeeze", 21, "Squeeze", [f(5, 1, 2), const(1)])
    add("unsqueeze", 21, "Unsqueeze", [f(5, 2), const(1)])
    add("is-nan", 20, "IsNaN", [np.array([1, np.nan, np.inf], "f4")])
    add("is-inf", 20, "IsInf", [np.array([1, np.nan, np.inf, -np.inf], "f4")])
    add("constant-of-shape", 21, "ConstantOfShape", [const(3, 4)],
        value=numpy_helper.from_array(np.array([2.5], "f4"), "v"))
    for mode in ("linear", "nearest", "cubic"):
        for border in ("zeros", "border", "reflection"):
            add(f"grid-sample-{mode}-{border}", 20, "GridSample", [f(2, 3, 7, 5), f(2, 4, 6, 2, low=-1.4, high=1.4)],
                mode=mode, padding_mode=border, align_corners=int(border == "border"))

    x = f(2, 11, 6, 1)
    add("dft", 20, "DFT", [x])
    add("dft-axis", 20, "DFT", [x, None, const(1, shape=())])
    add("dft-axis-first", 20, "DFT", [f(4, 11, 6, 2), None, const(0, shape=())])
    add("dft-onesided", 20, "DFT", [x, None, const(1, shape=())], onesided=1)
    add("dft-length", 20, "DFT", [x, const(8, shape=()), const(-3, shape=())])
    add("dft-inverse", 20, "DFT", [f(2, 11, 6, 2), None, const(1, shape=())], inverse=1)


def quantized(c):
    f, i, add = c.f, c.i, c.add
    x, scale = f(5, 7, low=-9, high=9), f(7, low=0.05, high=0.1)
    add("quantize", 19, "QuantizeLinear", [x, scale, ("const", i(-9, 9, 7, dtype="i1"))], axis=1)
    add("quantize-dtype", 21, "QuantizeLinear", [x, scale], output_dtype=TensorProto.INT8)
    add("quantize-21", 21, "QuantizeLinear", [x, np.float32(0.07).reshape(()), const(100, dtype="u1", shape=())])
    add("dequantize", 19, "DequantizeLinear", [i(-99, 99, 5, 7, dtype="i1"), f(5, low=0.05, high=0.1),
                                               ("const", i(-9, 9, 5, dtype="i1"))], axis=0)
    add("dequantize-21", 21, "DequantizeLinear", [i(0, 255, 5, 7, dtype="u1"), np.float32(0.07).reshape(())])
    add("dequantize-blocks", 21, "DequantizeLinear", [i(0, 255, 4, 6, dtype="u1"), f(4, 3, low=0.05, high=0.1)],
        block_size=2)
    for name, x in (("", f(5, 7, low=-9, high=9)), ("-positive", f(5, 7, low=2, high=9)),
                    ("-negative", f(5, 7, low=-9, high=-2)), ("-zeros", np.zeros((5, 7), "f4")),
                    ("-same", np.full((5, 7), 3, "f4"))):
        add("dynamic-quantize" + name, 11, "DynamicQuantizeLinear", [x], 3)
    add("qlinear-matmul", 21, "QLinearMatMul",
        [i(0, 255, 5, 7, dtype="u1"), np.float32(0.02).reshape(()), const(99, dtype="u1", shape=()),
         i(0, 255, 7, 3, dtype="u1"), np.float32(0.01).reshape(()), const(120, dtype="u1", shape=()),
         np.float32(0.15).reshape(()), const(111, dtype="u1", shape=())])


def recurrent(c):
    f, i, add = c.f, c.i, c.add
    usual = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
    others = {"RNN": ["Softsign"], "GRU": ["HardSigmoid", "Softplus"], "LSTM": ["HardSigmoid", "Softsign", "Relu"]}
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for direction in ("forward", "reverse", "bidirectional"):
            d = 1 + (direction == "bidirectional")
            h, x = 5, f(6, 3, 4)
            weights = [f(d, gates * h, 4), f(d, gates * h, h)]
            bias = f(d, 2 * gates * h)
            states = [f(d, 3, h) for _ in range(1 + (op == "LSTM"))]
            lengths = i(1, 7, 3, dtype="i4")
            name = f"{op.lower()}-{direction}"
            outputs = 2 + (op == "LSTM")
            same = {"direction": direction, "hidden_size": h}
            add(name, 14, op, [x, *weights], outputs, **same)
            add(name + "-lengths", 14, op, [x, *weights, bias, lengths, *states], outputs, **same)
            add(name + "-usual", 14, op, [x, *weights, bias], outputs, activations=usual[op] * d, **same)
            add(name + "-others", 14, op, [x, *weights, bias], outputs, activations=others[op] * d, **same)
            if op != "LSTM":
                add(name + "-clip", 14, op, [x, *weights, bias], outputs, clip=0.3, **same)
            if op == "GRU":
                add(name + "-linear", 14, op, [x, *weights, bias, lengths], outputs, linear_before_reset=1, **same)
            if op == "LSTM":
                add(name + "-peepholes", 14, op, [x, *weights, bias, None, *states, f(d, 3 * h)], outputs, **same)
    add("rnn-two", 14, "RNN", [f(6, 3, 4), f(2, 5, 4), f(2, 5, 5)], 2, direction="bidirectional", hidden_size=5,
        activations=["Relu", "Sigmoid"])
    add("rnn-small-letters", 14, "RNN", [f(6, 3, 4), f(1, 5, 4), f(1, 5, 5)], 2, hidden_size=5, activations=["relu"])
    add("rnn-affine", 14, "RNN", [f(6, 3, 4), f(1, 5, 4), f(1, 5, 5)], 2, hidden_size=5, activations=["LeakyRelu"],
        activation_alpha=[0.2])


def attention(c):
    f, i, add = c.f, c.i, c.add
    four = [f(2, 6, 5, 8), f(2, 6, 7, 8), f(2, 6, 7, 4)]
    three = [f(2, 5, 24), f(2, 7, 24), f(2, 7, 12)]
    grouped = [f(2, 6, 5, 8), f(2, 2, 7, 8), f(2, 2, 7, 4)]
    heads = {"q_num_heads": 3, "kv_num_heads": 3}
    past = [f(2, 6, 4, 8), f(2, 6, 4, 4)]
    add("attention", 23, "Attention", four)
    add("attention-scale", 23, "Attention", four, scale=0.7)
    add("attention-softcap", 23, "Attention", four, softcap=0.5)
    add("attention-causal", 23, "Attention", four, is_causal=1)
    add("attention-mask", 23, "Attention", [*four, f(5, 7)])
    add("attention-mask-bool", 23, "Attention", [*four, i(0, 2, 2, 1, 5, 7).astype("?") | (np.arange(7) == 0)])
    add("attention-grouped", 23, "Attention", [*grouped, f(2, 6, 5, 7)])
    add("attention-three", 23, "Attention", [*three, f(2, 1, 5, 7)], **heads)
    add("attention-three-causal", 23, "Attention", three, is_causal=1, **heads)
    add("attention-past", 23, "Attention", [*four, f(5, 11), *past], 3)
    add("attention-past-causal", 23, "Attention", [*four, None, *past], 3, is_causal=1)
    add("attention-softcap-mask", 23, "Attention", [*four, f(5, 7)], softcap=0.5)
    x, flat, tables, places = f(2, 3, 5, 8), f(2, 5, 24), [f(9, 4), f(9, 4)], i(0, 9, 2, 5)
    small = [f(9, 3), f(9, 3)]
    for name, more in (("", {}), ("-pairs", {"interleaved": 1})):
        add("rotary" + name, 23, "RotaryEmbedding", [x, *tables, places], **more)
        add("rotary-three" + name, 23, "RotaryEmbedding", [flat, *tables, places], num_heads=3, **more)
        add("rotary-part" + name, 23, "RotaryEmbedding", [flat, *small, places], num_heads=3, rotary_embedding_dim=6, **more)
        add("rotary-rows" + name, 23, "RotaryEmbedding", [x, f(2, 5, 4), f(2, 5, 4)], **more)
        add("ms-rotary" + name, 17, "com.microsoft:RotaryEmbedding", [x, places, *tables], **more)
        add("ms-rotary-three" + name, 17, "com.microsoft:RotaryEmbedding", [flat, places, *tables], num_heads=3, **more)
        add("ms-rotary-part" + name, 17, "com.microsoft:RotaryEmbedding", [flat, places, *small], num_heads=3,
            rotary_embedding_dim=6, **more)
    add("simplified-norm", 17, "SimplifiedLayerNormalization", [f(2, 5, 16, low=-3, high=3), f(16)], epsilon=1e-5, axis=-1)


def microsoft_attention(c):
    f, i, add = c.f, c.i, c.add
    name = "com.microsoft:Attention"
    x, w, b = f(2, 5, 16), ("const", f(16, 48)), ("const", f(48))
    counts, flags = np.array([3, 5], "i4"), np.array([[1, 1, 0, 1, 1], [1, 1, 1, 1, 0]], "i4")
    cube = i(0, 2, 2, 5, 5, dtype="i4") | np.eye(5, dtype="i4")
    past = f(2, 2, 4, 3, 4)
    add("ms-attention", 17, name, [x, w, b], num_heads=4)
    add("ms-attention-counts", 17, name, [x, w, b, counts], num_heads=4)
    add("ms-attention-flags", 17, name, [x, w, b, flags], num_heads=4)
    add("ms-attention-low", 17, name, [x, w, b, flags], num_heads=4, mask_filter_value=-3.0)
    add("ms-attention-cube", 17, name, [x, w, b, cube], num_heads=4)
    add("ms-attention-causal", 17, name, [x, w, b], num_heads=4, unidirectional=1)
    add("ms-attention-causal-flags", 17, name, [x, w, b, np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], "i4")],
        num_heads=4, unidirectional=1)
    add("ms-attention-bias", 17, name, [x, w, b, None, None, f(2, 4, 5, 5)], num_heads=4, scale=0.3)
    add("ms-attention-past", 17, name, [x, w, b, None, past], 2, num_heads=4)
    add("ms-attention-past-causal", 17, name, [x, w, b, None, past], 2, num_heads=4, unidirectional=1)
    add("ms-attention-sizes", 17, name, [x, ("const", f(16, 40)), ("const", f(40))], num_heads=4,
        qkv_hidden_sizes=[16, 16, 8])
    # Weights of 7 bits: without VNNI, ONNX Runtime adds pairs of products in 16 bits, which saturate.
    q = [i(0, 255, 2, 5, 16, dtype="u1"), ("const", i(-64, 64, 16, 48, dtype="i1")), ("const", f(48)),
         const(0.02, dtype="f4", shape=()), const(0.01, dtype="f4", shape=())]
    zeros = [const(120, dtype="u1", shape=()), const(3, dtype="i1", shape=())]
    add("ms-qattention", 17, "com.microsoft:QAttention", [*q, None, *zeros], num_heads=4)
    add("ms-qattention-counts", 17, "com.microsoft:QAttention", [*q, counts, *zeros], num_heads=4)
    add("ms-qattention-causal", 17, "com.microsoft:QAttention", [*q, None, *zeros, past], 2, num_heads=4, unidirectional=1)
    name = "com.microsoft:MultiHeadAttention"
    qkv, row, old = [f(2, 5, 16), f(2, 7, 16), f(2, 7, 24)], f(56), [f(2, 4, 3, 4), f(2, 4, 3, 6)]
    keys = np.array([[1, 1, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]], "i4")
    same = [f(2, 5, 16), f(2, 5, 16), f(2, 5, 16)]
    add("ms-heads", 17, name, qkv, num_heads=4)
    add("ms-heads-row", 17, name, [*same, f(48)], num_heads=4)
    add("ms-heads-keys", 17, name, [*qkv, None, keys], num_heads=4)
    add("ms-heads-counts", 17, name, [*qkv, None, np.array([4, 7], "i4")], num_heads=4)
    add("ms-heads-bias", 17, name, [*qkv, None, None, f(1, 4, 5, 7)], num_heads=4, scale=0.4)
    add("ms-heads-causal", 17, name, same, num_heads=4, unidirectional=1)
    add("ms-heads-past", 17, name, [*same, None, None, None, f(2, 4, 3, 4), f(2, 4, 3, 4)], 3, num_heads=4)
    add("ms-heads-keys-four", 17, name, [qkv[0], f(2, 4, 7, 4), f(2, 4, 7, 4)], num_heads=4)


def group_query(c):
    f, i, add = c.f, c.i, c.add
    name, heads = "com.microsoft:GroupQueryAttention", {"num_heads": 4, "kv_num_heads": 2}
    tables = [("const", f(32, 8)), ("const", f(32, 8))]

    def new(length, images=2):
        return [f(images, length, 64), f(images, length, 32), f(images, length, 32)]

    def old(room, images=2):
        return [f(images, 2, room, 16), f(images, 2, room, 16)]

    def ends(*last, total):
        return [np.array(last, "i4") - 1, const(total, dtype="i4", shape=())]

    add("gqa-first", 17, name, [*new(5), None, None, *ends(5, 5, total=5)], 3, **heads)
    add("gqa-first-rotary", 17, name, [*new(5), None, None, *ends(5, 5, total=5), *tables], 3, do_rotary=1, **heads)
    add("gqa-packed", 17, name, [f(2, 5, 128), None, None, None, None, *ends(5, 5, total=5), *tables], 3, do_rotary=1,
        rotary_interleaved=1, **heads)
    add("gqa-next", 17, name, [*new(1), *old(6), *ends(7, 7, total=7), *tables], 3, do_rotary=1, **heads)
    add("gqa-next-shorter", 17, name, [*new(1), *old(6), *ends(5, 7, total=7), *tables], 3, do_rotary=1, **heads)
    add("gqa-next-many", 17, name, [*new(3, 1), *old(6, 1), *ends(9, total=9), *tables], 3, do_rotary=1, **heads)
    add("gqa-room", 17, name, [*new(1), *old(12), *ends(5, 7, total=7), *tables], 3, do_rotary=1, **heads)
    add("gqa-next-plain", 17, name, [*new(1), *old(6), *ends(7, 7, total=7)], 3, **heads)
    add("gqa-window", 17, name, [*new(1), *old(6), *ends(7, 7, total=7)], 3, local_window_size=3, **heads)
    add("gqa-window-first", 17, name, [*new(6), None, None, *ends(6, 6, total=6)], 3, local_window_size=2, **heads)
    add("gqa-cap", 17, name, [*new(5), None, None, *ends(5, 5, total=5)], 3, softcap=0.4, scale=0.9, **heads)
    add("gqa-bias", 17, name, [*new(1), *old(6), *ends(7, 7, total=7), None, None, None, f(1, 4, 1, 7)], 3, **heads)


def newest(c):
    f, add = c.f, c.add
    add("dropout-old", 7, "Dropout", [f(3)])
    add("swish", 24, "Swish", [f(3, 5)])
    add("swish-alpha", 24, "Swish", [f(3, 5, low=-4, high=4)], alpha=1.7)


def microsoft(c):
    """What ONNX Runtime's optimizers write; it has these operators itself."""
    f, i, add = c.f, c.i, c.add
    x, b = f(2, 5, 16, low=-3, high=3), f(16)
    ms = "com.microsoft:"
    add("ms-bias-gelu", 17, ms + "BiasGelu", [x, b])
    add("ms-fast-gelu", 17, ms + "FastGelu", [x])
    add("ms-fast-gelu-bias", 17, ms + "FastGelu", [x, b])
    add("ms-gelu", 17, ms + "Gelu", [x])
    add("ms-quick-gelu", 17, ms + "QuickGelu", [x])
    add("ms-quick-gelu-alpha", 17, ms + "QuickGelu", [x], alpha=1.3)
    skip = [x, f(2, 5, 16), f(16, low=0.5), f(16)]
    add("ms-skip-norm", 17, ms + "SkipLayerNormalization", skip, epsilon=1e-5)
    add("ms-skip-norm-bias", 17, ms + "SkipLayerNormalization", [*skip, b])
    add("ms-skip-norm-flat", 17, ms + "SkipLayerNormalization", skip[:3])
    add("ms-skip-rms", 17, ms + "SkipSimplifiedLayerNormalization", skip[:3], epsilon=1e-5)
    add("ms-skip-rms-bias", 17, ms + "SkipSimplifiedLayerNormalization", [*skip[:3], b], epsilon=1e-6)
    ids, kinds = i(0, 30, 2, 5, dtype="i4"), i(0, 2, 2, 5, dtype="i4")
    tables = [f(30, 16), f(9, 16), f(2, 16), f(16, low=0.5), f(16)]
    add("ms-embed", 17, ms + "EmbedLayerNormalization", [ids, kinds, *tables], 2, epsilon=1e-6)
    add("ms-embed-mask", 17, ms + "EmbedLayerNormalization",
        [ids, kinds, *tables, np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], "i4")], 2)
    add("ms-embed-plain", 17, ms + "EmbedLayerNormalization", [ids, None, *tables[:2], None, *tables[3:]], 2)
    for name, turns_a, turns_b, a, w in (("", 0, 0, f(2, 3, 4, 7), f(2, 3, 7, 5)), ("-b", 0, 1, f(2, 3, 4, 7), f(2, 3, 5, 7)),
                                         ("-a", 1, 0, f(2, 3, 7, 4), f(7, 5)), ("-ab", 1, 1, f(7, 4), f(5, 7))):
        add("ms-fused-matmul" + name, 17, ms + "FusedMatMul", [a, w], alpha=0.25, transA=turns_a, transB=turns_b,
            transBatchA=0, transBatchB=0)
    for bits, size, k in ((4, 16, 32), (4, 32, 80), (8, 32, 64)):
        blocks = -(-k // size)
        q = ("const", i(0, 256, 6, blocks, size * bits // 8, dtype="u1"))
        scales = ("const", f(6 * blocks, low=0.01, high=0.1))
        zeros = ("const", i(0, 256, 6 * -(-blocks * bits // 8), dtype="u1"))
        same = {"K": k, "N": 6, "bits": bits, "block_size": size}
        add(f"ms-matmul-{bits}-{size}", 17, ms + "MatMulNBits", [f(3, k), q, scales], **same)
        add(f"ms-matmul-{bits}-{size}-zeros", 17, ms + "MatMulNBits", [f(3, k), q, scales, zeros], **same)


def qlinear(c):
    """What ONNX Runtime's static quantization writes."""
    f, i, add = c.f, c.i, c.add
    ms = "com.microsoft:"
    for name, dtype, low, high in (("u1", "u1", 0, 256), ("i1", "i1", -128, 128)):
        def scaled(scale, zero):
            return [const(scale, dtype="f4", shape=()), const(zero, dtype=dtype, shape=())]

        def x(*shape):
            return i(low, high, *shape, dtype=dtype)

        zero = (low + high) // 2 + 3
        ends = [*scaled(0.031, zero), *scaled(0.017, zero - 5)]
        for op in ("QLinearAdd", "QLinearMul"):
            add(f"{op}-{name}", 17, ms + op, [x(2, 3, 5), *scaled(0.031, zero), x(3, 5), *scaled(0.02, zero - 9),
                                              *scaled(0.043, zero + 7)])
        add(f"QLinearSigmoid-{name}", 17, ms + "QLinearSigmoid", [x(4, 7), *scaled(0.05, zero), *scaled(0.004, low)])
        add(f"QLinearLeakyRelu-{name}", 17, ms + "QLinearLeakyRelu", [x(4, 7), *ends], alpha=0.2)
        add(f"QLinearSoftmax-{name}", 17, ms + "QLinearSoftmax", [x(4, 7), *scaled(0.05, zero), *scaled(1 / 256, low)],
            axis=-1, more={"opset": 13})
        add(f"QLinearGlobalAveragePool-{name}", 17, ms + "QLinearGlobalAveragePool", [x(2, 5, 7, 9), *ends],
            channels_last=0)
        add(f"QLinearAveragePool-{name}", 17, ms + "QLinearAveragePool", [x(1, 5, 8, 9), *ends], kernel_shape=[3, 2],
            strides=[2, 1], pads=[1, 0, 1, 1])
        add(f"QLinearConcat-{name}", 17, ms + "QLinearConcat",
            [*scaled(0.04, zero), x(2, 3, 4), *scaled(0.031, zero), x(2, 5, 4), *scaled(0.05, zero - 9)], axis=1)
        add(f"QLinearWhere-{name}", 17, ms + "QLinearWhere",
            [i(0, 2, 2, 3, dtype="?"), x(2, 3), *scaled(0.031, zero), x(2, 3), *scaled(0.02, zero - 9), *scaled(0.04, zero)])
        add(f"ms-dequantize-{name}", 17, ms + "DequantizeLinear", [x(3, 4), *scaled(0.031, zero)])
        add(f"ms-dequantize-axis-{name}", 17, ms + "DequantizeLinear",
            [x(3, 4), ("const", f(4, low=0.01)), ("const", x(4))], axis=1)
        add(f"ms-quantize-{name}", 17, ms + "QuantizeLinear", [f(3, 4, low=-5, high=5), *scaled(0.031, zero)])
    a, b = i(0, 256, 4, 6, dtype="u1"), ("const", i(-64, 64, 6, 5, dtype="i1"))
    one, byte, signed = const(0.02, dtype="f4", shape=()), const(119, dtype="u1", shape=()), const(3, dtype="i1", shape=())
    bias = ("const", i(-999, 999, 5, dtype="i4"))
    columns, zeros = ("const", f(5, low=0.01, high=0.05)), ("const", i(-9, 9, 5, dtype="i1"))
    add("qgemm", 17, ms + "QGemm", [a, one, byte, b, one, signed, bias, const(0.5, dtype="f4", shape=()), byte])
    add("qgemm-float", 17, ms + "QGemm", [a, one, byte, b, one, signed, bias], alpha=0.5)
    add("qgemm-turned", 17, ms + "QGemm", [a, one, byte, ("const", i(-64, 64, 5, 6, dtype="i1")), one, signed], transB=1)
    add("qgemm-columns", 17, ms + "QGemm", [a, one, byte, b, columns, zeros, bias])
    add("ms-matmul-integer", 17, ms + "MatMulIntegerToFloat", [a, b, one, one, byte, signed, ("const", f(5))])
    add("ms-matmul-integer-columns", 17, ms + "MatMulIntegerToFloat", [a, b, one, columns, byte, zeros])
    add("ms-matmul-integer-few", 17, ms + "MatMulIntegerToFloat", [a, b, one, one])
    half = const(0.02, dtype="f2", shape=())
    add("ms-matmul-integer-half", 17, ms + "MatMulIntegerToFloat", [a, b, half, half, byte, signed])
    # Beyond 2^24, where float32 alone would round.
    far = np.full((1, 1024), 255, "u1")
    add("matmul-integer-far", 17, "MatMulInteger", [far, ("const", np.where(np.arange(2048).reshape(1024, 2) == 7, 254, 255).astype("u1"))])
    add("conv-integer-far", 17, "ConvInteger", [np.full((1, 512, 2, 2), 255, "u1"),
                                                ("const", np.where(np.arange(4096).reshape(2, 512, 2, 2) == 7, 254, 255).astype("u1"))])
    long = [i(0, 256, 3, 700, dtype="u1"), ("const", i(-64, 64, 700, 5, dtype="i1"))]
    add("matmul-integer", 17, "MatMulInteger", [*long, byte, signed])
    add("matmul-integer-plain", 17, "MatMulInteger", long)
    add("conv-integer", 17, "ConvInteger", [i(0, 256, 1, 32, 9, 8, dtype="u1"),
                                            ("const", i(0, 256, 16, 32, 3, 3, dtype="u1")), byte, const(113, dtype="u1", shape=())],
        pads=[1, 1, 1, 1])
    add("ms-dynamic-matmul", 17, ms + "DynamicQuantizeMatMul", [f(2, 4, 6), b, one, signed, ("const", f(5))])
    add("ms-dynamic-matmul-columns", 17, ms + "DynamicQuantizeMatMul", [f(4, 6), b, columns])
    x, w = f(1, 3, 8, 9), ("const", f(4, 3, 3, 3))
    for name, more in (("Relu", {}), ("Clip", {"activation_params": [0.0, 0.5]}), ("Tanh", {}), ("Sigmoid", {}),
                       ("LeakyRelu", {"activation_params": [0.3]}), ("HardSigmoid", {"activation_params": [0.3, 0.4]})):
        add(f"fused-conv-{name}", 17, ms + "FusedConv", [x, w, ("const", f(4))], activation=name, pads=[1, 1, 1, 1],
            kernel_shape=[3, 3], **more)
    add("fused-conv-sum", 17, ms + "FusedConv", [x, w, ("const", f(4)), f(1, 4, 6, 7)], activation="Relu",
        kernel_shape=[3, 3])
    add("fused-gemm", 17, ms + "FusedGemm", [f(4, 6), ("const", f(6, 5)), ("const", f(5))], activation="Relu", alpha=0.5)
    add("fused-gemm-leaky", 17, ms + "FusedGemm", [f(4, 6), ("const", f(5, 6)), ("const", f(5))], activation="LeakyRelu",
        activation_alpha=0.3, transB=1)


def norms(c):
    f, add = c.f, c.add
    for p in (1, 2):
        for axis in (-1, 0, 1):
            add(f"lp-norm-{p}-{axis}", 17, "LpNormalization", [f(3, 4, 5)], p=p, axis=axis)
        add(f"lp-norm-{p}-zeros", 17, "LpNormalization", [np.zeros((2, 3), "f4")], p=p)
    for p in (1, 2, 3):
        add(f"lp-pool-global-{p}", 17, "GlobalLpPool", [f(2, 3, 5, 4)], p=p)
        add(f"lp-pool-{p}", 18, "LpPool", [f(2, 3, 8, 9)], kernel_shape=[3, 2], p=p)
        add(f"lp-pool-{p}-pads", 18, "LpPool", [f(2, 3, 8, 9)], kernel_shape=[3, 2], p=p, pads=[1, 0, 1, 1],
            strides=[2, 2], dilations=[2, 1])
    add("lp-pool-old", 11, "LpPool", [f(1, 3, 8, 9)], kernel_shape=[2, 2], auto_pad="SAME_UPPER")
    add("lp-pool-line", 18, "LpPool", [f(1, 3, 9)], kernel_shape=[3], strides=[2])


def refused(c):
    f, add = c.f, c.add
    add("dropout-mask", 9, "Dropout", [f(3)], 2)
    add("string-concat", 20, "StringConcat", [f(2), f(2)])
    add("affine-grid", 20, "AffineGrid", [f(1, 2, 3), const(1, 1, 2, 2)])
    add("image-decoder", 20, "ImageDecoder", [f(2)])
    add("deform-conv", 19, "DeformConv", [f(1, 1, 3, 3), f(1, 1, 2, 2), f(1, 8, 2, 2)])
    add("lp-pool-ceil", 18, "LpPool", [f(1, 1, 4, 4)], kernel_shape=[2, 2], ceil_mode=1)
    add("col2im", 18, "Col2Im", [f(1, 4, 9), const(4, 4), const(2, 2)])


def write(folder, name, case):
    opset, op, inputs, outputs, attributes = case
    at = os.path.join(folder, name)
    os.makedirs(at)
    names, fed, constants, told = [], [], [], []
    for k, value in enumerate(inputs):
        names.append("" if value is None else f"x{k}")
        if isinstance(value, tuple):
            constants.append(numpy_helper.from_array(value[1], f"x{k}"))
        elif value is not None:
            tensor = numpy_helper.from_array(np.asarray(value, order="C"), f"x{k}")
            fed.append(helper.make_tensor_value_info(f"x{k}", tensor.data_type, value.shape))
            told.append({"name": f"x{k}", "type": str(value.dtype), "dims": list(value.shape)})
            onnx.save_tensor(tensor, f"{at}/x{k}.pb")
            value.tofile(f"{at}/x{k}.raw")
    made = [f"y{k}" for k in range(outputs)]
    domain, _, op = op.rpartition(":")
    node = helper.make_node(op, names, made, name="n", domain=domain, **attributes)
    graph = helper.make_graph([node], name, fed, [onnx.ValueInfoProto(name=y) for y in made], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 7 if opset < 15 else 8 if opset < 19 else 9 if opset < 21 else 10 if opset < 24 else 12
    onnx.save(model, f"{at}/model.onnx")
    with open(f"{at}/inputs.json", "w") as file:
        json.dump(told, file)


def make(folder, seed):
    cases = Cases(seed)
    for family in (opsets, quantized, recurrent, newest, attention, microsoft, microsoft_attention, group_query, qlinear, norms,
                   refused):
        family(cases)
    for name, case in cases.all.items():
        write(folder, name, case)
    with open(f"{folder}/names", "w") as file:
        file.writelines(name + "\n" for name in cases.all)


def difference(seen, wanted, steps=0):
    """None, or the difference. wanted: from ort.json; steps: by which integers may differ"""
    kinds = {"bool": "bool"}
    if str(seen.dtype) != kinds.get(wanted["type"], wanted["type"]) or list(seen.shape) != wanted["dims"]:
        return f"{seen.dtype} {list(seen.shape)}, wanted {wanted['type']} {wanted['dims']}"
    if seen.dtype.kind != "f":
        ours = seen.astype("u1").ravel() if seen.dtype == bool else seen.ravel()
        theirs = [int(v in ("1", "true")) if seen.dtype == bool else int(v) for v in wanted["data"]]
        bad = [k for k, v in enumerate(theirs) if abs(int(ours[k]) - v) > steps]
        return f"{len(bad)} of {len(theirs)} numbers, first at {bad[0]}: {ours[bad[0]]}, wanted {theirs[bad[0]]}" if bad else None
    theirs = np.array([float(v.replace("Infinity", "inf")) for v in wanted["data"]]).reshape(seen.shape)
    if seen.dtype == np.float16:  # onnxruntime-node gives its bits
        theirs = theirs.astype("u2").view("f2").astype("f8")
    ours = seen.astype("f8")
    finite = theirs[np.isfinite(theirs)]
    room = 1e-5 * max(1.0, np.abs(finite).max() if finite.size else 0)
    fits = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | (np.abs(ours - theirs) <= room)
    if fits.all():
        return None
    k = np.unravel_index(np.argmin(fits), fits.shape)
    return f"{(~fits).sum()} of {fits.size} numbers, first at {k}: {ours[k]}, wanted {theirs[k]}"


def judge(folder, name):
    """None, "unknown" if ONNX Runtime does not know it, or the error."""
    at = os.path.join(folder, name)
    with open(f"{at}/errors") as file:
        errors = file.read().strip()
    if name in REFUSED:
        return None if ("support" in errors or "in mode" in errors) and REFUSED[name] in errors else f"not refused by name: {errors}"
    if errors:
        return errors
    with open(f"{at}/ort.json") as file:
        told = json.load(file)
    if "error" in told:
        print(f"# {name}: ONNX Runtime says {told['error']}"[:240])
        return "unknown"
    for device in ("cpu", "reference"):
        for output, wanted in told.items():
            seen = numpy_helper.to_array(onnx.load_tensor(f"{at}/{device}/{output}.pb"))
            # A mean of float32 halfway between two steps is rounded by the order of its sum.
            found = difference(seen, wanted, int(name.startswith("QLinearAveragePool")))
            if found:
                return f"{device} {output}: {found}"
    return None


def compare(folder, least=200):
    with open(f"{folder}/names") as file:
        names = file.read().split()
    counts = {"right": 0, "unknown": 0, "wrong": 0, "refused": 0}
    for name in names:
        found = judge(folder, name)
        counts["refused" if name in REFUSED and not found else "right" if not found
               else "unknown" if found == "unknown" else "wrong"] += 1
        if found and found != "unknown":
            print(f"# {name}: {found}"[:400])
    print("# " + ", ".join(f"{count} {word}" for word, count in counts.items()))
    return 0 if counts["wrong"] == 0 and counts["right"] > least and counts["unknown"] == 0 else 1


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(compare(sys.argv[2]))
