"""train.py: training of ResNet-50 by windlass-trainer and by PyTorch: both in float32, on the same processors, with the
same weights (an ONNX file), the same batch in every step and the same optimizer (SGD with momentum).
    train.py make FOLDER BATCH SIDE                     samples.npy, labels.npy
    train.py peer FOLDER STEPS LAYOUT                   PyTorch, in a separate process; a line after each step
    train.py measure FOLDER TRAINER OUT BATCH STEPS ROUNDS THREADS     alternating; a table, and OUT as JSON
An epoch of ours is one batch, so its line is also a step's: both sides are measured alike, by the times of their
lines and by their processor time in /proc at that moment. The first two steps (memory, kernels made) are not counted.
The losses show that both do the same work."""
import json
import os
import re
import statistics
import subprocess
import sys
import time

RATE, MOMENTUM, WARM = 0.01, 0.9, 2


def make(folder, batch, side):
    import numpy
    random = numpy.random.default_rng(7)
    numpy.save(os.path.join(folder, 'samples.npy'), random.standard_normal((batch, 3, side, side), numpy.float32))
    labels = random.integers(0, 1000, batch)
    labels[0] = 999  # the largest label: it sets the number of classes
    numpy.save(os.path.join(folder, 'labels.npy'), labels)


def attributes_of(onnx, node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def forward(functional, nodes, weights, values):
    """The operators of such a network, each as a user of PyTorch would call it."""
    for op, name, inputs, attributes in nodes:
        x = [weights[i] if i in weights else values.get(i) for i in inputs]
        if op == 'Conv':
            y = functional.conv2d(x[0], x[1], x[2] if len(x) > 2 else None, attributes['strides'],
                                  attributes['pads'][:2])
        elif op == 'BatchNormalization':
            y = functional.batch_norm(x[0], x[3], x[4], x[1], x[2], training=True, momentum=0.1, eps=1e-5)
        elif op == 'Relu':
            y = functional.relu(x[0], inplace=True)
        elif op == 'Add':
            y = x[0] + x[1]
        elif op == 'MaxPool':
            y = functional.max_pool2d(x[0], attributes['kernel_shape'], attributes['strides'], attributes['pads'][:2])
        elif op == 'GlobalAveragePool':
            y = functional.adaptive_avg_pool2d(x[0], 1)
        elif op == 'Flatten':
            y = x[0].flatten(1)
        elif op == 'Gemm':
            y = functional.linear(x[0], x[1], x[2])
        else:
            raise SystemExit(f'train.py: {op} is not known')
        values[name] = y
    return y


def peer(folder, steps, layout):
    import numpy
    import onnx
    import onnx.numpy_helper
    import torch
    torch.set_num_threads(int(os.environ['OMP_NUM_THREADS']))
    graph = onnx.load(os.path.join(folder, 'model.onnx')).graph
    weights = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in graph.initializer}
    form = torch.channels_last if layout == 'channels_last' else torch.contiguous_format
    for name, tensor in weights.items():
        if tensor.dim() == 4:
            tensor = weights[name] = tensor.contiguous(memory_format=form)
        tensor.requires_grad_(not name.endswith(('.running_mean', '.running_var')))
    nodes = [(n.op_type, n.output[0], list(n.input), attributes_of(onnx, n)) for n in graph.node]
    x = torch.from_numpy(numpy.load(os.path.join(folder, 'samples.npy'))).contiguous(memory_format=form)
    labels = torch.from_numpy(numpy.load(os.path.join(folder, 'labels.npy')))
    optimizer = torch.optim.SGD([w for w in weights.values() if w.requires_grad], RATE, MOMENTUM)
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        out = forward(torch.nn.functional, nodes, weights, {'input': x})
        loss = torch.nn.functional.cross_entropy(out, labels)
        loss.backward()
        optimizer.step()
        print(f'step {step + 1}: loss {loss.item():.4f}', flush=True)


def processor_seconds(pid):
    with open(f'/proc/{pid}/stat') as file:
        fields = file.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def watch(command, environment, steps):
    """Returns seconds per step, processor seconds per step, and the losses."""
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    began, ended, losses = None, None, []
    for line in process.stdout:
        found = re.match(r'(?:step \d+|epoch \d+ of \d+, step \d+): loss ([0-9.]+)', line)
        if not found or len(losses) == steps + WARM:
            continue
        losses.append(float(found.group(1)))
        if len(losses) in (WARM, WARM + steps):
            began, ended = ended, (time.monotonic(), processor_seconds(process.pid))
    if process.wait() or len(losses) != steps + WARM:
        raise SystemExit(f'train.py: {command[0]} ended with {process.returncode} after {len(losses)} steps')
    return [(b - a) / steps for a, b in zip(began, ended)] + [losses]


