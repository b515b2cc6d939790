# SPDX-License-Identifier: Apache-2.0
"""Writes the networks of the zoo: families that people run, with random weights, as PyTorch's
exporter writes them.

    zoo.py FOLDER [TEXT]    # only those whose name contains TEXT

Each becomes FOLDER/NAME.onnx, and FOLDER/zoo.json lists them with the inputs to run them with.
"""
import json
import math
import os
import sys
import warnings

import torch
import torchvision.models as vision
from torch import nn
from torch.nn import functional

warnings.filterwarnings("ignore")


# ---- building blocks of transformers ------------------------------------------------------------
class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.heads, self.causal = heads, causal
        self.register_buffer("hidden", torch.full((512, 512), float("-inf")).triu(1))

    def forward(self, x, mask=None, context=None):
        context = x if context is None else context
        batch, length, width = x.shape
        size = width // self.heads

        def split(y):
            return y.view(batch, -1, self.heads, size).transpose(1, 2)

        q, k, v = split(self.query(x)), split(self.key(context)), split(self.value(context))
        scores = q @ k.transpose(-1, -2) / math.sqrt(size)
        if mask is not None:
            scores = scores + mask
        if self.causal:
            scores = scores + self.hidden[:length, :length]
        y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """before: norms before the parts (GPT, ViT); else behind them (BERT)."""

    def __init__(self, width, heads, inner, before=False, activation=functional.gelu, causal=False):
        super().__init__()
        self.attention = Attention(width, heads, causal)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.before, self.activation = before, activation

    def feed(self, x):
        return self.down(self.activation(self.up(x)))

    def forward(self, x, mask=None):
        if self.before:
            x = x + self.attention(self.first(x), mask)
            return x + self.feed(self.second(x))
        x = self.first(x + self.attention(x, mask))
        return self.second(x + self.feed(x))


class Encoder(nn.Module):
    """Ids and a mask to hidden states: BERT, MiniLM, DistilBERT."""

    def __init__(self, layers, width, heads, inner, words=5000, length=512, **options):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Block(width, heads, inner, **options) for _ in range(layers))

    def forward(self, input_ids, attention_mask):
        places = torch.arange(input_ids.shape[1]).unsqueeze(0)
        x = self.norm(self.words(input_ids) + self.places(places))
        mask = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
        for block in self.blocks:
            x = block(x, mask)
        return x


class Decoder(nn.Module):
    """A GPT without past keys: all logits of a text."""

    def __init__(self, layers=6, width=512, heads=8, words=5000):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(512, width)
        self.blocks = nn.ModuleList(Block(width, heads, 4 * width, before=True, causal=True,
                                          activation=quick_gelu) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, input_ids):
        x = self.words(input_ids) + self.places(torch.arange(input_ids.shape[1]).unsqueeze(0))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class RotaryBlock(nn.Module):
    """One layer of a Llama-like decoder for one new token, with past keys and values."""

    def __init__(self, width=1024, heads=16, inner=2816):
        super().__init__()
        self.query, self.key, self.value, self.out = (
            nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)
        self.first, self.second = (nn.Parameter(torch.ones(width)) for _ in range(2))
        self.heads, self.size = heads, width // heads

    @staticmethod
    def norm(x, scale):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * scale

    def turn(self, x, cos, sin):
        a, b = x[..., :self.size // 2], x[..., self.size // 2:]
        return x * cos + torch.cat((-b, a), -1) * sin

    def forward(self, x, past_key, past_value, cos, sin):
        batch, length, width = x.shape
        y = self.norm(x, self.first)
        q, k, v = (f(y).view(batch, length, self.heads, self.size).transpose(1, 2)
                   for f in (self.query, self.key, self.value))
        k = torch.cat((past_key, self.turn(k, cos, sin)), 2)
        v = torch.cat((past_value, v), 2)
        scores = self.turn(q, cos, sin) @ k.transpose(-1, -2) / math.sqrt(self.size)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(y)
        y = self.norm(x, self.second)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y)), k, v


class Audio(nn.Module):
    """Whisper's encoder, tiny: two convolutions over mel bands, then blocks."""

    def __init__(self, width=384, layers=4):
        super().__init__()
        self.first = nn.Conv1d(80, width, 3, padding=1)
        self.second = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.places = nn.Parameter(torch.randn(250, width))
        self.blocks = nn.ModuleList(Block(width, 6, 4 * width, before=True)
                                    for _ in range(layers))

    def forward(self, x):
        x = functional.gelu(self.second(functional.gelu(self.first(x))))
        x = x.transpose(1, 2) + self.places
        for block in self.blocks:
            x = block(x)
        return x


