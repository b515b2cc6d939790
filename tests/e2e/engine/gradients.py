"""gradients.py: a network in PyTorch and the same as ONNX; compares the gradients of both.
    gradients.py make FOLDER cnn|mlp|resnet50 SEED SIZE BATCH     model.onnx, input.pb, target.pb, keep
    gradients.py compare FOLDER OUT                               prints the distances; exit 1: too far
First PyTorch computes in double precision with our relus' masks and our maxima: only rounding differs then, and
each gradient is within 1e-4. Then with its own. If none of ours differs the same holds; if some do, and
there are many (ResNet), OUT/apart gets our distance and that of PyTorch's single precision, for the
caller to compare. A distance is |a - b| / |b| over a weight."""
import json
import sys
import os

import numpy
import onnx
import onnx.helper as helper
import onnx.numpy_helper as numpy_helper
import torch
import torch.nn.functional as functional

torch.set_num_threads(2)


class Network:
    """Layers are called by name; `run` computes them with PyTorch, `export` writes them as nodes."""

    def __init__(self, kind, seed, size):
        torch.manual_seed(seed)
        self.kind, self.size, self.weights, self.statistics = kind, size, {}, {}
        if kind == 'mlp':
            self.shape, self.classes = (size,), 10
        else:
            self.shape, self.classes = ((1 if kind == 'cnn' else 3), size, size), 10
        self.trace(Shapes(self))

    def trace(self, to):
        x = to.begin()
        return getattr(self, self.kind)(to, x)

    def mlp(self, to, x):
        x = to.tanh('tanh1', to.dense('dense1', x, 64))
        x = to.relu('relu2', to.dense('dense2', x, 64))
        return to.dense('dense3', x, self.classes)

    def cnn(self, to, x):
        x = to.relu('relu1', to.norm('norm1', to.conv('conv1', x, 16, 3, 1, 1)))
        x = to.max_pool('pool1', x, 2, 2, 0)
        x = to.relu('relu2', to.norm('norm2', to.conv('conv2', x, 32, 3, 1, 1)))
        x = to.max_pool('pool2', x, 2, 2, 0)
        x = to.relu('relu3', to.dense('dense1', to.flatten('flat', x), 128))
        return to.dense('dense2', x, self.classes)

    def resnet50(self, to, x):
        x = to.relu('relu1', to.norm('norm1', to.conv('conv1', x, 64, 7, 2, 3)))
        x = to.max_pool('pool1', x, 3, 2, 1)
        for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
            for block in range(blocks):
                at, stride = f's{stage}b{block}', 2 if block == 0 and stage else 1
                y = to.relu(at + 'r1', to.norm(at + 'n1', to.conv(at + 'c1', x, width, 1, 1, 0)))
                y = to.relu(at + 'r2', to.norm(at + 'n2', to.conv(at + 'c2', y, width, 3, stride, 1)))
                # Scaled to 0.1, as is usual where many blocks add up: else rounding grows a thousandfold.
                y = to.norm(at + 'n3', to.conv(at + 'c3', y, width * 4, 1, 1, 0), scale=0.1)
                if block == 0:
                    x = to.norm(at + 'n0', to.conv(at + 'c0', x, width * 4, 1, stride, 0))
                x = to.relu(at + 'r3', to.add(at + 'add', y, x))
        return to.dense('dense', to.flatten('flat', to.mean('mean', x)), self.classes)


class Shapes:
    """Makes the weights: a layer gets its number of channels (or elements)."""

    def __init__(self, network):
        self.network = network

    def begin(self):
        return (1,) + self.network.shape

    def make(self, name, tensor):
        self.network.weights[name] = tensor

    def conv(self, name, x, m, k, stride, pad):
        bound = (x[1] * k * k) ** -0.5
        self.make(name + '.w', (torch.rand(m, x[1], k, k) * 2 - 1) * bound * 3 ** 0.5)
        if self.network.kind == 'cnn':
            self.make(name + '.b', (torch.rand(m) * 2 - 1) * bound)
        side = (x[2] + 2 * pad - k) // stride + 1
        return (1, m, side, side)

    def norm(self, name, x, scale=1.0):
        self.make(name + '.scale', scale * (1 + 0.1 * torch.randn(x[1])))
        self.make(name + '.shift', 0.1 * torch.randn(x[1]))
        self.network.statistics[name] = x[1]
        return x

    def dense(self, name, x, m):
        bound = x[1] ** -0.5
        self.make(name + '.w', (torch.rand(m, x[1]) * 2 - 1) * bound)
        self.make(name + '.b', (torch.rand(m) * 2 - 1) * bound)
        return (1, m)

    def relu(self, name, x):
        return x

    tanh = relu

    def add(self, name, a, b):
        return a

    def max_pool(self, name, x, k, stride, pad):
        side = (x[2] + 2 * pad - k) // stride + 1
        return (1, x[1], side, side)

    def mean(self, name, x):
        return (1, x[1], 1, 1)

    def flatten(self, name, x):
        return (1, int(numpy.prod(x[1:])))


