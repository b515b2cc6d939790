"""Data and networks for test_losses.sh, and what PyTorch makes of them.

  losses.py make FOLDER           lines.onnx: letters of lines, whose blank is the last class; lines.npy, letters.npy (rows of
                                  letters, filled up with -100), linest.npy, letterst.npy to test. rare.onnx: a linear network;
                                  v.npy, y.npy, of which a class is rare; vt.npy, yt.npy;
                                  z.npy: only class 0
  losses.py lines FOLDER MODEL LOSS        LOSS is CTCLoss's of the model over the lines to test
  losses.py rare FOLDER MODEL LOSS STEPS ACCURACY
                                  the model is PyTorch's after STEPS steps over all samples with weights of classes, LOSS its loss
                                  over the samples to test, and ACCURACY that in its last step
  losses.py untrained FOLDER MODEL         its weights are those of rare.onnx"""
import os, subprocess, sys, tempfile
import numpy as n, onnx, torch
from onnx import numpy_helper
from torch import nn

STEPS, LETTERS, ROW, WEIGHTS = 12, 4, 5, (0.25, 3.0, 1.5)
what, folder = sys.argv[1:3]


class Lines(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.cell, self.head = nn.Linear(LETTERS, 16), nn.GRU(16, 16, batch_first=True, bidirectional=True), nn.Linear(32, LETTERS + 1)

    def forward(self, x):
        return self.head(self.cell(torch.tanh(self.wide(x)))[0])


def network(kind):
    torch.manual_seed(3)
    return Lines() if kind == "lines" else nn.Linear(6, 3)


def weights_of(path):
    return {t.name: torch.tensor(numpy_helper.to_array(t)) for t in onnx.load(path).graph.initializer if t.data_type == 1}


def load(name):
    return torch.tensor(n.load(f"{folder}/{name}.npy"))


def make():
    random = n.random.default_rng(7)
    for end, count in (("", 1200), ("t", 300)):
        x, rows = n.zeros((count, STEPS, LETTERS), "f4"), n.full((count, ROW), -100, "i4")
        for i in range(count):  # a letter stands for one or two steps, then nothing for one
            at, letters = 0, random.integers(0, LETTERS, random.integers(0, ROW + 1))
            for k, letter in enumerate(letters):
                wide = random.integers(1, 3)
                if at + wide + 1 > STEPS:
                    letters = letters[:k]
                    break
                x[i, at:at + wide, letter] = 1
                at += wide + 1
            rows[i, :len(letters)] = letters
        n.save(f"{folder}/lines{end}.npy", x + random.normal(size=x.shape).astype("f4") * 0.1)
        n.save(f"{folder}/letters{end}.npy", rows)
        v = random.normal(size=(count, 6)).astype("f4")
        n.save(f"{folder}/v{end}.npy", v)
        y = n.where(v[:, 0] > 1.2, 1, n.where(v[:, 1] > 0, 2, 0))
        n.save(f"{folder}/y{end}.npy", y)
        n.save(f"{folder}/z{end}.npy", 0 * y)
    for name, example in (("lines", torch.zeros(2, STEPS, LETTERS)), ("rare", torch.zeros(2, 6))):
        torch.onnx.export(network(name).eval(), example, f"{folder}/{name}.onnx", opset_version=14, input_names=["x"], output_names=["y"],
                          do_constant_folding=False, dynamic_axes={"x": {0: "n"}})


def close(name, ours, right, bound=1e-5):
    print(f"# {name} {ours:.7g}, PyTorch's {right:.7g}")
    assert abs(ours - right) <= bound * max(1, abs(right))


def outputs(path, x):
    with tempfile.TemporaryDirectory() as at:
        open(f"{at}/x.pb", "wb").write(numpy_helper.from_array(x.numpy(), "x").SerializeToString())
        subprocess.run([os.environ["AGENT"], "model", "run", path, "--input", f"x={at}/x.pb", "--output-dir", at], check=True, capture_output=True)
        return torch.tensor(numpy_helper.to_array(onnx.load_tensor(f"{at}/y.pb")))


def lines(path, loss):
    x, rows = load("linest"), load("letterst").long()
    logarithms = torch.log_softmax(outputs(path, x).double(), 2).transpose(0, 1)
    right = nn.CTCLoss(blank=LETTERS)(logarithms, rows.clamp(min=0), torch.full((len(x),), STEPS), (rows >= 0).sum(1))
    close("loss over the lines to test", float(loss), right.item(), 1e-4)


def rare(path, loss, steps, accuracy):
    model, criterion = network("rare").double(), nn.CrossEntropyLoss(torch.tensor(WEIGHTS, dtype=torch.float64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(int(steps)):
        optimizer.zero_grad()
        scores = model(load("v").double())
        criterion(scores, load("y")).backward()
        optimizer.step()
    ours = weights_of(path)
    apart = max(float((ours[name].double() - value).abs().max()) for name, value in model.state_dict().items())
    print(f"# weights {apart:.1e} from PyTorch's")
    assert apart < 1e-5
    close("loss over the samples to test", float(loss), criterion(model(load("vt").double()), load("yt")).item())
    close("accuracy of the last step", float(accuracy), (scores.argmax(1) == load("y")).double().mean().item(), 2e-3)


def untrained(path):
    before, after = weights_of(f"{folder}/rare.onnx"), weights_of(path)
    assert all(torch.equal(after[name], value) for name, value in before.items())


{"make": make, "lines": lines, "rare": rare, "untrained": untrained}[what](*sys.argv[3:])
