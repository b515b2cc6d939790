"""Networks in every form that PyTorch's exporter has, and what a training makes of each (test_forms.sh).

  forms.py AGENT TRAINER FOLDER COUNT SEED    COUNT of the combinations of network and form, drawn by the seed; all: every one
  forms.py names                              how many there are
  forms.py mixed FOLDER                       networks whose rows depend on each other

Each is trained for a few steps with all samples in one batch, evaluated, published and run again. Reference: the same steps
by PyTorch in double precision, of the module as it is, or, where the exporter has folded its norms, of the folded one. Compared:
each weight and statistic, the test loss, and the outputs of model.onnx for one sample and for all."""
import itertools, json, os, random, subprocess, sys, warnings
import numpy as n, onnx, torch
from onnx import helper, numpy_helper
from torch import nn

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
CLASSES, BATCH, EPOCHS, RATE, MOMENTUM = 3, 12, 5, 0.05, 0.1
MODE = torch.onnx.TrainingMode


class Net(nn.Module):
    def __init__(self, run, parts):
        super().__init__()
        self.run = run
        for name, part in parts.items():
            setattr(self, name, part())

    def forward(self, x):
        return self.run(self, x)


pool = lambda x: nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
NETWORKS = {
    "plain": ((2, 8, 8), lambda s, x: s.o(s.d(pool(torch.tanh(s.n(s.c(x)))))),
              dict(c=lambda: nn.Conv2d(2, 6, 3), n=lambda: nn.BatchNorm2d(6), d=lambda: nn.Dropout(0.0), o=lambda: nn.Linear(6, CLASSES))),
    "residual": ((3, 6, 6), lambda s, x: s.o(pool(torch.tanh(s.n(s.c(x)) + s.m(s.e(x))))),
                 dict(c=lambda: nn.Conv2d(3, 5, 3, padding=1, bias=False), n=lambda: nn.BatchNorm2d(5), e=lambda: nn.Conv2d(3, 5, 1, bias=False),
                      m=lambda: nn.BatchNorm2d(5, eps=1e-3), o=lambda: nn.Linear(5, CLASSES))),
    "depthwise": ((4, 7, 7), lambda s, x: s.o(pool(torch.tanh(s.m(s.e(torch.sigmoid(s.n(s.c(x)))))))),
                  dict(c=lambda: nn.Conv2d(4, 4, 3, groups=4, bias=False), n=lambda: nn.BatchNorm2d(4), e=lambda: nn.Conv2d(4, 6, 1), m=lambda: nn.BatchNorm2d(6),
                       o=lambda: nn.Linear(6, CLASSES))),
    "dense": ((10,), lambda s, x: s.o(s.d(torch.tanh(s.n(s.i(x))))),
              dict(i=lambda: nn.Linear(10, 8), n=lambda: nn.BatchNorm1d(8), d=lambda: nn.Dropout(0.0), o=lambda: nn.Linear(8, CLASSES))),
    "series": ((3, 11), lambda s, x: s.o(torch.tanh(s.n(s.c(x))).flatten(1)),
               dict(c=lambda: nn.Conv1d(3, 4, 4, stride=2), n=lambda: nn.BatchNorm1d(4), o=lambda: nn.Linear(16, CLASSES))),
}
# name: training=, in train(), do_constant_folding, keep_initializers_as_inputs
FORMS = {
    "default": (MODE.EVAL, False, True, False),
    "eval, unfolded": (MODE.EVAL, False, False, False),
    "eval, inputs": (MODE.EVAL, False, True, True),
    "preserve of eval": (MODE.PRESERVE, False, True, False),
    "preserve of eval, unfolded": (MODE.PRESERVE, False, False, True),
    "preserve of train": (MODE.PRESERVE, True, True, False),
    "training": (MODE.TRAINING, True, True, False),
    "training, unfolded, inputs": (MODE.TRAINING, True, False, True),
    "dynamo": (MODE.PRESERVE, False, False, False),  # nodes in functions, weights in another file
}
COMBINATIONS = list(itertools.product(NETWORKS, FORMS, (13, 14, 17, 18, 19, 20, 21)))


def module(name):
    shape, run, parts = NETWORKS[name]
    torch.manual_seed(len(name))
    net = Net(run, parts)
    for norm in norms(net):
        nn.init.uniform_(norm.weight, 0.5, 1.5), nn.init.normal_(norm.bias, std=0.1)
        nn.init.normal_(norm.running_mean, std=0.1), nn.init.uniform_(norm.running_var, 0.5, 1.5)
    return net


def norms(net):
    return [m for m in net.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]