class Export:
    def __init__(self, network):
        self.network, self.nodes = network, []

    def begin(self):
        return 'input'

    def node(self, op, name, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def conv(self, name, x, m, k, stride, pad):
        bias = [name + '.b'] if name + '.b' in self.network.weights else []
        return self.node('Conv', name, [x, name + '.w'] + bias, strides=[stride] * 2, pads=[pad] * 4)

    def norm(self, name, x, scale=1.0):
        return self.node('BatchNormalization', name,
                         [x] + [f'{name}.{part}' for part in ('scale', 'shift', 'mean', 'variance')])

    def dense(self, name, x, m):
        return self.node('Gemm', name, [x, name + '.w', name + '.b'], transB=1)

    def relu(self, name, x):
        return self.node('Relu', name, [x])

    def tanh(self, name, x):
        return self.node('Tanh', name, [x])

    def add(self, name, a, b):
        return self.node('Add', name, [a, b])

    def max_pool(self, name, x, k, stride, pad):
        return self.node('MaxPool', name, [x], kernel_shape=[k] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def mean(self, name, x):
        return self.node('GlobalAveragePool', name, [x])

    def flatten(self, name, x):
        return self.node('Flatten', name, [x])

    def save(self, path):
        last = self.network.trace(self)
        kept = {name: tensor.numpy() for name, tensor in self.network.weights.items()}
        for name, count in self.network.statistics.items():
            kept[name + '.mean'] = numpy.zeros(count, numpy.float32)
            kept[name + '.variance'] = numpy.ones(count, numpy.float32)
        tensors = [numpy_helper.from_array(array, name) for name, array in kept.items()]
        graph = helper.make_graph(
            self.nodes, 'network',
            [helper.make_tensor_value_info('input', 1, ['n'] + list(self.network.shape))],
            [helper.make_tensor_value_info(last, 1, ['n', self.network.classes])], tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 13)])
        model.ir_version = 8
        onnx.save(model, path)


class Mask(torch.autograd.Function):
    """A relu that passes the elements where `kept` (our output) is above 0."""

    @staticmethod
    def forward(context, x, kept):
        context.save_for_backward(kept)
        return torch.where(kept, x, torch.zeros_like(x))

    @staticmethod
    def backward(context, dy):
        return dy * context.saved_tensors[0], None


class Run:
    """With `ours`, the values we kept, relus and maxima are ours."""

    def __init__(self, weights, x, ours=None):
        self.weights, self.x, self.ours, self.last = weights, x, ours, None
        self.choices = {}  # relus' masks, and where maxima above 0 were

    def begin(self):
        self.last = 'input'
        return self.x

    def conv(self, name, x, m, k, stride, pad):
        w = self.weights
        return functional.conv2d(x, w[name + '.w'], w.get(name + '.b'), stride=stride, padding=pad)

    def norm(self, name, x, scale=1.0):
        return functional.batch_norm(x, None, None, self.weights[name + '.scale'], self.weights[name + '.shift'],
                                     training=True, eps=1e-5)

    def dense(self, name, x, m):
        return functional.linear(x, self.weights[name + '.w'], self.weights[name + '.b'])

    def relu(self, name, x):
        self.last = name
        self.choices[name] = (self.ours[name] if self.ours else x.detach()) > 0
        return Mask.apply(x, self.choices[name])

    def tanh(self, name, x):
        return torch.tanh(x)

    def add(self, name, a, b):
        return a + b

    def max_pool(self, name, x, k, stride, pad):
        # After a relu any of equal zeros may be taken: none passes a gradient.
        source = self.ours[self.last] if self.ours else x.detach()
        values, places = functional.max_pool2d(source, k, stride, pad, return_indices=True)
        self.choices[name] = torch.where(values > 0, places, torch.zeros_like(places))
        return x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape)

    def mean(self, name, x):
        return x.mean((2, 3), keepdim=True)

    def flatten(self, name, x):
        return x.flatten(1)


