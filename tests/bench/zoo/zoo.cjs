// SPDX-License-Identifier: Apache-2.0
// The networks of zoo.py under Windlass's engine and onnxruntime-node, by turns: times of a run,
// processor time, and the largest difference of an output.
//   node zoo.cjs AGENT FOLDER ONNXRUNTIME [--threads N] [--rounds N] [--only TEXT] [--json FILE]
'use strict';
const {execFileSync} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const {tensorFile, readTensor, relativeDifference, median} = require('../tensors.cjs');

const [agent, folder, runtime, ...rest] = process.argv.slice(2);
const option = (name, fallback) => {
    const at = rest.indexOf(name);
    return at < 0 ? fallback : rest[at + 1];
};
const threads = Number(option('--threads', 2)), rounds = Number(option('--rounds', 5));
const only = option('--only', ''), report = option('--json', '');
const ROUND_MS = 150; // of each side in a round, about
const ort = require(runtime);

function values(kind, count) {
    if (kind !== 'float32') {
        return BigInt64Array.from({length: count}, (_, i) => BigInt(kind === 'ones' ? 1 : i * 7919 % 4999));
    }
    let seed = 7;
    return Float32Array.from({length: count}, () => {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        return seed / 2 ** 31 - 1;
    });
}

function bench(model, inputs, runs) {
    const shapes = inputs.flatMap(({name, shape}) => ['--shape', name + '=' + shape.join('x')]);
    const text = execFileSync(agent, ['model', 'bench', model, ...shapes, '--threads', String(threads),
        '--runs', String(runs)], {encoding: 'utf8'});
    const number = (word) => Number(new RegExp('^' + word + ' ([0-9.]+) ms', 'm').exec(text)[1]);
    return {wall: number('median'), least: number('min'), cpu: number('processor')};
}

// Runs the agent once and compares its outputs with `theirs`, by name.
function compare(model, inputs, feed, theirs) {
    const work = fs.mkdtempSync(path.join(os.tmpdir(), 'windlass-zoo-'));
    const given = inputs.flatMap(({name, shape}) => {
        const file = path.join(work, 'input-' + name + '.pb');
        tensorFile(file, shape, feed[name].data);
        return ['--input', name + '=' + file];
    });
    execFileSync(agent, ['model', 'run', model, ...given, '--output-dir', work, '--threads', String(threads)],
        {stdio: ['ignore', 'ignore', 'inherit']});
    let worst = 0;
    for (const [name, tensor] of Object.entries(theirs)) {
        const file = path.join(work, name.replace(/^\.|[^A-Za-z0-9_.-]/g, '_') + '.pb');
        worst = Math.max(worst, relativeDifference(readTensor(file), tensor.data));
    }
    fs.rmSync(work, {recursive: true});
    return worst;
}

async function measure({name, inputs, opset}) {
    const model = path.join(folder, name + '.onnx');
    const session = await ort.InferenceSession.create(model,
        {intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all'});
    const used = inputs.filter((input) => session.inputNames.includes(input.name));
    const feed = {};
    for (const {name: input, shape, kind} of used) {
        feed[input] = new ort.Tensor(kind === 'float32' ? 'float32' : 'int64',
            values(kind, shape.reduce((a, b) => a * b)), shape);
    }
    const difference = compare(model, used, feed, await session.run(feed));
    let begun = performance.now();
    await session.run(feed);
    const runs = Math.min(Math.max(3, Math.round(ROUND_MS / (performance.now() - begun))), 300);
    const wall = {ours: [], ort: []}, cpu = {ours: [], ort: []}, least = [];
    for (let round = 0; round < rounds; round++) {
        const measured = bench(model, used, runs);
        wall.ours.push(measured.wall);
        cpu.ours.push(measured.cpu);
        least.push(measured.least);
        const before = process.cpuUsage();
        for (let i = 0; i < runs; i++) {
            begun = performance.now();
            await session.run(feed);
            wall.ort.push(performance.now() - begun);
        }
        const spent = process.cpuUsage(before);
        cpu.ort.push((spent.user + spent.system) / 1000 / runs);
    }
    await session.release();
    return {name, opset, ours_ms: median(wall.ours), ort_ms: median(wall.ort),
        ratio: median(wall.ort) / median(wall.ours), least_ratio: Math.min(...wall.ort) / Math.min(...least),
        ours_cpu_ms: median(cpu.ours), ort_cpu_ms: median(cpu.ort),
        cpu_ratio: median(cpu.ort) / median(cpu.ours), difference};
}

async function main() {
    const row = (...cells) => console.log(cells.map((cell, i) => i ? String(cell).padStart(10)
        : String(cell).padEnd(24)).join(' '));
    row(`network (${threads} threads)`, 'ours ms', 'ORT ms', 'ratio', 'of least', 'cpu ratio', 'difference');
    const results = [];
    for (const network of JSON.parse(fs.readFileSync(path.join(folder, 'zoo.json'), 'utf8'))) {
        if (!network.name.includes(only) || !fs.existsSync(path.join(folder, network.name + '.onnx'))) continue;
        try {
            const r = await measure(network);
            results.push(r);
            row(r.name, r.ours_ms.toFixed(2), r.ort_ms.toFixed(2), r.ratio.toFixed(2), r.least_ratio.toFixed(2),
                r.cpu_ratio.toFixed(2), r.difference.toExponential(1));
        } catch (error) {
            results.push({name: network.name, error: error.message});
            row(network.name, error.message.trim().split('\n').pop());
        }
    }
    const measured = results.filter((r) => !r.error);
    const mean = (key) => Math.exp(measured.reduce((sum, r) => sum + Math.log(r[key]), 0) / measured.length);
    const worst = measured.reduce((a, b) => a.ratio < b.ratio ? a : b);
    console.log(`${measured.length} networks: geometric mean ${mean('ratio').toFixed(2)} (of least times ` +
        `${mean('least_ratio').toFixed(2)}, of processor time ${mean('cpu_ratio').toFixed(2)}), ` +
        `worst ${worst.ratio.toFixed(2)} (${worst.name})`);
    if (report) {
        fs.writeFileSync(report, JSON.stringify({date: new Date().toISOString(), machine: os.cpus()[0].model,
            processors: os.cpus().length, threads, rounds, command: 'tests/bench/zoo.sh', results}, null, 2) + '\n');
    }
    process.exit(results.some((r) => r.error || !(r.difference <= 1e-3)) ? 1 : 0);
}

main().catch((error) => {
    console.error(error.message);
    process.exit(3);
});
