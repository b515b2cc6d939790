// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime makes of items (deliver.py).
//   node deliver.cjs ONNXRUNTIME-NODE MODEL.onnx RUNS.json
// RUNS: [{INPUT: {type, dims, data: [...]}}, ...]; whole numbers of 64 bits as texts, float16 as its bits. Prints [{OUTPUT: [...]}, ...]:
// all values of an output in a row, or null where it is not a tensor.
'use strict';
const fs = require('fs');
const path = require('path');
const [runtime, model, file] = process.argv.slice(2);
const ort = require(path.resolve(runtime));
const arrays = {
    float32: Float32Array, float64: Float64Array, float16: Uint16Array, int32: Int32Array, int16: Int16Array, int8: Int8Array,
    uint32: Uint32Array, uint16: Uint16Array, uint8: Uint8Array, bool: Uint8Array, int64: BigInt64Array, uint64: BigUint64Array,
};

function tensor({type, dims, data}) {
    if (type === 'string') return new ort.Tensor('string', data, dims);
    const values = type.endsWith('int64') ? data.map(BigInt) : data;
    return new ort.Tensor(type, arrays[type].from(values), dims);
}
// Of float16 the number, everything else as it is.
function number(type, value) {
    if (type !== 'float16') return typeof value === 'bigint' ? Number(value) : value;
    const exponent = (value >> 10) & 31, part = value & 1023;
    const size = exponent === 0 ? part * 2 ** -24 : exponent === 31 ? (part ? NaN : Infinity) : (1 + part / 1024) * 2 ** (exponent - 15);
    return value >> 15 ? -size : size;
}

(async () => {
    const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 4});
    const told = [];
    for (const feeds of JSON.parse(fs.readFileSync(file, 'utf8'))) {
        const made = {};
        for (const [name, value] of Object.entries(feeds)) made[name] = tensor(value);
        const results = {};
        // An output that is not a tensor, such as a list of maps, cannot be fetched here: the others can.
        const wanted = session.outputMetadata ? session.outputMetadata.filter((one) => one.isTensor).map((one) => one.name) : session.outputNames;
        for (const [name, value] of Object.entries(await session.run(made, wanted))) {
            results[name] = Array.from(value.data, (v) => number(value.type, v)).map((v) => (Number.isFinite(v) || typeof v === 'string' ? v : String(v)));
        }
        told.push(results);
    }
    console.log(JSON.stringify(told));
})().catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
});
