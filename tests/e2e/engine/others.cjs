// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime makes of networks of others (test_others.sh), by code of its own around them. Prints JSON: for each item
//   node others.cjs ONNXRUNTIME-NODE faces MODEL SIDE PIXELS...    [[left, top, right, bottom, score], ...], the best first
//   node others.cjs ONNXRUNTIME-NODE sound MODEL ROWS.jsonl        the probability of each step of 512 samples
//   node others.cjs ONNXRUNTIME-NODE lines MODEL PIXELS...         the scores of pictures of 192x48
//   node others.cjs ONNXRUNTIME-NODE larger MODEL SIDE PIXELS...   the first 999 bytes of the picture
//   node others.cjs ONNXRUNTIME-NODE things MODEL PIXELS...        [[left, top, right, bottom, score, class], ...] of 512x512
//   node others.cjs ONNXRUNTIME-NODE sentences MODEL TOKENS.jsonl  the vector of each text's ids (windlass-agent model tokenize)
// PIXELS are files of bytes, red, green, blue.
'use strict';
const fs = require('fs');
const path = require('path');

const [runtime, task, model, ...rest] = process.argv.slice(2);
const ort = require(path.resolve(runtime));
const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const tensor = (data, dims) => new ort.Tensor('float32', Float32Array.from(data), dims);

function overlap(a, b) {
    const side = (from, to) => Math.max(Math.min(a[to], b[to]) - Math.max(a[from], b[from]), 0);
    const area = (box) => (box[2] - box[0]) * (box[3] - box[1]);
    const both = side(0, 2) * side(1, 3);
    return both / (area(a) + area(b) - both);
}

// The best of those that overlap by more than 0.3.
function best(boxes) {
    const kept = [];
    for (const box of boxes.sort((a, b) => b[4] - a[4])) {
        if (kept.every((other) => overlap(box, other) <= 0.3)) {
            kept.push(box);
        }
    }
    return kept;
}

async function faces(session, side, bytes) {
    const inputs = { [session.inputNames[0]]: tensor(Array.from(bytes, (v) => v / 127.5 - 1), [1, side, side, 3]) };
    const out = await session.run(inputs);
    const [low, high, lowBoxes, highBoxes] = session.outputNames.map((name) => out[name].data);
    const found = [];
    for (const [cells, shapes, scores, boxes] of [[16, 2, low, lowBoxes], [8, 6, high, highBoxes]]) {
        for (let k = 0; k < cells * cells * shapes; k++) {
            const cell = Math.floor(k / shapes);
            const [dx, dy, width, height] = boxes.slice(16 * k, 16 * k + 4);
            const x = (((cell % cells) + 0.5) * side) / cells + dx;
            const y = ((Math.floor(cell / cells) + 0.5) * side) / cells + dy;
            if (sigmoid(scores[k]) >= 0.5) {
                found.push([x - width / 2, y - height / 2, x + width / 2, y + height / 2, sigmoid(scores[k])]);
            }
        }
    }
    return best(found).map((box) => box.map((v, i) => (i < 4 ? Math.min(Math.max(v, 0), side) : v)));
}

async function sound(session, samples) {
    const states = session.inputNames.filter((name) => name !== 'input' && name !== 'sr');
    const made = {};
    for (const name of states) {
        const width = name === 'state' ? 128 : 64;
        made[name] = tensor(new Array(2 * width).fill(0), [2, 1, width]);
    }
    const probabilities = [];
    for (let at = 0; at < samples.length; at += 512) {
        const step = new Float32Array(512);
        step.set(samples.slice(at, at + 512));
        const out = await session.run({ ...made, input: tensor(step, [1, 512]), sr: new ort.Tensor('int64', [16000n], []) });
        probabilities.push(out.output.data[0]);
        for (const name of states) {
            made[name] = out[session.outputNames.find((output) => output !== 'output' && output.startsWith(name))];
        }
    }
    return probabilities;
}

async function lines(session, bytes) {
    const planes = [];
    for (let c = 0; c < 3; c++) {
        for (let k = 0; k < 192 * 48; k++) {
            planes.push(bytes[3 * k + 2 - c] / 127.5 - 1); // blue first
        }
    }
    const out = await session.run({ [session.inputNames[0]]: tensor(planes, [1, 3, 48, 192]) });
    return Array.from(out[session.outputNames[0]].data);
}

async function larger(session, side, bytes) {
    const out = await session.run({ [session.inputNames[0]]: tensor(Array.from(bytes, (v) => v / 255), [1, side, side, 3]) });
    const picture = out[session.outputNames[0]].data.slice(0, 999);
    return Array.from(picture, (v) => Math.min(Math.max(Math.round(v * 255), 0), 255));
}

async function sentence(session, ids) {
    const whole = (numbers) => new ort.Tensor('int64', BigInt64Array.from(numbers, BigInt), [1, numbers.length]);
    const out = await session.run({ input_ids: whole(ids), attention_mask: whole(ids.map(() => 1)) });
    return Array.from(out[session.outputNames[0]].data);
}

async function things(session, bytes) {
    const out = await session.run({ [session.inputNames[0]]: tensor(bytes, [1, 512, 512, 3]) });
    const rows = out[session.outputNames[0]].data;
    const found = [];
    for (let at = 0; at < rows.length; at += 6) {
        const row = Array.from(rows.slice(at, at + 6));
        if (row[4] >= 0.25) {
            found.push(row);
        }
    }
    return found.sort((a, b) => b[4] - a[4]);
}

(async () => {
    const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 3 });
    const results = [];
    const side = task === 'faces' || task === 'larger' ? Number(rest.shift()) : 0;
    for (const file of task === 'sound' || task === 'sentences' ? [] : rest) {
        const bytes = fs.readFileSync(file);
        const run = { faces: () => faces(session, side, bytes), lines: () => lines(session, bytes),
            larger: () => larger(session, side, bytes), things: () => things(session, bytes) };
        results.push(await run[task]());
    }
    if (task === 'sound') {
        for (const row of fs.readFileSync(rest[0], 'utf8').trim().split('\n')) {
            results.push(await sound(session, JSON.parse(row).samples));
        }
    }
    if (task === 'sentences') {
        for (const row of fs.readFileSync(rest[0], 'utf8').trim().split('\n')) {
            results.push(await sentence(session, JSON.parse(row).ids));
        }
    }
    console.log(JSON.stringify(results));
})().catch((error) => {
    console.error('# ' + model + ': ' + error.message);
    process.exitCode = 1;
});
