// SPDX-License-Identifier: Apache-2.0
// One run that measures Windlass's engine and onnxruntime-node beside each other.
//   node compare.cjs AGENT BENCH_DIRECTORY [--threads N] [--rounds N] [--only TEXT]
// The two sides take turns, so that a busy machine slows both; outputs are compared, too. Memory is the
// most that a process held which did nothing but read ResNet-50 and score one picture.
'use strict';
const {execFileSync, spawnSync} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const {median, tensorFile, readTensor, relativeDifference} = require('../tensors.cjs');

const [agent, directory, ...rest] = process.argv.slice(2);
const option = (name, fallback) => {
    const at = rest.indexOf(name);
    return at < 0 ? fallback : rest[at + 1];
};
const threads = Number(option('--threads', 2));
const rounds = Number(option('--rounds', 5));
const only = option('--only', '');
const ROUND_MS = 120; // of each side in a round, about; three runs at least
const ort = require(path.resolve(directory, 'node_modules/onnxruntime-node'));

// name, file, shape; numbers from 0 to the last entry, or from -1 to 1 without one
const works = [
    ['Johnson 512x512', 'johnson', [1, 3, 512, 512]],
    ['Johnson, half width, 640x360', 'johnson_half', [1, 3, 360, 640]],
    ['Starry Night (the demo), 1280x720', 'starry', [1, 3, 720, 1280], 255],
    ['ResNet-50 batch 1', 'resnet50', [1, 3, 224, 224]],
    ['ResNet-50 batch 8', 'resnet50', [8, 3, 224, 224]],
    ['SqueezeNet 1.1', 'squeezenet', [1, 3, 224, 224]],
    ['MobileNetV2', 'mobilenetv2', [1, 3, 224, 224]],
    ['MLP 1024-4096-4096-1000 batch 1', 'mlp', [1, 1024]],
    ['MLP 1024-4096-4096-1000 batch 256', 'mlp', [256, 1024]],
    ['500 trees, 50 features, batch 1', 'trees', [1, 50]],
    ['500 trees, batch 10,000', 'trees', [10000, 50]],
].filter(([name]) => name.includes(only));

function benchAgent(model, name, dims, runs) {
    const text = execFileSync(agent, ['model', 'bench', model, '--shape', name + '=' + dims.join('x'),
        '--threads', String(threads), '--runs', String(runs)], {encoding: 'utf8'});
    const number = (word) => Number(new RegExp('^' + word + ' ([0-9.]+) ms', 'm').exec(text)[1]);
    return {wall: number('median'), least: number('min'), cpu: number('processor')};
}

async function measure([name, file, dims, largest]) {
    const model = path.join(directory, 'models', file + '.onnx');
    const session = await ort.InferenceSession.create(model, {intraOpNumThreads: threads,
        interOpNumThreads: 1, graphOptimizationLevel: 'all'});
    const data = new Float32Array(dims.reduce((a, b) => a * b));
    for (let i = 0, seed = 7; i < data.length; i++) {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        data[i] = largest ? seed / 2 ** 32 * largest : seed / 2 ** 31 - 1;
    }
    const input = session.inputNames[0];
    const feed = {[input]: new ort.Tensor('float32', data, dims)};
    const theirs = Object.values(await session.run(feed))[0].data; // warms up, too
    const work = fs.mkdtempSync(path.join(os.tmpdir(), 'windlass-bench-'));
    tensorFile(path.join(work, 'input.pb'), dims, data);
    execFileSync(agent, ['model', 'run', model, '--input', input + '=' + path.join(work, 'input.pb'),
        '--output-dir', work, '--threads', String(threads)], {stdio: ['ignore', 'ignore', 'inherit']});
    const made = fs.readdirSync(work).filter((entry) => entry !== 'input.pb');
    const difference = relativeDifference(readTensor(path.join(work, made[0])), theirs);
    fs.rmSync(work, {recursive: true});
    const wall = {ours: [], ort: []}, cpu = {ours: [], ort: []};
    let least = Infinity, begun = performance.now();
    await session.run(feed);
    const runs = Math.min(Math.max(3, Math.round(ROUND_MS / (performance.now() - begun))), 200);
    for (let round = 0; round < rounds; round++) {
        const measured = benchAgent(model, input, dims, runs);
        wall.ours.push(measured.wall);
        cpu.ours.push(measured.cpu);
        least = Math.min(least, measured.least);
        const before = process.cpuUsage();
        for (let i = 0; i < runs; i++) {
            begun = performance.now();
            await session.run(feed);
            wall.ort.push(performance.now() - begun);
        }
        const used = process.cpuUsage(before);
        cpu.ort.push((used.user + used.system) / 1000 / runs);
    }
    await session.release();
    return {work: name, shape: dims, runs_in_round: runs, ours_ms: median(wall.ours), ort_ms: median(wall.ort),
        ratio: median(wall.ort) / median(wall.ours), ours_least_ms: least, ort_least_ms: Math.min(...wall.ort),
        least_ratio: Math.min(...wall.ort) / least, ours_cpu_ms: median(cpu.ours),
        ort_cpu_ms: median(cpu.ort), cpu_ratio: median(cpu.ort) / median(cpu.ours),
        max_relative_difference: difference};
}

