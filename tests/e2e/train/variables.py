"""Networks of PyTorch's exporter, and what a training makes of them (test_variables.sh).

  variables.py make FOLDER              NAME.onnx, NAME.x.npy, NAME.y.npy, x and y as .pb, and the gradients of each
                                        parameter in double precision, NAME.gradients/PARAMETER.npy
  variables.py gradients FOLDER NAME    compares NAME.out/gradients with these: as many, each within 1e-4
  variables.py agrees RUN SCORES        RUN/ort.json of ONNX Runtime is SCORES/y.pb
  variables.py moved BEFORE AFTER [KEPT ...]   every initializer of floats has other bits, but those named KEPT, which may
                                        be Constant nodes now; Constant nodes are Constant nodes with the same bits"""
import contextlib, json, math, os, sys
import numpy as n, onnx
from onnx import helper, numpy_helper

CLASSES, BATCH = 3, 6


def networks():
    import torch
    from torch import nn

    class Groups(nn.Module):  # the exporter adds ones and zeros
        def __init__(self):
            super().__init__()
            self.conv, self.norm, self.head = nn.Conv2d(2, 8, 3), nn.GroupNorm(4, 8), nn.Linear(8, CLASSES)
            nn.init.normal_(self.norm.weight), nn.init.normal_(self.norm.bias)

        def forward(self, x):
            return self.head(torch.tanh(self.norm(self.conv(x))).mean((2, 3)))

    class Vision(nn.Module):  # class token, positions, a block of a transformer
        def __init__(self):
            super().__init__()
            self.patches, self.norm, self.head = nn.Conv2d(2, 16, 4, 4), nn.LayerNorm(16), nn.Linear(16, CLASSES)
            self.token, self.positions = nn.Parameter(torch.randn(1, 1, 16)), nn.Parameter(torch.randn(1, 10, 16))
            self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, activation="gelu", batch_first=True,
                                                    norm_first=True)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
            return self.head(self.norm(self.block(x))[:, 0])

    class Weights(nn.Module):  # weight = g v / |v|
        def __init__(self):
            super().__init__()
            self.conv, self.head = nn.utils.weight_norm(nn.Conv2d(2, 8, 3)), nn.Linear(8, CLASSES)

        def forward(self, x):
            return self.head(torch.tanh(self.conv(x)).mean((2, 3)))

    class Batches(nn.Module):  # zeros and ones are written once, statistics with them
        def __init__(self):
            super().__init__()
            self.a, self.an, self.b, self.bn = nn.Conv2d(2, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8)
            self.head = nn.Linear(8, CLASSES)

        def forward(self, x):
            return self.head(torch.tanh(self.bn(self.b(torch.tanh(self.an(self.a(x)))))).mean((2, 3)))

    class Tied(nn.Module):  # one matrix, there and back, and a factor of one number
        def __init__(self):
            super().__init__()
            self.inner, self.head = nn.Linear(288, 288, bias=False), nn.Linear(288, CLASSES)
            self.factor = nn.Parameter(torch.tensor(0.7))

        def forward(self, x):
            x = torch.tanh(self.inner(x.flatten(1))) * self.factor
            return self.head(x @ self.inner.weight)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.LSTM(24, 8, batch_first=True), nn.Linear(8, CLASSES)

        def forward(self, x):
            return self.head(self.cell(x.flatten(2).transpose(1, 2).reshape(-1, 12, 24))[0][:, -1])

    class Folded(nn.Module):  # tied, and constant folding writes one of the two transposed
        def __init__(self):
            super().__init__()
            self.rows, self.norm, self.head = nn.Linear(288, 12, bias=False), nn.LayerNorm(12), nn.Linear(288, CLASSES)

        def forward(self, x):
            return self.head(nn.functional.linear(self.norm(self.rows(x.flatten(1))), self.rows.weight.t()))

    class Copies(nn.Module):  # layers with equal numbers, and a transformer's usual dropout
        def __init__(self):
            super().__init__()
            self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(24, 4, 16, batch_first=True), 2)
            self.head = nn.Linear(24, CLASSES)

        def forward(self, x):
            return self.head(self.layers(x.reshape(-1, 12, 24)).mean(1))

    class Sharp(nn.Module):  # constant folding writes a formula of a parameter, and an element, as one number
        def __init__(self):
            super().__init__()
            self.sharpness, self.shares, self.head = nn.Parameter(torch.tensor(0.3)), nn.Parameter(torch.randn(2)), nn.Linear(288, CLASSES)

        def forward(self, x):
            return self.head(torch.tanh(x.flatten(1) * self.shares[1])) * (self.sharpness + 1) / 2

    class Determinant(nn.Module):  # runs, and has no gradient
        def __init__(self):
            super().__init__()
            self.inner, self.head = nn.Linear(288, 32), nn.Linear(8, CLASSES)

        def forward(self, x):
            return self.head(torch.linalg.det(self.inner(x.flatten(1)).reshape(-1, 8, 2, 2)))

    class Noise(nn.Module):  # as in a variational autoencoder
        def __init__(self):
            super().__init__()
            self.middle, self.spread, self.head = nn.Linear(288, 8), nn.Linear(288, 8), nn.Linear(8, CLASSES)

        def forward(self, x):
            spread = torch.exp(self.spread(x.flatten(1)) / 2)
            return self.head(self.middle(x.flatten(1)) + spread * torch.randn_like(spread))

    class Attend(torch.autograd.Function):  # Attention of opset 23
        forward = staticmethod(lambda ctx, q, k, v: attend(q, k, v))
        symbolic = staticmethod(lambda g, q, k, v: g.op("newer::Attention", q, k, v, q_num_heads_i=2, kv_num_heads_i=2, is_causal_i=1).setType(q.type()))

    def attend(*inputs):
        q, k, v = (t.reshape(*t.shape[:2], 2, -1).transpose(1, 2) for t in inputs)
        scores = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).masked_fill(torch.triu(torch.ones(12, 12, dtype=torch.bool), 1), -float("inf"))
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)

    class Fused(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(24, 24, bias=False) for _ in range(3))
            self.head = nn.Linear(24, CLASSES)

        def forward(self, x):
            x = x.reshape(-1, 12, 24)
            return self.head((Attend.apply if torch.onnx.is_in_onnx_export() else attend)(self.q(x), self.k(x), self.v(x))[:, -1])

    class Tables(nn.Module):  # buffers, and a parameter that stays
        def __init__(self):
            super().__init__()
            angles = torch.arange(12)[:, None] * torch.exp(torch.arange(0, 24, 2) * (-math.log(10000) / 24))
            self.register_buffer("pe", torch.stack([angles.sin(), angles.cos()], 2).flatten(1))
            self.register_buffer("pixel_mean", torch.tensor([0.485, 0.456]).reshape(1, 2, 1, 1))
            self.register_buffer("places", torch.linspace(-1, 1, 12)[:, None].repeat(1, 2))
            self.register_buffer("drawn", torch.randn(24, 24))
            self.fixed, self.learned = nn.Parameter(torch.randn(12, 24), requires_grad=False), nn.Parameter(torch.randn(12, 24))
            self.scale, self.turn = nn.Parameter(torch.ones(24)), nn.Parameter(torch.eye(24))
            self.inner, self.head = nn.Linear(2, 24), nn.Linear(24, CLASSES)

        def forward(self, x):
            x = (x - self.pixel_mean).reshape(-1, 12, 24) @ self.drawn @ self.turn * self.scale
            return self.head(torch.tanh(x + self.pe + self.fixed + self.learned + self.inner(self.places)).mean(1))

    class Stays(nn.Module):  # its parts are in eval() in a network in train()
        def __init__(self, part):
            super().__init__()
            self.part = part

        def train(self, mode=True):
            return super().train(False)

        def forward(self, x):
            return self.part(x)

    class Held(nn.Module):  # norms of which one is frozen, and buffers
        def __init__(self):
            super().__init__()
            self.a, self.an, self.b, self.bn = nn.Conv2d(2, 8, 3), Stays(nn.BatchNorm2d(8)), nn.Conv2d(8, 8, 3, bias=False), nn.BatchNorm2d(8)
            nn.init.normal_(self.an.part.running_mean), nn.init.uniform_(self.an.part.running_var, 0.5, 1.5)
            self.middle = Stays(nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8)))
            self.old, self.head = Stays(nn.utils.spectral_norm(nn.Linear(8, 8))), nn.Linear(8, CLASSES)

        def forward(self, x):
            x = torch.tanh(self.bn(self.b(torch.tanh(self.an(self.a(x)))))).mean((2, 3))
            return self.head(torch.tanh(self.old(torch.tanh(self.middle(x)))))

    return {kind.__name__.lower(): kind for kind in (Groups, Vision, Weights, Batches, Tied, Recurrent, Folded, Sharp, Copies, Determinant, Noise, Fused, Held, Tables)}