def quick_gelu(x):
    return x * torch.sigmoid(1.702 * x)


# ---- other families -----------------------------------------------------------------------------
class Sequence(nn.Module):
    def __init__(self, kind, width=256, layers=2, both=True):
        super().__init__()
        self.layers = kind(64, width, layers, batch_first=False, bidirectional=both)
        self.head = nn.Linear(width * (2 if both else 1), 40)

    def forward(self, x):
        return self.head(self.layers(x)[0])


def conv_block(before, behind, **options):
    return nn.Sequential(nn.Conv2d(before, behind, 3, padding=1, **options), nn.BatchNorm2d(behind),
                         nn.ReLU())


class UNet(nn.Module):
    def __init__(self, width=32, transposed=True):
        super().__init__()
        sizes = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(nn.Sequential(conv_block(a, b), conv_block(b, b))
                                  for a, b in zip([3] + sizes, sizes))
        self.grow = nn.ModuleList(
            nn.ConvTranspose2d(2 * a, a, 2, 2) if transposed else
            nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Conv2d(2 * a, a, 1))
            for a in sizes[-2::-1])
        self.up = nn.ModuleList(nn.Sequential(conv_block(2 * a, a), conv_block(a, a))
                                for a in sizes[-2::-1])
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x):
        kept = []
        for part in self.down:
            x = part(x if not kept else functional.max_pool2d(x, 2))
            kept.append(x)
        for grow, up, side in zip(self.grow, self.up, kept[-2::-1]):
            x = up(torch.cat((grow(x), side), 1))
        return self.head(x)


def speech_cnn():
    parts, width = [], 64
    for i in range(8):
        parts += [nn.Conv1d(width, width, 11, padding=5, groups=width), nn.Conv1d(width, 128, 1),
                  nn.BatchNorm1d(128), nn.ReLU()]
        width = 128
    return nn.Sequential(*parts, nn.Conv1d(128, 29, 1), nn.LogSoftmax(1))


def temporal_cnn():
    return nn.Sequential(*(part for i in range(6) for part in (
        nn.Conv1d(48, 48, 3, padding=2 ** i, dilation=2 ** i), nn.BatchNorm1d(48), nn.ReLU())),
        nn.Conv1d(48, 10, 1))


def generator():
    parts, widths = [nn.ConvTranspose2d(100, 256, 4), nn.BatchNorm2d(256), nn.ReLU()], [256, 128, 64]
    for a, b in zip(widths, widths[1:] + [32]):
        parts += [nn.ConvTranspose2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU()]
    return nn.Sequential(*parts, nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())


def super_resolution():
    return nn.Sequential(nn.Conv2d(1, 64, 5, padding=2), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1),
                         nn.ReLU(), nn.Conv2d(64, 32, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(32, 9, 3, padding=1), nn.PixelShuffle(3))


class Mixer(nn.Module):
    def __init__(self, tokens=196, width=256, layers=8):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.across = nn.ModuleList(nn.Sequential(nn.Linear(tokens, 128), nn.GELU(),
                                                  nn.Linear(128, tokens)) for _ in range(layers))
        self.along = nn.ModuleList(nn.Sequential(nn.Linear(width, 1024), nn.GELU(),
                                                 nn.Linear(1024, width)) for _ in range(layers))
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        for i, (across, along) in enumerate(zip(self.across, self.along)):
            x = x + across(self.norms[2 * i](x).transpose(1, 2)).transpose(1, 2)
            x = x + along(self.norms[2 * i + 1](x))
        return self.head(x.mean(1))


