"""One network of rules.py: its export by PyTorch, and the gradients of Windlass against PyTorch's in double precision."""
import os, subprocess
import onnx, torch
from onnx import numpy_helper
from torch import nn
import torch.nn.functional as f

CLASSES, BATCH = 3, 4


class Net(nn.Module):
    """`run` gets the parts, by their letters, and the input."""

    def __init__(self, run, parts):
        super().__init__()
        self.run = run
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.run(self, x)


def letters_loss(y, target):
    """Scores of any kind: logits, probabilities or their logarithms."""
    is_share = bool(((y > 0).all() and (abs(y.sum(2) - 1) < 1e-5).all()))
    logarithms = (y.log() if is_share else f.log_softmax(y, 2)).transpose(0, 1)
    counts = (target >= 0).sum(1)
    return nn.CTCLoss()(logarithms, target.clamp(min=0), torch.full((len(y),), y.shape[1], dtype=torch.long), counts)


def loss_of(spec, y, target):
    if spec["loss"] == "ctc":
        return letters_loss(y, target)
    if spec["shares"]:  # losses of probabilities
        return f.binary_cross_entropy(y, target.to(y.dtype)) if spec["loss"] == "binary-cross-entropy" else f.nll_loss(y.log(), target)
    if spec["loss"] != "cross-entropy":
        kinds = {"mean-squared": f.mse_loss, "binary-cross-entropy": f.binary_cross_entropy_with_logits, "huber": f.smooth_l1_loss}
        return kinds[spec["loss"]](y, target.to(y.dtype))
    weights = torch.tensor(spec["weights"], dtype=y.dtype) if spec["weights"] else None
    return f.cross_entropy(y if y.shape[0] == target.shape[0] and y.shape[2:] == target.shape[1:] else y.transpose(1, -1), target, weights)


def gradients_of(spec, state, x, target, dtype):
    network = make(spec).to(dtype)
    network.load_state_dict({name: value.to(dtype) if value.is_floating_point() else value for name, value in state.items()})
    network.train(spec["train"])
    loss = loss_of(spec, network(x if spec["tokens"] else x.to(dtype)), target)
    loss.backward()
    return loss.item(), {name: p.grad.double().numpy() for name, p in network.named_parameters()}


def make(spec):
    return Net(spec["run"], {name: part() for name, part in spec["parts"].items()})


def save(path, array):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(array, "x").SerializeToString())


def export(name, spec, folder, seed):
    """The model, samples and target; the gradients in both precisions."""
    base = f"{folder}/{name.replace(' ', '_').replace(',', '')}"
    torch.manual_seed(sum(name.encode()) + seed)
    os.makedirs(base)
    network = make(spec)
    with torch.no_grad():
        for p in network.parameters():
            p += 0.2 * torch.randn_like(p)
    x = torch.randint(0, spec["tokens"], (BATCH, *spec["shape"])) if spec["tokens"] else torch.randn(BATCH, *spec["shape"])
    y = torch.randint(0, CLASSES, (BATCH, *(spec["target"] or ())))
    if spec["loss"] == "ctc":  # rows of labels, of which some are shorter
        y = torch.randint(1, CLASSES, y.shape)
        y[torch.arange(y.shape[1]) >= torch.randint(0, y.shape[1] + 1, (BATCH, 1))] = -100
    elif spec["target"]:  # places that do not count
        y[torch.rand(y.shape) < 0.3] = -100
    if spec["loss"] not in ("cross-entropy", "ctc"):
        y = torch.rand(BATCH, CLASSES) if spec["loss"] == "binary-cross-entropy" else 2 * torch.randn(BATCH, CLASSES)
    state = {key: value.clone() for key, value in network.state_dict().items()}
    exact, single = (gradients_of(spec, state, x, y, dtype) for dtype in (torch.float64, torch.float32))
    mode = torch.onnx.TrainingMode.PRESERVE if spec["train"] else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(network.train(spec["train"]), x, base + "/model.onnx", opset_version=min(spec["opset"], 17), training=mode, do_constant_folding=False,
                      input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
    if spec["opset"] > 17:
        model = onnx.load(base + "/model.onnx")
        del model.opset_import[:]
        model.opset_import.append(onnx.helper.make_opsetid("", spec["opset"]))
        for node in model.graph.node:
            node.domain = ""
        onnx.save(model, base + "/model.onnx")
    save(base + "/x.pb", x.numpy())
    save(base + "/y.pb", y.numpy())
    return base, exact, single[1]


def distance(ours, exact, single):
    """Over all tensors the worst, in units of what is allowed; a tensor whose gradient is 0 has nothing but rounding."""
    top, worst = max(abs(g).max() for g in exact.values()), (0, "")
    for name, wanted in exact.items():
        assert ours[name].shape == wanted.shape, (name, ours[name].shape, wanted.shape)
        size = abs(wanted).max()
        allowed = 1e-5 * top if size < 1e-9 * top else max(1e-4 * size, 2 * abs(single[name] - wanted).max())
        apart = abs(ours[name] - wanted).max() / allowed
        worst = max(worst, (float(apart) if apart == apart else float("inf"), name))
    return worst


def check(agent, name, spec, made):
    base, (loss, exact), single = made
    run = subprocess.run([agent, "model", "gradients", base + "/model.onnx", "--input", base + "/x.pb", "--target", base + "/y.pb", "--loss", spec["loss"],
                          "--output-dir", base, "--threads", "1",
                          *(word for weight in spec["weights"] or () for word in ("--class-weight", str(weight)))], capture_output=True, text=True, timeout=60)
    if run.returncode:
        return f"{name}: {run.stderr.strip()}"
    files = {file[:-3] for file in os.listdir(base + "/gradients")}
    if files != set(exact):
        return f"{name}: gradients of {sorted(files)}, wanted {sorted(exact)}"
    ours = {file: numpy_helper.to_array(onnx.load_tensor(f"{base}/gradients/{file}.pb")).astype("f8") for file in files}
    said = float(run.stdout.split()[-1])
    if not abs(said - loss) <= 1e-5 * max(1, abs(loss)):
        return f"{name}: loss {said}, wanted {loss}"
    worst, where = distance(ours, exact, single)
    return None if worst <= 1 else f"{name}: {where} is {worst:.3g} times further than allowed"
