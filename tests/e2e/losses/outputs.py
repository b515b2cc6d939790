"""Data and a network with three outputs for test_outputs.sh, and what PyTorch makes of them in double precision.

  outputs.py make FOLDER          heads.onnx: outputs age (two numbers), kind (three classes), tags (four classes at five places,
                                  some of which do not count); x.npy, age.npy, kind.npy, tags.npy, and xt.npy, ... to test
  outputs.py gradients FOLDER MODEL...     the weights of each MODEL are those of heads.onnx less PyTorch's gradients, each tensor
  outputs.py trained FOLDER MODEL STEPS LOG   MODEL is PyTorch's after STEPS steps, and each loss and accuracy that LOG has of its
                                  outputs over the samples to test, and their sum, is PyTorch's"""
import re, sys
import numpy as n, onnx, torch
from onnx import numpy_helper
from torch import nn

what, folder = sys.argv[1:3]
COUNT, TEST, IGNORED = 400, 120, -100
WEIGHTS = dict(kind=1.0, age=0.25, tags=2.0)


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.kind, self.age, self.tags = nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(8, 2), nn.Linear(8, 20)

    def forward(self, x):
        y = torch.tanh(self.trunk(x))
        return self.age(y), torch.log_softmax(self.kind(y), 1), self.tags(y).view(-1, 4, 5)


def network():
    torch.manual_seed(4)
    return Heads()


def losses(model, end, smoothing=0.1):
    x, age, kind, tags = (torch.tensor(n.load(f"{folder}/{name}{end}.npy")) for name in ("x", "age", "kind", "tags"))
    numbers, scores, places = model(x.double())
    kinds = nn.CrossEntropyLoss(torch.tensor([0.5, 2.0, 1.0], dtype=torch.float64), label_smoothing=smoothing)
    each = dict(age=nn.SmoothL1Loss()(numbers, age.double()), kind=kinds(scores, kind.long()), tags=nn.CrossEntropyLoss()(places, tags.long()))
    counts = tags != IGNORED
    right = dict(kind=(scores.argmax(1) == kind).double().mean(), tags=(places.argmax(1) == tags)[counts].double().mean())
    return each, right, sum(WEIGHTS[name] * loss for name, loss in each.items())


def weights_of(path):
    return {t.name: torch.tensor(numpy_helper.to_array(t)).double() for t in onnx.load(path).graph.initializer if t.data_type == 1}


def make():
    random = n.random.default_rng(11)
    for end, count in (("", COUNT), ("t", TEST)):
        x = random.normal(size=(count, 6)).astype("f4")
        tags = (x[:, :5] > 0) * 2 + (x[:, 5:] > 0.5)
        tags[random.random(tags.shape) < 0.3] = IGNORED
        tags[: count // 4] = IGNORED  # these samples have none that counts
        n.save(f"{folder}/x{end}.npy", x)
        n.save(f"{folder}/age{end}.npy", (x[:, :2] * 3 + 1).astype("f4"))
        n.save(f"{folder}/kind{end}.npy", n.where(x[:, 0] > 1, 1, n.where(x[:, 1] > 0, 2, 0)).astype("u1"))
        n.save(f"{folder}/tags{end}.npy", tags.astype("i2"))
    names = dict(input_names=["x"], output_names=["age", "kind", "tags"])
    torch.onnx.export(network().eval(), torch.zeros(2, 6), f"{folder}/heads.onnx", opset_version=14, do_constant_folding=False,
                      dynamic_axes={name: {0: "n"} for name in ("x", "age", "kind", "tags")}, **names)
    crowd = torch.nn.ModuleList(torch.nn.Linear(6, 2) for _ in range(9))

    class Crowd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = crowd

        def forward(self, x):
            return tuple(part(x) for part in self.parts)

    torch.onnx.export(Crowd(), torch.zeros(2, 6), f"{folder}/crowd.onnx", opset_version=14, do_constant_folding=False,
                      input_names=["x"], output_names=[f"out{i}" for i in range(9)])


def gradients(*paths):
    model = network().double()
    losses(model, "")[2].backward()
    before = weights_of(f"{folder}/heads.onnx")
    for path in paths:
        after = weights_of(path)
        assert len(before) == len(after) == 8
        apart = {name: float((before[name] - after[name] - value.grad).abs().max() / value.grad.abs().max()) for name, value in model.named_parameters()}
        print("#", ", ".join(f"{name} {far:.0e}" for name, far in apart.items()))
        assert max(apart.values()) < 1e-5


def trained(path, steps, log):
    model = network().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(int(steps)):
        optimizer.zero_grad()
        losses(model, "")[2].backward()
        optimizer.step()
    after = weights_of(path)
    apart = max(float((after[name] - value).abs().max()) for name, value in model.state_dict().items())
    print(f"# weights {apart:.1e} from PyTorch's")
    assert apart < 1e-5
    each, right, total = losses(model, "t", 0)
    text = open(log).read()
    line = re.findall(r"test losses of the outputs: (.*)", text)[-1]
    ours = {name: (float(loss), float(share or "nan")) for name, loss, share in re.findall(r"(\w+) ([\d.]+)(?: \(accuracy ([\d.]+)\))?", line)}
    print("#", line)
    assert set(ours) == set(WEIGHTS)
    assert all(abs(ours[name][0] - loss.item()) < 1e-4 for name, loss in each.items())
    assert all(abs(ours[name][1] - share.item()) < 1e-4 for name, share in right.items())
    assert abs(float(re.findall(r"test loss ([\d.]+)", text)[-1]) - total.item()) < 1e-4
    assert abs(float(re.findall(r"test accuracy ([\d.]+)", text)[-1]) - right["kind"].item()) < 1e-4


{"make": make, "gradients": gradients, "trained": trained}[what](*sys.argv[3:])