// Peak resident memory of a command in MB, by GNU time.
function peak(command, args) {
    const {status, stderr} = spawnSync('/usr/bin/time', ['-f', '%M', command, ...args], {encoding: 'utf8'});
    if (status !== 0) throw new Error(command + ': ' + stderr);
    return Number(stderr.trim().split('\n').pop()) / 1024;
}

// Of both what the program had before it read the network, its libraries loaded, is taken off.
function measureMemory() {
    const model = path.join(directory, 'models/resnet50.onnx'), dims = [1, 3, 224, 224];
    const work = fs.mkdtempSync(path.join(os.tmpdir(), 'windlass-bench-'));
    tensorFile(path.join(work, 'input.pb'), dims, new Float32Array(dims.reduce((a, b) => a * b)).fill(0.5));
    const load = `const ort = require(${JSON.stringify(path.resolve(directory, 'node_modules/onnxruntime-node'))});`;
    const score = `ort.InferenceSession.create(${JSON.stringify(model)}, {intraOpNumThreads: ${threads}}).then((session) =>
        session.run({[session.inputNames[0]]: new ort.Tensor('float32', new Float32Array(3 * 224 * 224).fill(0.5),
            [1, 3, 224, 224])})).then((found) => { if (Object.values(found)[0].data.length !== 1000) process.exit(1); });`;
    const ours = peak(agent, ['model', 'run', model, '--input', 'input=' + path.join(work, 'input.pb'), '--output-dir', work,
        '--threads', String(threads)]);
    fs.rmSync(work, {recursive: true});
    const empty = peak(agent, ['--version']), node = peak(process.execPath, ['-e', load]);
    const whole = peak(process.execPath, ['-e', load + score]);
    return {work: 'peak memory, ResNet-50 batch 1', ours_mib: ours - empty, ort_mib: whole - node, ours_before_mib: empty,
        node_before_mib: node, file_mib: fs.statSync(model).size / 2 ** 20, share: (ours - empty) / (whole - node)};
}

async function main() {
    const results = [];
    const row = (...cells) => console.log(cells.map((c, i) => i ? String(c).padStart(10)
        : String(c).padEnd(34)).join(' '));
    row(`work (${threads} threads)`, 'ours ms', 'ORT ms', 'ratio', 'of least', 'ours cpu', 'ORT cpu',
        'cpu ratio', 'difference');
    for (const work of works) {
        const r = await measure(work);
        results.push(r);
        row(r.work, r.ours_ms.toFixed(2), r.ort_ms.toFixed(2), r.ratio.toFixed(2),
            r.least_ratio.toFixed(2), r.ours_cpu_ms.toFixed(1), r.ort_cpu_ms.toFixed(1), r.cpu_ratio.toFixed(2),
            r.max_relative_difference.toExponential(1));
    }
    const memory = 'peak memory, ResNet-50 batch 1'.includes(only) ? measureMemory() : null;
    if (memory) {
        console.log(`${memory.work}: ours ${memory.ours_mib.toFixed(0)} MiB (and ${memory.ours_before_mib.toFixed(0)} before), ` +
            `ORT ${memory.ort_mib.toFixed(0)} MiB (and ${memory.node_before_mib.toFixed(0)}, with node): ` +
            `${memory.share.toFixed(2)} of ORT's; the file has ${memory.file_mib.toFixed(0)} MiB`);
    }
    const report = {
        date: new Date().toISOString(), machine: os.cpus()[0].model, processors: os.cpus().length,
        threads, rounds,
        versions: {windlass: execFileSync(agent, ['--version'], {encoding: 'utf8'}).trim(),
            onnxruntime_node: require(path.resolve(directory,
                'node_modules/onnxruntime-node/package.json')).version, node: process.version},
        command: 'tests/bench/engine.sh', results, memory,
    };
    fs.writeFileSync(path.join(directory, threads === 2 ? 'engine.json' : `engine-${threads}.json`),
        JSON.stringify(report, null, 2) + '\n');
    const wrong = results.filter((r) => !(r.max_relative_difference <= 1e-3));
    for (const r of wrong) console.error(`${r.work}: the outputs differ by ${r.max_relative_difference}`);
    process.exit(wrong.length ? 1 : 0);
}

main().catch((error) => {
    console.error(error.message);
    process.exit(3);
});
