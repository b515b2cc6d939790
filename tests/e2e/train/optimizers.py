"""Networks, data and PyTorch's float64 trainings for test_optimizers.sh.

  optimizers.py make FOLDER [SEED]               mlp.onnx (tanh, three layers), bn.onnx (convolution, BatchNorm), x.npy, y.npy, p.npy, q.npy
  optimizers.py curve FOLDER RESULT JSON         trains with PyTorch in double precision as the trainer's JSON says, and
                                                 compares each weight of RESULT (model.onnx)
  optimizers.py apart ONE TWO [AT_LEAST]         the largest difference of two model.onnx, relative to each tensor's largest number"""
import json, sys
import numpy as n, onnx, torch
from onnx import numpy_helper as helper
from torch import nn

SAMPLES = 60


class Net(nn.Module):
    def __init__(self, has_norm):
        super().__init__()
        if has_norm:
            self.body = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.Tanh(), nn.Flatten(), nn.Linear(64, 3))
        else:
            self.body = nn.Sequential(nn.Linear(6, 10), nn.Tanh(), nn.Linear(10, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x):
        return self.body(x)


def make(folder, seed="3"):
    random = n.random.default_rng(int(seed))
    torch.manual_seed(int(seed))
    n.save(f"{folder}/x.npy", random.normal(size=(SAMPLES, 6)).astype("f4"))
    n.save(f"{folder}/p.npy", (1.5 + random.normal(size=(SAMPLES, 2, 6, 6)) * random.uniform(0.2, 2, size=(SAMPLES, 1, 1, 1))).astype("f4"))
    for name in "yq":
        n.save(f"{folder}/{name}.npy", random.integers(0, 3, SAMPLES).astype("i8"))
    for name, example in (("mlp", torch.zeros(2, 6)), ("bn", torch.zeros(2, 2, 6, 6))):
        net = Net(name == "bn")
        torch.onnx.export(net.train(), example, f"{folder}/{name}.onnx", opset_version=14, input_names=["x"], output_names=["y"], training=torch.onnx.TrainingMode.PRESERVE,
                          do_constant_folding=False, dynamic_axes={"x": {0: "n"}})
        torch.save(net.state_dict(), f"{folder}/{name}.pt")


def number(spec, name, default=0.0):
    return float(spec.get(name, default))


class Lamb(torch.optim.Optimizer):
    """You et al., 2020, algorithm 2, with corrected moments."""

    def __init__(self, groups, **defaults):
        super().__init__(groups, defaults)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (one, two), rate, decay = group["betas"], group["lr"], group["weight_decay"]
            for w in group["params"]:
                state = self.state[w]
                t = state["t"] = state.get("t", 0) + 1
                m = state["m"] = one * state.get("m", 0) + (1 - one) * w.grad
                s = state["s"] = two * state.get("s", 0) + (1 - two) * w.grad**2
                u = m / (1 - one**t) / ((s / (1 - two**t)).sqrt() + group["eps"]) + decay * w
                ratio = w.norm() / u.norm() if group["adapts"] and w.norm() > 0 and u.norm() > 0 else 1
                w -= rate * ratio * u


def optimizer_of(net, spec):
    kind, rate, decay = spec["kind"], number(spec, "learningRate"), number(spec, "weightDecay")
    rows, groups = spec.get("layerRates", []), []
    for name, w in net.named_parameters():
        decays = w.ndim != 1 if "noDecay" not in spec else not any(name.endswith(p.lstrip("*")) for p in spec["noDecay"])
        factor = next((float(r["factor"]) for r in rows if name.startswith(r["weights"].rstrip("*"))), 1)
        groups.append({"params": [w], "lr": rate * factor, "factor": factor, "weight_decay": decay if decays else 0, "adapts": decays})
    betas, eps = (number(spec, "beta1", 0.9), number(spec, "beta2", 0.999)), number(spec, "epsilon", 1e-8)
    if kind == "SGD":
        return torch.optim.SGD(groups, lr=rate, momentum=number(spec, "momentum", 0.9), nesterov=spec.get("nesterov", False))
    if kind == "LAMB":
        return Lamb(groups, lr=rate, betas=betas, eps=number(spec, "epsilon", 1e-6), weight_decay=0, adapts=True)
    if kind == "RMSprop":
        return torch.optim.RMSprop(groups, lr=rate, alpha=number(spec, "beta2", 0.99), eps=eps)
    if kind == "Adagrad":
        return torch.optim.Adagrad(groups, lr=rate, eps=number(spec, "epsilon", 1e-10))
    return {"Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW}[kind](groups, lr=rate, betas=betas, eps=eps)


def curve(folder, result, spec):
    own, steps = {"kind": "SGD", "learningRate": "0.1"} | spec["optimizer"], spec["epochs"]
    net = Net(False)
    net.load_state_dict(torch.load(f"{folder}/mlp.pt"))
    net = net.double().train()
    x, y = torch.tensor(n.load(f"{folder}/x.npy")).double(), torch.tensor(n.load(f"{folder}/y.npy"))
    optimizer, average, decay = optimizer_of(net, own), None, spec.get("ema", {}).get("decay")
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        if "clipNorm" in own:
            nn.utils.clip_grad_norm_(net.parameters(), number(own, "clipNorm"))
        if "clipValue" in own:
            nn.utils.clip_grad_value_(net.parameters(), number(own, "clipValue"))
        optimizer.step()
        now = [w.detach().clone() for w in net.parameters()]
        average = now if average is None or decay is None else [float(decay) * a + (1 - float(decay)) * w for a, w in zip(average, now)]
    ours = {t.name: helper.to_array(t) for t in onnx.load(result).graph.initializer}
    worst = max(float(n.abs(ours[name] - a.numpy()).max()) for (name, _), a in zip(net.named_parameters(), average))
    moved = max(float((a - b).abs().max()) for a, b in zip(average, torch.load(f"{folder}/mlp.pt").values()))
    print(f"# {worst:.2e} from PyTorch after {steps} steps, in which weights moved by {moved:.2g}")
    return worst < 1e-5 and moved > 1e-2


def apart(one, two, least=0.0):
    a, b = ({t.name: helper.to_array(t) for t in onnx.load(f).graph.initializer} for f in (one, two))
    worst = max(float(n.abs(a[k] - b[k]).max()) for k in a if a[k].dtype == n.float32 and a[k].size)
    print(f"# {worst:.2e}")
    return worst <= 1e-5 if least == 0 else worst >= least


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    elif sys.argv[1] == "curve":
        sys.exit(not curve(sys.argv[2], sys.argv[3], json.loads(sys.argv[4])))
    else:
        sys.exit(not apart(sys.argv[2], sys.argv[3], *map(float, sys.argv[4:])))
