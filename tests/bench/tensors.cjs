// SPDX-License-Identifier: Apache-2.0
// What the benchmarks beside onnxruntime-node share: TensorProto files, differences, medians.
'use strict';
const fs = require('fs');

function median(values) {
    const sorted = [...values].sort((a, b) => a - b);
    return sorted[sorted.length >> 1];
}

function varint(value) {
    const bytes = [];
    for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
    return Buffer.from([...bytes, value]);
}

// TensorProto: dims 1, data_type 2 (1 = float, 7 = int64), raw_data 9.
function tensorFile(file, dims, data) {
    const parts = dims.map((d) => Buffer.concat([Buffer.from([8]), varint(d)]));
    const raw = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    fs.writeFileSync(file, Buffer.concat(
        [...parts, Buffer.from([16, data instanceof BigInt64Array ? 7 : 1, 0x4a]), varint(raw.length), raw]));
}

// The raw_data of a TensorProto, which is its largest field.
function readTensor(file) {
    const bytes = fs.readFileSync(file);
    let at = 0;
    const next = () => {
        let value = 0, shift = 1, byte;
        do {
            byte = bytes[at++];
            value += (byte & 127) * shift;
            shift *= 128;
        } while (byte > 127);
        return value;
    };
    while (at < bytes.length) {
        const key = next();
        if ((key & 7) === 0) {
            next();
        } else {
            const size = next();
            if (key >> 3 === 9) {
                return new Float32Array(new Uint8Array(bytes.subarray(at, at + size)).buffer);
            }
            at += size;
        }
    }
    throw new Error(file + ': no raw_data');
}

function relativeDifference(ours, theirs) {
    let worst = 0, largest = 0;
    if (ours.length !== theirs.length) return Infinity;
    for (let i = 0; i < ours.length; i++) {
        const difference = Math.abs(ours[i] - theirs[i]);
        worst = difference > worst || Number.isNaN(difference) ? difference : worst;
        largest = Math.max(largest, Math.abs(theirs[i]));
    }
    return worst / largest;
}

module.exports = {median, tensorFile, readTensor, relativeDifference};