class Ghost(nn.Module):
    """Ghost modules with squeeze-and-excite and hard functions."""

    def __init__(self, width=48, layers=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.BatchNorm2d(width), nn.Hardswish())
        self.first = nn.ModuleList(nn.Conv2d(width, width // 2, 1) for _ in range(layers))
        self.cheap = nn.ModuleList(nn.Conv2d(width // 2, width // 2, 3, padding=1,
                                             groups=width // 2) for _ in range(layers))
        self.squeeze = nn.ModuleList(nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, width // 4, 1), nn.ReLU(),
            nn.Conv2d(width // 4, width, 1), nn.Hardsigmoid()) for _ in range(layers))

    def forward(self, x):
        x = self.stem(x)
        for first, cheap, squeeze in zip(self.first, self.cheap, self.squeeze):
            a = functional.hardswish(first(x))
            y = torch.cat((a, functional.hardswish(cheap(a))), 1)
            x = x + y * squeeze(y)
        return x.mean((2, 3))


class Yolo(nn.Module):
    """A detector's backbone and heads: SiLU, splits, concatenations, nearest upsampling."""

    def __init__(self, width=32):
        super().__init__()

        def conv(a, b, size=3, stride=1):
            return nn.Sequential(nn.Conv2d(a, b, size, stride, size // 2), nn.BatchNorm2d(b), nn.SiLU())

        self.stem, self.down = conv(3, width, 3, 2), nn.ModuleList()
        self.parts, widths = nn.ModuleList(), [width, 2 * width, 4 * width, 8 * width]
        for a, b in zip(widths, widths[1:]):
            self.down.append(conv(a, b, 3, 2))
            self.parts.append(nn.ModuleList([conv(b, b, 1), conv(b // 2, b // 2), conv(b // 2, b // 2),
                                             conv(3 * b // 2, b, 1)]))
        self.merge = conv(12 * width, 4 * width, 1)
        self.heads = nn.ModuleList(nn.Conv2d(c, 85, 1) for c in (4 * width, 8 * width))

    def forward(self, x):
        x, kept = self.stem(x), []
        for down, (first, a, b, last) in zip(self.down, self.parts):
            left, right = first(down(x)).chunk(2, 1)
            x = last(torch.cat((left, right, right + b(a(right))), 1))
            kept.append(x)
        up = functional.interpolate(kept[2], scale_factor=2, mode="nearest")
        middle = self.merge(torch.cat((up, kept[1]), 1))
        return torch.cat([h(y).flatten(2) for h, y in zip(self.heads, (middle, kept[2]))], 2).sigmoid()


def video_cnn():
    parts, width = [], 3
    for behind, stride in ((32, 2), (64, 2), (64, 1), (128, 2)):
        parts += [nn.Conv3d(width, behind, 3, stride, 1), nn.BatchNorm3d(behind), nn.ReLU()]
        width = behind
    return nn.Sequential(*parts, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(128, 400))


def tabular():
    parts, width = [], 60
    for _ in range(4):
        parts += [nn.Linear(width, 256), nn.BatchNorm1d(256), nn.ELU(), nn.Dropout(0.1)]
        width = 256
    return nn.Sequential(*parts, nn.Linear(256, 1))


# ---- the list -----------------------------------------------------------------------------------
def picture(side=224, batch=1, channels=3):
    return [("x", [batch, channels, side, side], "float32")]


def text(length, batch=1):
    return [("input_ids", [batch, length], "int64"), ("attention_mask", [batch, length], "ones")]


def past(tokens=256, heads=16, size=64):
    keys = [1, heads, tokens, size]
    return [("x", [1, 1, heads * size], "float32"), ("past_key", keys, "float32"),
            ("past_value", keys, "float32"), ("cos", [1, 1, 1, size], "float32"),
            ("sin", [1, 1, 1, size], "float32")]


# name, how it is made, inputs, opset
ZOO = [
    ("alexnet", vision.alexnet, picture(), 13),
    ("vgg11", vision.vgg11, picture(), 13),
    ("resnet18", vision.resnet18, picture(), 13),
    ("resnet50_8", vision.resnet50, picture(batch=8), 17),
    ("squeezenet1_1", vision.squeezenet1_1, picture(), 13),
    ("densenet121", vision.densenet121, picture(), 13),
    ("googlenet", lambda: vision.googlenet(aux_logits=False, init_weights=False), picture(), 13),
    ("inception_v3", lambda: vision.inception_v3(aux_logits=False, init_weights=False),
     picture(299), 13),
    ("mobilenet_v2", vision.mobilenet_v2, picture(), 13),
    ("mobilenet_v3_large", vision.mobilenet_v3_large, picture(), 13),
    ("mobilenet_v3_large_8", vision.mobilenet_v3_large, picture(batch=8), 17),
    ("mnasnet", vision.mnasnet1_0, picture(), 13),
    ("shufflenet_v2", vision.shufflenet_v2_x1_0, picture(), 13),
    ("efficientnet_b0", vision.efficientnet_b0, picture(), 13),
    ("efficientnet_b0_8", vision.efficientnet_b0, picture(batch=8), 13),
    ("efficientnet_v2_s", vision.efficientnet_v2_s, picture(), 17),
    ("convnext_tiny", vision.convnext_tiny, picture(), 13),
    ("regnet_y_400mf", vision.regnet_y_400mf, picture(), 13),
    ("regnet_x_800mf", vision.regnet_x_800mf, picture(), 17),
    ("resnext50", vision.resnext50_32x4d, picture(), 13),
    ("ghost", Ghost, picture(), 13),
    ("yolo_like", Yolo, picture(416), 13),
    ("unet", UNet, picture(256), 13),
    ("unet_bilinear", lambda: UNet(transposed=False), picture(256), 17),
    ("deeplab_head", lambda: nn.Sequential(conv_block(64, 64, dilation=1), nn.Conv2d(
        64, 64, 3, padding=6, dilation=6), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=12, dilation=12),
        nn.ReLU(), nn.Conv2d(64, 21, 1)), picture(96, channels=64), 13),
    ("super_resolution", super_resolution, picture(224, channels=1), 13),
    ("gan_generator", generator, [("x", [8, 100, 1, 1], "float32")], 13),
    ("mixer", Mixer, picture(), 13),
    ("vit_b_16", vision.vit_b_16, picture(), 13),
    ("swin_t", vision.swin_t, picture(), 13),
    ("clip_vision", lambda: vision.VisionTransformer(224, 32, 6, 8, 512, 2048), picture(), 17),
    ("bert_base", lambda: Encoder(12, 768, 12, 3072), text(128), 13),
    ("bert_base_8", lambda: Encoder(12, 768, 12, 3072), text(32, 8), 17),
    ("minilm", lambda: Encoder(6, 384, 12, 1536), text(128), 13),
    ("minilm_17", lambda: Encoder(6, 384, 12, 1536), text(128), 17),
    ("minilm_32", lambda: Encoder(6, 384, 12, 1536), text(32, 32), 17),
    ("distilbert", lambda: Encoder(6, 768, 12, 3072), text(64), 13),
    ("clip_text", lambda: Encoder(6, 512, 8, 2048, before=True, activation=quick_gelu), text(77), 17),
    ("whisper_encoder", Audio, [("x", [1, 80, 500], "float32")], 17),
    ("gpt", Decoder, [("input_ids", [1, 64], "int64")], 13),
    ("llama_layer_past", RotaryBlock, past(), 13),
    ("lstm", lambda: Sequence(nn.LSTM), [("x", [50, 1, 64], "float32")], 13),
    ("lstm_32", lambda: Sequence(nn.LSTM), [("x", [50, 32, 64], "float32")], 13),
    ("gru", lambda: Sequence(nn.GRU), [("x", [50, 1, 64], "float32")], 17),
    ("temporal_cnn", temporal_cnn, [("x", [8, 48, 500], "float32")], 13),
    ("speech_cnn", speech_cnn, [("x", [1, 64, 400], "float32")], 13),
    ("video_cnn", video_cnn, [("x", [1, 3, 16, 112, 112], "float32")], 13),
    ("tabular", tabular, [("x", [256, 60], "float32")], 13),
    ("autoencoder", lambda: nn.Sequential(nn.Linear(784, 256), nn.LeakyReLU(), nn.Linear(256, 32),
                                          nn.Tanh(), nn.Linear(32, 256), nn.LeakyReLU(),
                                          nn.Linear(256, 784), nn.Sigmoid()),
     [("x", [64, 784], "float32")], 17),
]


def randomize(network):
    """Running statistics as after a training, so that norms do something; no weights that are all 0, as heads begin."""
    for part in network.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.5, 1.5)
        weight = getattr(part, "weight", None)
        if weight is not None and not weight.any():
            nn.init.normal_(weight, 0, 0.02)


def sample(shape, kind):
    if kind == "int64":
        return torch.randint(0, 5000, shape)
    return torch.ones(shape, dtype=torch.int64) if kind == "ones" else torch.randn(shape)


def main():
    folder, only = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    os.makedirs(folder, exist_ok=True)
    listed = []
    for name, make, inputs, opset in ZOO:
        listed.append({"name": name, "opset": opset,
                       "inputs": [dict(zip(("name", "shape", "kind"), entry)) for entry in inputs]})
        path = os.path.join(folder, name + ".onnx")
        if only not in name or os.path.exists(path):
            continue
        torch.manual_seed(7)
        network = make().eval()
        randomize(network)
        values = tuple(sample(shape, kind) for _, shape, kind in inputs)
        torch.onnx.export(network, values, path + ".part", opset_version=opset,
                          input_names=[entry[0] for entry in inputs])
        os.replace(path + ".part", path)
        print(name, flush=True)
    with open(os.path.join(folder, "zoo.json"), "w", encoding="utf-8") as file:
        json.dump(listed, file, indent=1)


main()