def export(network, x, path, mode, folds=False):
    import torch
    torch.onnx.export(network, torch.tensor(x), path, opset_version=14, input_names=["x"], output_names=["y"], training=mode,
                      do_constant_folding=folds, dynamic_axes={"x": {0: "n"}})
    model = onnx.load(path)
    if any(node.domain == "newer" for node in model.graph.node):
        del model.opset_import[:]
        model.opset_import.append(helper.make_opsetid("", 23))
        for node in model.graph.node:
            node.domain = ""
        onnx.save(model, path)


def held(network, base):
    """What the lines of docs/training/buffers.md print."""
    lines = next(part for part in open("docs/training/buffers.md").read().split("```") if "named_buffers" in part)
    with open(base + ".freeze", "w") as file, contextlib.redirect_stdout(file):
        exec(lines.removeprefix("python").replace("net.onnx", base + ".onnx"), {"model": network})


def make(folder):
    import torch
    domains(folder)
    random = n.random.default_rng(3)
    for name, kind in networks().items():
        torch.manual_seed(4)
        network, base = kind(), f"{folder}/{name}"
        x, y = random.normal(size=(BATCH, 2, 12, 12)).astype("f4"), n.arange(BATCH) % CLASSES
        double = kind().double().train()
        double.load_state_dict(network.state_dict())
        if name == "copies":
            export(network.train(), x, base + ".apart.onnx", torch.onnx.TrainingMode.TRAINING)
        mode = torch.onnx.TrainingMode.PRESERVE if name in ("batches", "held") else torch.onnx.TrainingMode.EVAL
        export(network.train(name == "held"), x, base + ".onnx", mode, name in ("folded", "sharp"))
        torch.nn.functional.cross_entropy(double(torch.tensor(x).double()), torch.tensor(y)).backward()
        os.makedirs(base + ".gradients")
        for parameter, value in double.named_parameters():
            if value.requires_grad:
                n.save(f"{base}.gradients/{parameter}.npy", value.grad.numpy())
        if name == "tables":
            held(network, base)
        n.save(base + ".x.npy", n.tile(x, (8, 1, 1, 1)))
        n.save(base + ".y.npy", n.tile(y, 8))
        for which, values in (("x", x), ("y", y)):
            open(f"{base}.{which}.pb", "wb").write(numpy_helper.from_array(values, which).SerializeToString())


