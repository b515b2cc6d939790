// SPDX-License-Identifier: Apache-2.0
// Texts to vectors in one process, as a user of ONNX Runtime writes it: Hugging Face's tokenizer, runs of 32 texts padded to their
// longest, sorted by length if SORTED is 1, the mean over the mask, length 1.
//   node texts.cjs ONNXRUNTIME TOKENIZERS MODEL.onnx TOKENIZER.json TEXTS.json OUT.f32 SORTED THREADS
'use strict';
const fs = require('fs');
const path = require('path');
const [runtime, packages, model, file, texts, out, sorted, threads] = process.argv.slice(2);
const ort = require(path.resolve(runtime));
const {Tokenizer} = require(path.resolve(packages, 'node_modules/tokenizers'));

(async () => {
    const session = await ort.InferenceSession.create(model, {intraOpNumThreads: Number(threads), interOpNumThreads: 1});
    const tokenizer = Tokenizer.fromFile(file);
    const all = JSON.parse(fs.readFileSync(texts, 'utf8'));
    const rows = [];
    for (const [at, text] of all.entries()) rows.push({at, ids: (await tokenizer.encode(text)).getIds()});
    if (sorted === '1') rows.sort((a, b) => a.ids.length - b.ids.length);
    let vectors = null;
    for (let first = 0; first < rows.length; first += 32) {
        const some = rows.slice(first, first + 32), width = Math.max(...some.map((row) => row.ids.length));
        const ids = new BigInt64Array(some.length * width), mask = new BigInt64Array(some.length * width);
        some.forEach((row, i) => row.ids.forEach((id, k) => { ids[i * width + k] = BigInt(id); mask[i * width + k] = 1n; }));
        const dims = [some.length, width];
        const seen = (await session.run({input_ids: new ort.Tensor('int64', ids, dims), attention_mask: new ort.Tensor('int64', mask, dims)})).last_hidden_state;
        const size = seen.dims[2];
        vectors = vectors || new Float32Array(rows.length * size);
        some.forEach((row, i) => {
            const vector = vectors.subarray(row.at * size, (row.at + 1) * size);
            for (let k = 0; k < row.ids.length; k++) for (let d = 0; d < size; d++) vector[d] += seen.data[(i * width + k) * size + d];
            const length = Math.hypot(...vector);
            for (let d = 0; d < size; d++) vector[d] /= length;
        });
    }
    fs.writeFileSync(out, vectors);
})();