def export(net, form, opset, shape, path):
    """The exporter of PyTorch 1.13 ends at 17; what these networks use is the same in 18 to 21."""
    mode, train, fold, keep = FORMS[form]
    net.train(train)
    torch.onnx.export(net, torch.randn(BATCH, *shape), path, opset_version=min(opset, 17), training=mode, do_constant_folding=fold,
                      keep_initializers_as_inputs=keep, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
    model = onnx.load(path)
    model.opset_import[0].version, model.ir_version = opset, max(model.ir_version, {19: 9, 20: 9, 21: 10}.get(opset, 8))
    if keep:  # statistics of the batch as outputs of the network, too
        for node in model.graph.node:
            if node.op_type == "BatchNormalization" and len(node.output) > 1:
                model.graph.output.extend(helper.make_tensor_value_info(name, 1, None) for name in node.output[1:3])
    if form == "dynamo":
        wrap(model)
        onnx.save(model, path, save_as_external_data=True, location="net.onnx.data", size_threshold=0)
        onnx.load_external_data_for_model(model, os.path.dirname(path))
    else:
        open(path, "wb").write(model.SerializeToString())
    return model


def wrap(model):
    """As exporters by tracing do: each operator a function, all of them in one for the module. A constant's value becomes an
    attribute of the call."""
    graph, opsets = model.graph, list(model.opset_import)
    made = {t.name for t in graph.initializer} | {"x"}
    inner = []
    for i, node in enumerate(graph.node):
        if node.op_type in ("BatchNormalization", "Gemm", "Identity"):
            names = [f"in{k}" for k in range(len(node.input))]
            body = helper.make_node(node.op_type, names, ["out"])
            for attribute in node.attribute:
                reference = onnx.AttributeProto(name=attribute.name, type=attribute.type, ref_attr_name="its_" + attribute.name)
                body.attribute.append(reference)
            model.functions.append(helper.make_function("torch.nn", f"{node.op_type}{i}", names, ["out"], [body], opsets, ["its_" + a.name for a in node.attribute]))
            call = helper.make_node(f"{node.op_type}{i}", node.input, node.output, domain="torch.nn")
            for attribute in node.attribute:
                copy = onnx.AttributeProto()
                copy.CopyFrom(attribute)
                copy.name = "its_" + attribute.name
                call.attribute.append(copy)
            inner.append(call)
        else:
            inner.append(node)
    inputs = sorted(made & {name for node in inner for name in node.input})
    domains = opsets + [helper.make_opsetid("torch.nn", 1)]
    model.functions.append(helper.make_function("pkg", "Module", ["_" + name for name in inputs], ["_y"], [renamed(node, made) for node in inner], domains))
    del graph.node[:]
    graph.node.append(helper.make_node("Module", inputs, ["y"], domain="pkg"))
    model.opset_import.extend([helper.make_opsetid("torch.nn", 1), helper.make_opsetid("pkg", 1)])


def renamed(node, made):
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = ["_" + name if name in made or name == "y" else name for name in node.input]
    copy.output[:] = ["_" + name if name == "y" else name for name in node.output]
    return copy


def is_folded(name, form):
    """Only convolutions whose norm is the next node are folded, and only by TrainingMode.EVAL."""
    return FORMS[form][0] == MODE.EVAL and any(isinstance(m, (nn.Conv1d, nn.Conv2d)) for m in module(name).modules())


def reference(name, form, exported):
    """Trained by PyTorch, from the statistics in the file: the exporter's own run in train() has moved them. The running
    variance is ONNX's: of the batch, without Bessel's correction."""
    net, state = module(name).double(), net_state(exported)
    net.load_state_dict({name: torch.tensor(state.get(name, value)) if "running" in name else value for name, value in net.state_dict().items()})
    if is_folded(name, form):
        net.eval()
        for conv, norm in (("c", "n"), ("e", "m")):
            if hasattr(net, norm):
                setattr(net, conv, nn.utils.fusion.fuse_conv_bn_eval(getattr(net, conv), getattr(net, norm)))
                setattr(net, norm, nn.Identity())
    x, y = data(name)
    batch, labels = torch.tensor(x).double(), torch.tensor(y)
    net.train()
    for norm in norms(net):
        norm.momentum = 0.0
        norm.register_forward_hook(note)
    for _ in range(EPOCHS):
        net.zero_grad()
        nn.functional.cross_entropy(net(batch), labels).backward()
        with torch.no_grad():
            for norm in norms(net):
                norm.running_mean.lerp_(norm.batch_mean, MOMENTUM)
                norm.running_var.lerp_(norm.batch_variance, MOMENTUM)
            for p in net.parameters():
                p -= RATE * p.grad
    net.eval()
    with torch.no_grad():
        scores = net(batch)
        return net, scores.numpy(), float(nn.functional.cross_entropy(scores, labels))


def net_state(model):
    return {t.name: numpy_helper.to_array(t).astype("f8") for t in model.graph.initializer}


def note(norm, inputs, output):
    axes = [i for i in range(inputs[0].dim()) if i != 1]
    norm.batch_mean, norm.batch_variance = inputs[0].detach().mean(axes), inputs[0].detach().var(axes, unbiased=False)


def data(name):
    random = n.random.default_rng(7)
    shape = NETWORKS[name][0]
    return random.normal(size=(BATCH, *shape)).astype("f4"), n.arange(BATCH) % CLASSES


def run(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, **(environment or {})})
    assert done.returncode == 0, (command, done.stdout[-600:], done.stderr[-600:])
    return done.stdout