def domains(folder):
    """Operators of ai.onnx.ml, com.microsoft and the standard. FOLDER/domains.run: one batch for ONNX Runtime (runtime.cjs)."""
    random, base = n.random.default_rng(9), folder + "/domains"
    weights = [numpy_helper.from_array(random.normal(size=shape).astype("f4"), name) for name, shape in
               (("inner.weight", (6, 8)), ("inner.bias", 8), ("head.weight", (8, CLASSES)), ("head.bias", CLASSES))]
    nodes = [helper.make_node("Scaler", ["x"], ["scaled"], domain="ai.onnx.ml", offset=[0.1] * 6, scale=[2.0] * 6),
             helper.make_node("MatMul", ["scaled", "inner.weight"], ["inner"]),
             helper.make_node("BiasGelu", ["inner", "inner.bias"], ["active"], domain="com.microsoft"),
             helper.make_node("Gemm", ["active", "head.weight", "head.bias"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, ["n", 6])], [helper.make_tensor_value_info("y", 1, ["n", CLASSES])], weights)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("com.microsoft", 1)]
    open(base + ".onnx", "wb").write(helper.make_model(graph, opset_imports=versions, ir_version=8).SerializeToString())
    x = random.normal(size=(48, 6)).astype("f4")
    n.save(base + ".x.npy", x), n.save(base + ".y.npy", n.arange(48) % CLASSES)
    open(base + ".x.pb", "wb").write(numpy_helper.from_array(x[:BATCH], "x").SerializeToString())
    os.makedirs(base + ".run")
    x[:BATCH].tofile(base + ".run/x.raw")
    json.dump([{"name": "x", "type": "float32", "dims": [BATCH, 6]}], open(base + ".run/inputs.json", "w"))


