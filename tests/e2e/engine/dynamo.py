"""Exports by torch.export (dynamo=True) with PyTorch's gradients in double precision (test_dynamo.sh).

  dynamo.py make FOLDER           makes NAME.onnx and NAME.npz, with PyTorch 2.9 or later and onnxscript, which Debian 12 lacks
  dynamo.py check AGENT FOLDER    the gradients are PyTorch's, of each parameter, and of nothing else

The files in tests/data/dynamo were made with PyTorch 2.14.1 and onnxscript 0.7. Names that end with "as it is" are of optimize=False;
the others were optimized, so that some parameters are transposed or joined in them, under another name."""
import os, subprocess, sys, tempfile
import numpy as n

BATCH, CLASSES = 4, 3


def networks():
    """A network, its samples' shape (None: tokens), and whether it is in train()."""
    import torch
    from torch import nn
    import torch.nn.functional as f

    class Net(nn.Module):
        def __init__(self, run, **parts):
            super().__init__()
            self.run = run
            for name, part in parts.items():
                self.register_buffer(name, part) if type(part) is torch.Tensor else setattr(self, name, part)

        def forward(self, x):
            return self.run(self, x)

    p = lambda *shape: nn.Parameter(torch.randn(*shape) * 0.5)
    lines = nn.Linear
    places = torch.arange(6)[:, None] * torch.tensor([1.0, 0.3])

    def einsum(s, x):
        q, k, v = (torch.einsum("bnd,hde->bhne", x, w) for w in (s.q, s.k, s.v))
        return s.o(torch.einsum("bhnm,bhme->bne", f.softmax(torch.einsum("bhne,bhme->bhnm", q, k) / 2 + s.b[None, :, None], -1), v).flatten(1))

    def turned(s, x):
        cos, sin = places.cos().to(x.dtype), places.sin().to(x.dtype)
        a, b = s.i(x).chunk(2, -1)
        y = torch.cat([a * cos - b * sin, a * sin + b * cos], -1)
        return s.o(f.softmax(y @ y.transpose(1, 2), -1) @ y).mean(1)

    def causal(s, x):
        q, k, v = s.i(x).chunk(3, -1)
        scores = torch.where(torch.tril(torch.ones(6, 6)) > 0, q @ k.transpose(1, 2), torch.tensor(-1e9, dtype=x.dtype))
        return s.o((f.softmax(scores, -1) @ v)[:, -1])

    pool = lambda x: x.flatten(2).mean(2)
    image = (2, 6, 6)
    yield "attention by einsum", (5, 6), Net(einsum, q=p(2, 6, 4), k=p(2, 6, 4), v=p(2, 6, 4), b=p(2, 5), o=lines(20, CLASSES))
    yield "turned by tables", (6, 5), Net(turned, i=lines(5, 4), o=lines(4, CLASSES))
    yield "causal", (6, 8), Net(causal, i=lines(8, 24), o=lines(8, CLASSES))
    yield "limits and scalars", (6,), Net(lambda s, x: s.o(f.hardtanh(s.i(x)) + f.relu6(s.i(x)) * 0.3 + torch.log1p(s.i(x).abs()) * s.t.exp()), i=lines(6, 8), t=nn.Parameter(torch.tensor(0.3)), o=lines(8, CLASSES))
    yield "learned limits", (6,), Net(lambda s, x: s.o(torch.clamp(s.i(x), s.l, s.h)), i=lines(6, 8), l=nn.Parameter(torch.tensor(-0.3)), h=nn.Parameter(torch.tensor(0.4)), o=lines(8, CLASSES))
    yield "buffer", (6, 4), Net(lambda s, x: s.o(torch.tanh(s.i(x) + s.e + s.w)[:, -1]), i=lines(4, 4), e=torch.randn(6, 4), w=p(6, 4), o=lines(4, CLASSES))
    yield "tokens", None, Net(lambda s, x: s.o(s.r(s.e(x) + s.p)[0].mean(1)), e=nn.Embedding(11, 5), p=p(7, 5), r=nn.GRU(5, 4, batch_first=True, bidirectional=True), o=lines(8, CLASSES))
    yield "group norm", image, Net(lambda s, x: s.o(pool(torch.tanh(s.n(s.c(x))))), c=nn.Conv2d(2, 4, 3), n=nn.GroupNorm(2, 4), o=lines(4, CLASSES))
    yield "transformer as it is", (6, 8), Net(lambda s, x: s.o(s.t(x).mean(1)), t=nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True), o=lines(8, CLASSES))
    yield "norm in training as it is", image, Net(lambda s, x: s.o(pool(torch.tanh(s.n(s.c(x))))), c=nn.Conv2d(2, 4, 3), n=nn.BatchNorm2d(4), o=lines(4, CLASSES)).train()