def make(folder, kind, seed, size, batch):
    network = Network(kind, seed, size)
    Export(network).save(os.path.join(folder, 'model.onnx'))
    x, labels = torch.randn(batch, *network.shape), torch.randint(0, network.classes, (batch,))
    for name, tensor in (('input', x), ('target', labels)):
        with open(os.path.join(folder, name + '.pb'), 'wb') as file:
            file.write(numpy_helper.from_array(tensor.numpy(), name).SerializeToString())
    names = [node.output[0] for node in onnx.load(os.path.join(folder, 'model.onnx')).graph.node
             if node.op_type == 'Relu']
    with open(os.path.join(folder, 'keep'), 'w') as file:
        file.writelines(name + '\n' for name in names)
    with open(os.path.join(folder, 'made.json'), 'w') as file:
        json.dump([kind, seed, size], file)


def load(path):
    with open(path, 'rb') as file:
        return torch.from_numpy(numpy_helper.to_array(onnx.TensorProto.FromString(file.read())).copy())


def compute(network, x, labels, dtype, ours=None):
    weights = {name: tensor.to(dtype).requires_grad_() for name, tensor in network.weights.items()}
    run = Run(weights, x.to(dtype), ours)
    loss = functional.cross_entropy(network.trace(run), labels)
    loss.backward()
    return loss.item(), {name: tensor.grad.double() for name, tensor in weights.items()}, run.choices


def distances(ours, theirs):
    """By weight; a bias in front of a norm has no gradient but rounding and is measured by its weight's."""
    result = {}
    for name, wanted in theirs.items():
        length = wanted.norm()
        if name.endswith('.b') and name[:-2] + '.w' in theirs:
            length = max(length, theirs[name[:-2] + '.w'].norm())
        result[name] = ((ours[name] - wanted).norm() / length).item()
    return result


def tell(what, apart):
    worst = max(apart, key=apart.get)
    print(f'# {what}: {len(apart)} gradients, {numpy.median(list(apart.values())):.2g} apart in the median, '
          f'{apart[worst]:.2g} at worst ({worst})')
    return apart[worst]


def compare(folder, out):
    with open(os.path.join(folder, 'made.json')) as file:
        kind, seed, size = json.load(file)
    network = Network(kind, seed, size)
    x, labels = load(os.path.join(folder, 'input.pb')), load(os.path.join(folder, 'target.pb'))
    ours = {name: load(os.path.join(out, 'gradients', name + '.pb')).double() for name in network.weights}
    with open(os.path.join(out, 'log')) as file:
        our_loss = float(file.read().split()[-1])
    with open(os.path.join(folder, 'keep')) as file:
        kept = {name: load(os.path.join(out, 'values', name + '.pb')).double() for name in file.read().split()}
    loss, gradients, choices = compute(network, x, labels, torch.float64, kept)
    print(f'# {kind} {size}, seed {seed}: loss {our_loss:.9g}, {abs(our_loss - loss) / loss:.2g} apart')
    fine = len(ours) > 3 and abs(our_loss - loss) <= 1e-5 * loss
    fine &= tell('double precision, our masks', distances(ours, gradients)) <= 1e-4
    _, gradients, theirs = compute(network, x, labels, torch.float64)
    flips = sum((choices[name] != theirs[name]).sum().item() for name in theirs)
    plain = distances(ours, gradients)
    worst = tell(f'double precision, {flips} masks and maxima differ', plain)
    if flips == 0 or kind != 'resnet50':
        return fine and (flips > 0 or worst <= 1e-4)
    single = distances(compute(network, x, labels, torch.float32)[1], gradients)
    a, b = (numpy.sqrt(numpy.mean(numpy.square(list(d.values())))) for d in (plain, single))
    print(f"# root of the mean square: {a:.3g}, PyTorch's single precision {b:.3g}")
    with open(os.path.join(out, 'apart'), 'w') as file:
        file.write(f'{a} {b}\n')
    return fine


if sys.argv[1] == 'make':
    make(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6]))
else:
    sys.exit(0 if compare(sys.argv[2], sys.argv[3]) else 1)
