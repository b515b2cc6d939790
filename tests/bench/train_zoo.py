"""train_zoo.py: networks that people train, each exported by the recipe of docs/from-pytorch.md, by windlass-trainer and by
PyTorch: the same weights, the same batch in every step, SGD with momentum, float32, one process after the other.
    train_zoo.py measure FOLDER TRAINER OUT STEPS ROUNDS THREADS [NAME ...]     a table, and OUT as JSON
    train_zoo.py peer FOLDER NAME STEPS LAYOUT                                  PyTorch, in a process of its own
The networks have no dropout and no stochastic depth, so that both sides compute the same losses. What counts is processor
time a step, which other programs on the machine disturb least; PyTorch's is that of the better of its memory formats."""
import ctypes
import json
import os
import re
import statistics
import sys
import warnings

import numpy
import torch
from torch import nn
from train import MOMENTUM, RATE, WARM, trainer_environment, watch

CLASSES, SIDE, BATCH = 10, 96, 16
warnings.filterwarnings('ignore')


def vision(name, **options):
    import torchvision
    network = getattr(torchvision.models, name)(weights=None, num_classes=CLASSES, **options)
    for module in network.modules():
        if isinstance(module, nn.Dropout) or type(module).__name__ == 'StochasticDepth':
            module.p = 0.0
    return network


def vit():
    import torchvision
    return torchvision.models.VisionTransformer(image_size=SIDE, patch_size=12, num_layers=6, num_heads=4, hidden_dim=256,
                                                mlp_dim=1024, num_classes=CLASSES)


class Bert(nn.Module):
    """BERT small: 4 layers of 512, 8 heads, GELU."""

    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, activation='gelu', batch_first=True)
        self.words, self.places, self.norm = nn.Embedding(4000, 512), nn.Parameter(torch.randn(1, 64, 512) * 0.02), nn.LayerNorm(512)
        self.encoder, self.head = nn.TransformerEncoder(layer, 4), nn.Linear(512, CLASSES)

    def forward(self, x):
        return self.head(self.encoder(self.norm(self.words(x) + self.places))[:, 0])


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells, self.head = nn.LSTM(64, 256, 2, batch_first=True), nn.Linear(256, CLASSES)

    def forward(self, x):
        return self.head(self.cells(x)[0][:, -1])


class Unet(nn.Module):
    """Three levels of two convolutions with norms, transposed convolutions back; a class for each pixel."""

    def __init__(self):
        super().__init__()
        block = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(),
                                           nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU())
        self.down = nn.ModuleList([block(3, 32), block(32, 64), block(64, 128)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(128, 64, 2, 2), nn.ConvTranspose2d(64, 32, 2, 2)])
        self.join = nn.ModuleList([block(128, 64), block(64, 32)])
        self.head = nn.Conv2d(32, CLASSES, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](nn.functional.max_pool2d(a, 2))
        x = self.up[0](self.down[2](nn.functional.max_pool2d(b, 2)))
        x = self.up[1](self.join[0](torch.cat([b, x], 1)))
        return self.head(self.join[1](torch.cat([a, x], 1)))


PICTURES = (BATCH, 3, SIDE, SIDE)
ZOO = {  # how it is made, samples
    'ResNet-18': (lambda: vision('resnet18'), PICTURES),
    'MobileNetV2': (lambda: vision('mobilenet_v2'), PICTURES),
    'MobileNetV3-Large': (lambda: vision('mobilenet_v3_large'), PICTURES),
    'EfficientNet-B0': (lambda: vision('efficientnet_b0'), PICTURES),
    'ConvNeXt-Tiny': (lambda: vision('convnext_tiny'), (8, 3, SIDE, SIDE)),
    'ViT': (vit, PICTURES),
    'BERT small': (Bert, (8, 64)),
    'LSTM': (Lstm, (32, 64, 64)),
    'U-Net': (Unet, (8, 3, SIDE, SIDE)),
}


def data(name):
    random, shape = numpy.random.default_rng(7), ZOO[name][1]
    samples = random.integers(0, 4000, shape) if name == 'BERT small' else random.standard_normal(shape, numpy.float32)
    labels = random.integers(0, CLASSES, (shape[0], SIDE, SIDE) if name == 'U-Net' else shape[:1])
    labels.flat[0] = CLASSES - 1  # the largest label: it sets the number of classes
    return samples, labels


def module(name):
    torch.manual_seed(3)
    return ZOO[name][0]().train()


def make(folder, name):
    os.makedirs(folder)
    samples, labels = data(name)
    numpy.save(os.path.join(folder, 'samples.npy'), samples)
    numpy.save(os.path.join(folder, 'labels.npy'), labels)
    torch.onnx.export(module(name), torch.tensor(samples[:2]), os.path.join(folder, 'model.onnx'), opset_version=17,
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, input_names=['x'],
                      output_names=['y'], dynamic_axes={'x': {0: 'n'}, 'y': {0: 'n'}})


