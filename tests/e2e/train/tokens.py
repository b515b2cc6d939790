"""Data and networks for test_tokens.sh.

  tokens.py make FOLDER      first.onnx: an LSTM over 20 tokens of 10; x.npy (int32) holds the tokens 1 and 2 once each, y.npy
                             says which came first; xt.npy, yt.npy the same to test. tags.onnx: an LSTM with a class for
                             each token: whether 1 came before; tags.npy, tagst.npy, -100 behind the end of its text.
                             square.onnx: as many classes as a text has tokens. bits.onnx: several labels of a sample; sums.onnx: a number; their data .npy.
                             line.onnx, line.npy: the same numbers without an axis of 1; clean.onnx: a picture for a picture.
                             beyond.npy: y.npy with a label beyond the classes; strange.npy, latet.npy: x.npy and xt.npy with a token beyond the vocabulary;
                             negative.npy, belowt.npy: with a token -1. ones.onnx: counts tokens by one-hot rows; begun.onnx: puts a token before each text.
                             shares.onnx: bits.onnx and its weights with a sigmoid; halves.onnx: with a softmax; pooled.onnx: means of sigmoids."""
import sys
import numpy as n, torch
from torch import nn

LENGTH, TOKENS = 20, 10
folder = sys.argv[2]
random, _ = n.random.default_rng(5), torch.manual_seed(5)


class First(nn.Module):
    def __init__(self, every, classes=2):
        super().__init__()
        self.every, self.embed, self.cell, self.head = every, nn.Embedding(TOKENS, 16), nn.LSTM(16, 24, batch_first=True), nn.Linear(24, classes)

    def forward(self, x):
        states = self.cell(self.embed(x))[0]
        return self.head(states if self.every else states[:, -1])


class Ones(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(TOKENS, 2)

    def forward(self, x):
        return self.head(nn.functional.one_hot(x.long(), TOKENS).float().mean(1))


class Begun(First):
    def forward(self, x):
        return super().forward(torch.cat([torch.zeros_like(x[:, :1]), x[:, 1:]], 1))


class Line(nn.Module):
    forward = lambda self, x: x.squeeze(-1)


class Means(nn.Module):
    forward = lambda self, x: nn.functional.avg_pool1d(x[:, None], 2).flatten(1)


def texts(count):
    x = random.integers(3, TOKENS, (count, LENGTH), dtype="i4")
    places = n.argsort(random.random((count, 16)), 1)[:, :2]
    x[n.arange(count), places[:, 0]], x[n.arange(count), places[:, 1]] = 1, 2
    tags = (n.cumsum(x == 1, 1) > 0).astype("i2")
    tags[n.arange(LENGTH) >= random.integers(8, LENGTH, (count, 1))] = -100
    return x, (places[:, 0] > places[:, 1]).astype("i8"), tags


for end, count in (("", 4000), ("t", 1000)):
    x, y, tags = texts(count)
    for name, values in (("x", x), ("y", y), ("tags", tags)):
        n.save(f"{folder}/{name}{end}.npy", values)
    v = random.normal(size=(count, 6)).astype("f4")
    n.save(f"{folder}/v{end}.npy", v)
    n.save(f"{folder}/bits{end}.npy", n.stack([v[:, 0] > 0, v[:, 1] + v[:, 2] > 0, v[:, 3] * 0 > v[:, 4]], 1).astype("f4"))
    for name, values, bad, value in (("beyond", y, 1234, 5), ("late", x, 33 if end else None, TOKENS), ("strange", x, 777, TOKENS),
                                      ("below", x, 33 if end else None, -1), ("negative", x, 555, -1)):
        changed = values.copy()
        if bad is not None and bad < count:
            changed[bad if name == "beyond" else (bad, 3)] = value
        n.save(f"{folder}/{name}{end}.npy", changed)
    far = n.where(random.random(count) < 0.02, 500, 0)  # outliers, which a squared loss would follow
    sums = (v @ n.arange(6) + (far if not end else 0)).astype("f4")
    n.save(f"{folder}/sums{end}.npy", sums[:, None])
    n.save(f"{folder}/line{end}.npy", sums)
    noisy = random.normal(size=(count, 1, 5, 5)).astype("f4")
    n.save(f"{folder}/noisy{end}.npy", noisy)
    n.save(f"{folder}/clean{end}.npy", noisy / 2 - 1)
bits = None
for name, network, example in (("first", First(False), torch.zeros(2, LENGTH, dtype=torch.int32)), ("tags", First(True), torch.zeros(2, LENGTH, dtype=torch.int64)),
                               ("square", First(True, LENGTH), torch.zeros(2, LENGTH, dtype=torch.int64)), ("ones", Ones(), torch.zeros(2, LENGTH, dtype=torch.int32)),
                               ("begun", Begun(False), torch.zeros(2, LENGTH, dtype=torch.int64)), ("bits", nn.Linear(6, 3), torch.zeros(2, 6)), ("sums", nn.Linear(6, 1), torch.zeros(2, 6)),
                               ("flat", nn.Sequential(nn.Linear(6, 1), nn.Flatten(0)), torch.zeros(2, 6)),
                               ("line", nn.Sequential(nn.Linear(6, 1), Line()), torch.zeros(2, 6)), ("clean", nn.Conv2d(1, 1, 3, padding=1), torch.zeros(2, 1, 5, 5)),
                               ("wild", nn.Linear(6, 3), torch.zeros(2, 6)), ("shares", nn.Sequential(nn.Linear(6, 3), nn.Sigmoid()), torch.zeros(2, 6)), ("halves", nn.Sequential(nn.Linear(6, 3), nn.Softmax(1)), torch.zeros(2, 6)),
                               ("pooled", nn.Sequential(nn.Linear(6, 6), nn.Sigmoid(), Means()), torch.zeros(2, 6))):
    if name == "shares":
        network[0].load_state_dict(bits)
    bits = network.state_dict() if name == "bits" else bits
    torch.onnx.export(network.eval(), example, f"{folder}/{name}.onnx", opset_version=14, input_names=["x"], output_names=["y"],
                      do_constant_folding=False, dynamic_axes={"x": {0: "n"}})
