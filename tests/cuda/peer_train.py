#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the same GPU: ResNet-50's training, channels last, autocast to bfloat16, torch.compile, SGD with momentum,
pictures in the GPU's memory. peer_train.py BATCH [STEPS]; the last line is a row of JSON."""
import json
import sys
import time

import torch
import torchvision

batch = int(sys.argv[1])
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 30
torch.backends.cudnn.benchmark = True
network = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(network.parameters(), lr=0.02, momentum=0.9, fused=True)
loss_of = torch.nn.CrossEntropyLoss()
x = torch.rand((batch, 3, 224, 224), device="cuda").to(memory_format=torch.channels_last)
labels = torch.arange(batch, device="cuda") % 10


def step(network):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.bfloat16):
        loss = loss_of(network(x), labels)
    loss.backward()
    optimizer.step()
    return loss


rates = {}
for name, trained in (("eager", network), ("compiled", torch.compile(network))):
    for _ in range(5):
        step(trained)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(steps):
        loss = step(trained)
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - began) / steps
    rates[name] = round(batch / seconds, 1)
    print(f"PyTorch {torch.__version__} ResNet-50 training, batch {batch}, {name:9} {seconds * 1e3:8.3f} ms "
          f"{batch / seconds:9.1f}/s, loss {loss.item():.3f}", flush=True)
print(json.dumps({"device": "PyTorch " + torch.__version__, "batch": batch, **rates}))