def blas_kernels():
    """Which kernels this process's OpenBLAS has; None: it has MKL or BLIS. Debian's PyTorch takes any BLAS; with the reference
    one products are many times as slow."""
    with open('/proc/self/maps') as file:
        found = re.search(r'/\S*(openblas|blis|mkl_)\S*', file.read())
    if not found:
        raise SystemExit('train_zoo.py: PyTorch has the reference BLAS: OpenBLAS is expected (libopenblas0-pthread)')
    if found[1] != 'openblas':
        return None
    name = ctypes.CDLL(found[0]).openblas_get_corename
    name.restype = ctypes.c_char_p
    return name().decode()


def better_kernels(kernels):
    """Of a processor that is newer than itself OpenBLAS knows nothing, and takes old kernels: which ones to name to it then;
    None: it, or OPENBLAS_CORETYPE, has chosen well."""
    if os.environ.get('OPENBLAS_CORETYPE') or kernels not in ('Prescott', 'Core2', 'Generic'):
        return None
    with open('/proc/cpuinfo') as file:
        flags = file.read().split()
    return 'SkylakeX' if 'avx512vl' in flags else 'Haswell' if 'avx2' in flags else None


def check_blas():
    kernels, wanted = blas_kernels(), os.environ.get('OPENBLAS_CORETYPE')
    if kernels and wanted and kernels.upper() != wanted.upper():
        raise SystemExit(f'train_zoo.py: OpenBLAS has the kernels of {kernels}, {wanted} is expected')


def peer(name, steps, layout):
    check_blas()
    torch.set_num_threads(int(os.environ['OMP_NUM_THREADS']))
    form = torch.channels_last if layout == 'channels_last' else torch.contiguous_format
    network, (samples, labels) = module(name).to(memory_format=form), map(torch.tensor, data(name))
    if samples.dim() == 4:
        samples = samples.contiguous(memory_format=form)
    optimizer = torch.optim.SGD(network.parameters(), RATE, MOMENTUM)
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(network(samples), labels)
        loss.backward()
        optimizer.step()
        print(f'step {step + 1}: loss {loss.item():.4f}', flush=True)


def one(folder, trainer, name, steps, rounds, threads):
    """Processor seconds a step, of each side the median; and whether the first losses agree."""
    make(folder, name)
    layouts = ['contiguous'] + (['channels_last'] if len(ZOO[name][1]) == 4 else [])
    seen, losses = {side: [] for side in ['windlass', *layouts]}, {}
    for turn in range(rounds):
        for side in seen:
            if side == 'windlass':
                command, environment = [trainer, 'train', '--threads', str(threads)], trainer_environment(
                    folder, ZOO[name][1][0], steps + WARM, turn)
            else:
                command = [sys.executable, __file__, 'peer', folder, name, str(steps + WARM), side]
                environment = {'OMP_NUM_THREADS': str(threads), 'OPENBLAS_NUM_THREADS': str(threads)}
            wall, processor, losses[side] = watch(command, environment, steps)
            seen[side].append((processor, wall))
    median = {side: statistics.median(p for p, _ in turns) for side, turns in seen.items()}
    better = min(layouts, key=median.get)
    return {'processor_seconds_a_step': median, 'turns': seen, 'better': better, 'ratio': median[better] / median['windlass'],
            'losses': losses, 'same': abs(losses['windlass'][0] - losses[better][0]) <= 1e-3 * losses[better][0]}


def measure(folder, trainer, out, steps, rounds, threads, *names):
    found = blas_kernels()
    better = better_kernels(found)
    os.environ.update({'OPENBLAS_CORETYPE': better} if better else {})  # of the peers
    result = {'command': 'tests/bench/train_zoo.sh', 'threads': threads, 'steps': steps, 'rounds': rounds,
              'load': os.getloadavg()[0], 'openblas_kernels': better or found, 'networks': {}}
    print('| network | batch | windlass, s | PyTorch, s | its format | ratio |\n|---|---|---|---|---|---|')
    for name in names or ZOO:
        row = result['networks'][name] = one(os.path.join(folder, name.replace(' ', '-')), trainer, name, steps, rounds, threads)
        seconds = row['processor_seconds_a_step']
        print(f"| {name} | {'x'.join(map(str, ZOO[name][1]))} | {seconds['windlass']:.3f} | {seconds[row['better']]:.3f} | "
              f"{row['better']} | {row['ratio']:.2f} |", flush=True)
    ratios = [row['ratio'] for row in result['networks'].values()]
    print(f'| mean | | | | | {statistics.mean(ratios):.2f} |')
    with open(out, 'w') as file:
        json.dump(result, file, indent=2)
    wrong = [name for name, row in result['networks'].items() if not row['same']]
    if wrong:
        raise SystemExit(f"train_zoo.py: not the same work: {wrong}: {[result['networks'][name]['losses'] for name in wrong]}")


if __name__ == '__main__':
    if sys.argv[1] == 'peer':
        peer(sys.argv[3], int(sys.argv[4]), sys.argv[5])
    else:
        measure(*sys.argv[2:5], *(int(text) for text in sys.argv[5:8]), *sys.argv[8:])