def train(trainer, folder, name, path):
    for which, values in zip("xy", data(name)):
        n.save(f"{folder}/{which}.npy", values)
    tensors = {"tensors": {"samples": "data/x.npy", "labels": "data/y.npy"}}
    spec = {"trainer": {"model": {"path": path}, "data": {"train": tensors, "test": tensors}, "epochs": EPOCHS, "batchSize": BATCH,
                        "output": {"path": "out/result"}, "optimizer": {"learningRate": str(RATE), "momentum": "0"}}}
    os.makedirs(f"{folder}/out/result")
    return run([trainer, "train"], {"WINDLASS_SPEC": json.dumps(spec), "data": folder, "out": f"{folder}/out"})


def scores(agent, folder, model, x):
    open(f"{folder}/x.pb", "wb").write(numpy_helper.from_array(x, "x").SerializeToString())
    run([agent, "model", "run", model, "--input", f"x={folder}/x.pb", "--output-dir", f"{folder}/scores"])
    return numpy_helper.to_array(onnx.load_tensor(f"{folder}/scores/y.pb"))


def close(ours, right, what):
    far = n.abs(n.asarray(ours) - right).max()
    assert far <= 2e-4 * max(n.abs(right).max(), 1e-2), (what, far)


def check(agent, trainer, folder, combination):
    name, form, opset = combination
    os.makedirs(folder)
    exported = export(module(name), form, opset, NETWORKS[name][0], f"{folder}/net.onnx")
    log = train(trainer, folder, name, "data/net.onnx")
    assert ("folded a BatchNormalization" in log) == is_folded(name, form), log
    assert ("was exported for training" in log) == FORMS[form][1], log
    net, right, loss = reference(name, form, exported)
    result = f"{folder}/out/result/model.onnx"
    model = onnx.load(result)
    if model.ir_version <= onnx.IR_VERSION and opset <= 17:  # what this checker knows
        onnx.checker.check_model(model)
    assert [o.name for o in model.graph.output] == ["y"] and len(model.graph.input) == 1
    for node in model.graph.node:
        assert node.op_type != "Dropout" or len(node.input) < 3
        assert node.op_type != "BatchNormalization" or (len(node.output) == 1 and not any(a.name == "training_mode" and a.i for a in node.attribute))
    x, _ = data(name)
    written = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for parameter, value in net.state_dict().items():
        if parameter in written:
            close(written[parameter], value.numpy(), parameter)
    if not is_folded(name, form):
        missing = [p for p in net.state_dict() if p not in written and not p.endswith("num_batches_tracked")]
        assert not missing, missing
    together = scores(agent, folder, result, x)
    close(together, right, "scores")
    close(scores(agent, folder, result, x[3:4]), right[3:4], "a sample alone")
    last = [line for line in open(f"{folder}/out/result/metrics.csv")]
    column = last[0].strip().split(",").index("test_loss")
    close(float(last[-1].split(",")[column]), loss, "test loss")
    return n.abs(together - right).max()


def mixed(folder):
    """net.onnx subtracts the batch's mean; training.onnx is in the form of training."""
    net = Net(lambda s, x: s.o(torch.tanh(s.i(x) - s.i(x).mean(0, keepdim=True))), dict(i=lambda: nn.Linear(10, 6), o=lambda: nn.Linear(6, CLASSES)))
    for which, values in zip("xy", data("dense")):
        n.save(f"{folder}/{which}.npy", values)
    export(net, "default", 14, (10,), f"{folder}/net.onnx")
    shape, run, parts = NETWORKS["dense"]
    plain = Net(lambda s, x: s.o(s.n(x)), dict(n=lambda: nn.BatchNorm1d(10), o=lambda: nn.Linear(10, CLASSES)))
    export(plain, "training", 14, (10,), f"{folder}/training.onnx")


if sys.argv[1] == "names":
    print(len(COMBINATIONS))
elif sys.argv[1] == "mixed":
    mixed(sys.argv[2])
else:
    agent, trainer, folder, count, seed = sys.argv[1:]
    chosen = COMBINATIONS if count == "all" else random.Random(int(seed)).sample(COMBINATIONS, int(count))
    worst, failed = 0, 0
    for i, combination in enumerate(chosen):
        try:
            worst = max(worst, check(agent, trainer, f"{folder}/{i}", combination))
        except Exception as e:
            failed += 1
            print(f"# {combination}: {str(e)[-700:]!r}")
    print(f"# {len(chosen)} combinations, outputs at worst {worst:.1e} from PyTorch's")
    sys.exit(failed > 0)