def trainer_environment(folder, batch, count, round_number):
    spec = {'trainer': {'model': {'path': 'work/model.onnx'}, 'batchSize': batch, 'epochs': count,
                        'data': {'train': {'tensors': {'samples': 'work/samples.npy', 'labels': 'work/labels.npy'}}},
                        'loss': 'CrossEntropy', 'labelSmoothing': '0', 'precision': 'FP32', 'seed': 42,
                        'optimizer': {'kind': 'SGD', 'learningRate': str(RATE), 'momentum': str(MOMENTUM),
                                      'nesterov': False, 'weightDecay': '0', 'beta1': '0.9', 'beta2': '0.999',
                                      'epsilon': '1e-8'},
                        'schedule': {'kind': 'Constant', 'warmupEpochs': 0, 'scaling': 'None', 'baseBatchSize': 256,
                                     'stepFactor': '0.1'},
                        'checkpoint': {'everySeconds': 86400, 'keep': 1}, 'fusionBufferMB': 64, 'timeline': False,
                        'output': {'path': f'work/out{round_number}'}}, 'restart': {'hangSeconds': 300}}
    return {'WINDLASS_JOB': 'bench', 'WINDLASS_RUN': f'{round_number:016x}', 'WINDLASS_SPEC': json.dumps(spec),
            'work': folder}


def same_work(ours, theirs):
    """Compares the first loss, and the second, which depends on the gradients: by then some relus' masks differ, and
    PyTorch's own two memory formats differ by 0.2 %."""
    return abs(ours[0] - theirs[0]) <= 2e-4 * theirs[0] and abs(ours[1] - theirs[1]) <= 0.01 * theirs[1]


def measure(folder, trainer, out, batch, steps, rounds, threads):
    names = ('windlass', 'contiguous', 'channels_last')
    seen, losses = {name: [] for name in names}, {}
    load_before = os.getloadavg()[0]
    for round_number in range(rounds):
        for name in names:
            if name == 'windlass':
                command, environment = [trainer, 'train', '--threads', str(threads)], trainer_environment(
                    folder, batch, steps + WARM, round_number)
            else:
                command = [sys.executable, __file__, 'peer', folder, str(steps + WARM), name]
                environment = {'OMP_NUM_THREADS': str(threads)}
            wall, processor, losses[name] = watch(command, environment, steps)
            seen[name].append((wall, processor))
            print(f'# round {round_number + 1}: {name} {batch / wall:.2f} images/s, {processor:.2f} s of processors a step',
                  file=sys.stderr, flush=True)
    median = {name: [statistics.median(column) for column in zip(*seen[name])] for name in names}
    best = min(names[1:], key=lambda name: median[name][0])
    cheapest = min(names[1:], key=lambda name: median[name][1])
    result = {'command': 'tests/bench/train.sh', 'batch': batch, 'threads': threads, 'steps': steps, 'rounds': rounds,
              'load_before': load_before, 'load_after': os.getloadavg()[0], 'same_losses': all(
                  same_work(losses['windlass'], losses[name]) for name in names[1:]), 'losses': losses,
              'images_per_second': {name: batch / median[name][0] for name in names},
              'processor_seconds_a_step': {name: median[name][1] for name in names}, 'seconds_a_step': seen,
              'ratio': median[best][0] / median['windlass'][0],
              'processor_ratio': median[cheapest][1] / median['windlass'][1]}
    with open(out, 'w') as file:
        json.dump(result, file, indent=2)
    print(f'ResNet-50, float32, batch {batch}, {threads} threads, load {load_before:.1f} before '
          f'(its own among it: {result["load_after"]:.1f} after)\n')
    print(f'{"":24}{"images/s":>12}{"processor s a step":>22}')
    for name in names:
        label = name if name == 'windlass' else f'PyTorch, {name}'
        print(f'{label:24}{batch / median[name][0]:12.2f}{median[name][1]:22.2f}')
    print(f'{"ratio to the better":24}{result["ratio"]:12.2f}{result["processor_ratio"]:22.2f}')
    if not result['same_losses']:
        raise SystemExit(f'train.py: not the same work: losses {losses}')


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1] == 'peer':
        peer(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        measure(*sys.argv[2:5], *(int(text) for text in sys.argv[5:]))
