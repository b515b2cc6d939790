// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime makes of the folders of pipelines.py: FOLDER/NAME/ort.json, the values of the first output of floats.
//   node pipelines.cjs ONNXRUNTIME-NODE FOLDER NAME...
'use strict';
const fs = require('fs');
const path = require('path');

const [runtime, folder, ...names] = process.argv.slice(2);
const ort = require(path.resolve(runtime));
const make = {
    float32: (data) => Float32Array.from(data, (value) => (value === null ? NaN : value)),
    int64: (data) => BigInt64Array.from(data, BigInt),
    string: (data) => data,
};

async function run(name) {
    const at = path.join(folder, name);
    const told = JSON.parse(fs.readFileSync(at + '/inputs.json', 'utf8'));
    const inputs = {};
    for (const [key, input] of Object.entries(told.inputs)) {
        inputs[key] = new ort.Tensor(input.type, make[input.type](input.data), [input.data.length, 1]);
    }
    const session = await ort.InferenceSession.create(at + '/ort.onnx', {intraOpNumThreads: 1, interOpNumThreads: 1});
    const found = await session.run(inputs, told.outputs);
    fs.writeFileSync(at + '/ort.json', JSON.stringify(Array.from(found[told.outputs[0]].data, Number)));
}

(async () => {
    for (const name of names) {
        await run(name).catch((error) => {
            console.error('# ' + name + ': ' + error.message);
            process.exitCode = 1;
        });
    }
})();