def make(folder):
    import copy, torch
    torch.manual_seed(1)
    for name, shape, net in networks():
        torch.manual_seed(len(name))
        with torch.no_grad():
            for parameter in net.parameters():
                parameter += 0.2 * torch.randn_like(parameter)
        as_it_is, base = name.endswith("as it is"), f"{folder}/{name.replace(' ', '-')}"
        net = net.train("in training" in name)
        x = torch.randn(BATCH, *shape) if shape else torch.randint(0, 11, (BATCH, 7))
        y = torch.randint(0, CLASSES, (BATCH,))
        exact = copy.deepcopy(net).double()
        loss = torch.nn.functional.cross_entropy(exact(x.double() if shape else x), y)
        loss.backward()
        torch.onnx.export(net, (x,), base + ".onnx", dynamo=True, optimize=not as_it_is, external_data=False, input_names=["x"], output_names=["y"], dynamic_shapes=({0: "n"},))
        gradients = {"gradient " + name: parameter.grad.numpy() for name, parameter in exact.named_parameters()}
        n.savez_compressed(base + ".npz", x=x.numpy(), y=y.numpy(), loss=loss.item(), **gradients)


def check(agent, folder):
    from onnx import load_tensor, numpy_helper
    names = sorted(file[:-4] for file in os.listdir(folder) if file.endswith(".npz"))
    assert len(names) >= 3, names
    wrong = [f"{name}: {fault}" for name in names if (fault := compare(agent, f"{folder}/{name}", numpy_helper, load_tensor))]
    print("\n".join("# " + fault for fault in wrong))
    sys.exit(len(wrong) > 0)


def compare(agent, base, numpy_helper, load_tensor):
    known = n.load(base + ".npz")
    exact = {name[9:]: known[name] for name in known.files if name.startswith("gradient ")}
    with tempfile.TemporaryDirectory() as out:
        for which in "xy":
            with open(f"{out}/{which}.pb", "wb") as file:
                file.write(numpy_helper.from_array(known[which], which).SerializeToString())
        run = subprocess.run([agent, "model", "gradients", base + ".onnx", "--input", f"{out}/x.pb", "--target", f"{out}/y.pb", "--output-dir", out, "--threads", "1"],
                             capture_output=True, text=True, timeout=60)
        if run.returncode:
            return run.stderr.strip()
        ours = {file[:-3]: numpy_helper.to_array(load_tensor(f"{out}/gradients/{file}")) for file in os.listdir(out + "/gradients")}
    if abs(float(run.stdout.split()[-1]) - float(known["loss"])) > 1e-5 * float(known["loss"]):
        return f"loss {run.stdout.split()[-1]}, wanted {known['loss']}"
    for name in set(ours) & set(exact):
        gradient, right = ours.pop(name), exact.pop(name)
        if gradient.shape != right.shape or abs(gradient - right).max() > 1e-4 * abs(right).max() + 1e-7:
            return f"the gradient of {name} is not PyTorch's"
    # What is left was transposed, shaped or joined: it has the same numbers in another order.
    a, b = (n.sort(n.concatenate([n.ravel(gradient) for gradient in side.values()] or [n.zeros(0)])) for side in (ours, exact))
    if base.endswith("as-it-is") and ours:
        return f"other names: {sorted(ours)}"
    return None if a.size == b.size and not (abs(a - b) > 1e-4 * abs(b).max(initial=0) + 1e-7).any() else f"{sorted(ours)} have not the gradients of {sorted(exact)}"


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(*sys.argv[2:])
