// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime makes of the folders of opsets.py: FOLDER/NAME/ort.json, its outputs or {"error": why}.
//   node runtime.cjs ONNXRUNTIME-NODE FOLDER NAME...
'use strict';
const fs = require('fs');
const path = require('path');

const [runtime, folder, ...names] = process.argv.slice(2);
const ort = require(path.resolve(runtime));
const types = {
    float32: Float32Array, float64: Float64Array, int64: BigInt64Array, int32: Int32Array, int16: Int16Array,
    int8: Int8Array, uint64: BigUint64Array, uint32: Uint32Array, uint16: Uint16Array, uint8: Uint8Array,
    bool: Uint8Array,
};

async function run(at) {
    const feeds = {};
    for (const input of JSON.parse(fs.readFileSync(at + '/inputs.json', 'utf8'))) {
        const bytes = fs.readFileSync(at + '/' + input.name + '.raw');
        const values = new types[input.type](new Uint8Array(bytes).buffer);
        feeds[input.name] = new ort.Tensor(input.type, values, input.dims);
    }
    const session = await ort.InferenceSession.create(at + '/model.onnx', {logSeverityLevel: 4, intraOpNumThreads: 1, interOpNumThreads: 1});
    const told = {};
    for (const [output, tensor] of Object.entries(await session.run(feeds))) {
        told[output] = {type: tensor.type, dims: tensor.dims, data: Array.from(tensor.data, String)};
    }
    return told;
}

(async () => {
    for (const name of names) {
        const told = await run(path.join(folder, name)).catch((error) => ({error: error.message}));
        fs.writeFileSync(path.join(folder, name, 'ort.json'), JSON.stringify(told));
    }
})();
