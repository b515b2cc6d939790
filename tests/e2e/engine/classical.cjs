// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime makes of the folders of classical.py: FOLDER/NAME/ort.json.
//   node classical.cjs ONNXRUNTIME-NODE FOLDER NAME...
'use strict';
const fs = require('fs');
const path = require('path');

const [runtime, folder, ...names] = process.argv.slice(2);
const ort = require(path.resolve(runtime));
const types = {float32: Float32Array, float64: Float64Array, int64: BigInt64Array, int32: Int32Array};

async function run(name) {
    const at = path.join(folder, name);
    const input = JSON.parse(fs.readFileSync(at + '/input.json', 'utf8'));
    const bytes = fs.readFileSync(at + '/input.raw');
    const values = new types[input.type](new Uint8Array(bytes).buffer);
    const session = await ort.InferenceSession.create(at + '/model.onnx', {intraOpNumThreads: 1, interOpNumThreads: 1});
    const x = new ort.Tensor(input.type, values, input.dims);
    const found = await session.run({X: x}, input.tensors.filter((output) => output !== 'output_label'));
    const told = {};
    for (const [output, tensor] of Object.entries(found)) {
        told[output] = {type: tensor.type, dims: tensor.dims, data: Array.from(tensor.data, Number)};
    }
    fs.writeFileSync(at + '/ort.json', JSON.stringify(told));
}

(async () => {
    for (const name of names) {
        await run(name).catch((error) => {
            console.error('# ' + name + ': ' + error.message);
            process.exitCode = 1;
        });
    }
})();