def agrees(run, scores):
    theirs = n.array(json.load(open(run + "/ort.json"))["y"]["data"], "f8").reshape(BATCH, CLASSES)
    ours = numpy_helper.to_array(onnx.load_tensor(scores + "/y.pb"))
    assert abs(ours - theirs).max() < 1e-4, (ours, theirs)


def gradients(folder, name):
    wanted = sorted(os.listdir(f"{folder}/{name}.gradients"))
    made = sorted(os.listdir(f"{folder}/{name}.out/gradients"))
    assert [file[:-4] for file in wanted] == [file[:-3] for file in made], (wanted, made)
    worst = 0
    for file in wanted:
        right = n.load(f"{folder}/{name}.gradients/{file}")
        ours = numpy_helper.to_array(onnx.load_tensor(f"{folder}/{name}.out/gradients/{file[:-4]}.pb"))
        assert ours.shape == right.shape and n.linalg.norm(right) > 0, file
        worst = max(worst, n.linalg.norm(ours - right) / max(n.linalg.norm(right), 1e-6))
        assert n.linalg.norm(ours - right) < 1e-4 * max(n.linalg.norm(right), 1e-3), (file, worst)
    print(f"# {name}: {len(wanted)} tensors, at worst {worst:.1e}")


def parts(path):
    """Initializers, also those that are Identity of another; Constant nodes of floats."""
    graph = onnx.load(path).graph
    onnx.checker.check_model(onnx.load(path))
    floats = {t.name: numpy_helper.to_array(t).tobytes() for t in graph.initializer if t.data_type == 1}
    for node in graph.node:
        if node.op_type == "Identity" and node.input[0] in floats:
            floats[node.output[0]] = floats[node.input[0]]
    return floats, {node.output[0]: numpy_helper.to_array(node.attribute[0].t).tobytes() for node in graph.node
                    if node.op_type == "Constant" and node.attribute[0].t.data_type == 1}


def moved(before, after, *kept):
    (old, literals), (new, literals_after) = parts(before), parts(after)
    same = sorted(name for name in old if old[name] == new.get(name, literals_after.get(name)))
    assert old.keys() >= new.keys() and same == sorted(kept), same
    assert literals_after == literals | {name: old[name] for name in old.keys() - new.keys()}
    print(f"# {len(old) - len(same)} of {len(old)} moved, {len(literals)} constants of floats did not")


{"make": make, "agrees": agrees, "gradients": gradients, "moved": moved}[sys.argv[1]](*sys.argv[2:])
