#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the same GPU: channels last, torch.compile, bfloat16, the same two networks, data in the GPU's memory.

Johnson's network with reflection pads, instance norms and nearest doubling (as tests/bench/make_models.py writes it);
torchvision's ResNet-50. Random weights: they change no timing.
"""
import time

import torch
from torch import nn


class Layer(nn.Sequential):
    """Reflection pad, convolution and, where `normed`, instance norm."""

    def __init__(self, inputs, outputs, kernel, stride=1, normed=True):
        parts = [nn.ReflectionPad2d(kernel // 2), nn.Conv2d(inputs, outputs, kernel, stride)]
        super().__init__(*parts, *([nn.InstanceNorm2d(outputs, affine=True)] if normed else []))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.second = Layer(channels, channels, 3), Layer(channels, channels, 3)

    def forward(self, x):
        return x + self.second(torch.relu(self.first(x)))


def johnson():
    return nn.Sequential(
        Layer(3, 32, 9), nn.ReLU(), Layer(32, 64, 3, 2), nn.ReLU(), Layer(64, 128, 3, 2), nn.ReLU(),
        *[Residual(128) for _ in range(5)],
        nn.Upsample(scale_factor=2), Layer(128, 64, 3), nn.ReLU(),
        nn.Upsample(scale_factor=2), Layer(64, 32, 3), nn.ReLU(), Layer(32, 3, 9, normed=False))


def measure(name, network, shape, runs=50):
    network = network.eval().cuda().to(torch.bfloat16, memory_format=torch.channels_last)
    x = torch.rand(shape, device="cuda").to(torch.bfloat16, memory_format=torch.channels_last)
    network = torch.compile(network, mode="max-autotune")
    with torch.inference_mode():
        for _ in range(5):
            network(x)
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(runs):
            network(x)
        torch.cuda.synchronize()
        seconds = (time.perf_counter() - began) / runs
    print(f"{'PyTorch ' + torch.__version__:14} {name:22} {seconds * 1e3:8.3f} ms {shape[0] / seconds:10.1f}/s", flush=True)


torch.backends.cudnn.benchmark = True
measure("Johnson 1920x1080", johnson(), (1, 3, 1080, 1920))
try:
    import torchvision

    measure("ResNet-50 batch 128", torchvision.models.resnet50(), (128, 3, 224, 224))
except ImportError:
    print("PyTorch: no torchvision, so no ResNet-50")
