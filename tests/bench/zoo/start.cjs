// SPDX-License-Identifier: Apache-2.0
// The first answer of models in new processes, by turns (start.sh).
//   node start.cjs AGENT FOLDER ONNXRUNTIME THREADS ROUNDS NETWORK...
//   node start.cjs --theirs MODEL INPUTS ONNXRUNTIME THREADS: one start of onnxruntime-node
'use strict';
const {execFileSync, spawnSync} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const {tensorFile, median} = require('../tensors.cjs');

const count = (shape) => shape.reduce((a, b) => a * b);
const numbers = ({shape, kind}) => kind === 'float32' ? new Float32Array(count(shape)).fill(0.5)
    : new BigInt64Array(count(shape)).fill(1n);

async function theirs([model, inputs, runtime, threads]) {
    const ort = require(runtime), feed = {};
    const begun = performance.now();
    const session = await ort.InferenceSession.create(model,
        {intraOpNumThreads: Number(threads), interOpNumThreads: 1, graphOptimizationLevel: 'all'});
    for (const input of JSON.parse(inputs)) {
        if (!session.inputNames.includes(input.name)) continue;
        feed[input.name] = new ort.Tensor(input.kind === 'float32' ? 'float32' : 'int64', numbers(input), input.shape);
    }
    await session.run(feed);
    console.log(JSON.stringify({ms: performance.now() - begun, mib: process.resourceUsage().maxRSS / 1024}));
}

function ours(agent, model, inputs, threads, work) {
    const given = inputs.flatMap((input) => ['--input', input.name + '=' + path.join(work, input.name + '.pb')]);
    const begun = performance.now();
    const run = spawnSync('/usr/bin/time', ['-f', 'peak %M', agent, 'model', 'run', model, ...given,
        '--output-dir', work, '--threads', threads], {encoding: 'utf8'});
    if (run.status !== 0) throw new Error(run.stderr.trim());
    return {ms: performance.now() - begun, mib: Number(/peak (\d+)/.exec(run.stderr)[1]) / 1024};
}

function main([agent, folder, runtime, threads, rounds, ...names]) {
    const networks = JSON.parse(fs.readFileSync(path.join(folder, 'zoo.json'), 'utf8'));
    const row = (...cells) => console.log(cells.map((cell, i) => i ? String(cell).padStart(10)
        : String(cell).padEnd(24)).join(' '));
    row(`network (${threads} threads)`, 'ours ms', 'ORT ms', 'ratio', 'ours MiB', 'ORT MiB', 'ratio');
    for (const {name, inputs} of networks.filter((network) => names.includes(network.name))) {
        const work = fs.mkdtempSync(path.join(os.tmpdir(), 'windlass-start-')), model = path.join(folder, name + '.onnx');
        inputs.forEach((input) => tensorFile(path.join(work, input.name + '.pb'), input.shape, numbers(input)));
        const a = [], b = [];
        for (let round = 0; round < Number(rounds); round++) {
            a.push(ours(agent, model, inputs, threads, work));
            b.push(JSON.parse(execFileSync(process.execPath, [__filename, '--theirs', model, JSON.stringify(inputs),
                runtime, threads], {encoding: 'utf8'})));
        }
        fs.rmSync(work, {recursive: true});
        const of = (all, key) => median(all.map((one) => one[key]));
        row(name, of(a, 'ms').toFixed(0), of(b, 'ms').toFixed(0), (of(b, 'ms') / of(a, 'ms')).toFixed(2),
            of(a, 'mib').toFixed(0), of(b, 'mib').toFixed(0), (of(a, 'mib') / of(b, 'mib')).toFixed(2));
    }
}

if (process.argv[2] === '--theirs') {
    theirs(process.argv.slice(3));
} else {
    main(process.argv.slice(2));
}
