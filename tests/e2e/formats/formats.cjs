// formats.cjs DUCKDB BINDINGS HYPARQUET COMPRESSORS WASM ARROW FILE EXPECTED: a Parquet file, read by DuckDB, by hyparquet
// and by Apache Arrow's reader in Rust (parquet-wasm), has the rows of that file of JSON Lines, value by value and bit by
// bit, and the types that docs/operate/rows.md promises. pyarrow is in no package of Debian 12 or npm.
'use strict';
const fs = require('fs'), path = require('path'), url = require('url');
const [duckdb, bindings, hyparquet, compressors, wasm, arrow, file, expected] = process.argv.slice(2);
process.env.NODE_PATH = path.join(bindings, 'node_modules');
require('module').Module._initPaths();

const floats = new Float32Array(1);
const toFloat = number => { floats[0] = number; return floats[0]; };
const types = {
    flag: 'BOOLEAN', whole: 'BIGINT', small: 'BIGINT', number: 'DOUBLE', text: 'VARCHAR', vector: 'FLOAT[]',
    numbers: 'DOUBLE[]', wholes: 'BIGINT[]', nested: 'JSON', sometimes: 'BIGINT', price: 'DOUBLE',
    file: 'VARCHAR', row: 'BIGINT', id: 'VARCHAR', name: 'VARCHAR',
};

// A JSON value as the column's type has it. Integers keep all their digits.
function wanted(type, value) {
    if (value === undefined || value === null) return null;
    if (type === 'JSON') return JSON.stringify(value);
    if (type.endsWith('[]')) return value.map(element => wanted(type.slice(0, -2), element));
    if (type === 'BIGINT') return BigInt(value);
    if (type === 'FLOAT') return toFloat(Number(value));
    return type === 'DOUBLE' ? Number(value) : value;
}
function isSame(a, b) {
    if (Array.isArray(b)) return Array.isArray(a) && a.length === b.length && b.every((element, i) => isSame(a[i], element));
    return Object.is(a, b);
}
function compare(who, rows, lines) {
    if (rows.length !== lines.length) throw new Error(`${who}: ${rows.length} rows, wanted ${lines.length}`);
    lines.forEach((line, i) => {
        for (const [name, type] of Object.entries(types)) {
            const want = wanted(type, line[name]);
            let seen = rows[i][name] ?? null;
            if (type === 'JSON' && seen !== null) seen = JSON.stringify(typeof seen === 'string' && who !== 'hyparquet' ? JSON.parse(seen) : seen);
            if (!isSame(seen, want)) throw new Error(`${who}: row ${i}, ${name}: ${String(seen)}, wanted ${String(want)}`);
        }
    });
}
// The rows as Arrow's reader has them; its lists are vectors of their own.
function arrowRows() {
    const { tableFromIPC } = require(path.join(arrow, 'node_modules/apache-arrow'));
    const { readParquet } = require(path.join(wasm, 'node_modules/parquet-wasm/node/parquet_wasm.js'));
    const table = tableFromIPC(readParquet(new Uint8Array(fs.readFileSync(file))).intoIPCStream());
    const columns = table.schema.fields.map(field => [field.name, table.getChild(field.name)]);
    const plain = value => value !== null && typeof value === 'object' ? [...value] : value;
    return Array.from({ length: table.numRows }, (_, i) => Object.fromEntries(columns.map(([name, column]) => [name, plain(column.get(i))])));
}
// Integers beyond 2^53 as texts, which BigInt reads.
function parseLine(line) {
    return JSON.parse(line.replace(/("(?:[^"\\]|\\.)*")|(?<![\d.])(-?\d{16,})(?![\d.eE])/g, (all, text, digits) => text ?? `"${digits}"`));
}

async function main() {
    const lines = fs.readFileSync(expected, 'utf8').trim().split('\n').map(parseLine);
    const { DuckDBInstance } = require(path.join(duckdb, 'node_modules/@duckdb/node-api'));
    const connection = await (await DuckDBInstance.create()).connect();
    const described = (await connection.runAndReadAll(`describe select * from '${file}'`)).getRows();
    for (const [name, type] of described) {
        if (types[name] !== type) throw new Error(`DuckDB: column ${name} is ${type}, wanted ${types[name]}`);
    }
    compare('DuckDB', (await connection.runAndReadAll(`select * from '${file}'`)).getRowObjectsJS(), lines);
    // What the statistics say is what is there: DuckDB skips row groups by them.
    const filtered = await connection.runAndReadAll(`select count(*) from '${file}' where small = 3 and text >= 'p'`);
    const count = lines.filter(line => line.small === 3 && line.text !== null && Buffer.compare(Buffer.from(line.text), Buffer.from('p')) >= 0).length;
    if (Number(filtered.getRows()[0][0]) !== count) throw new Error(`DuckDB: ${filtered.getRows()[0][0]} rows by a filter, wanted ${count}`);

    const load = (folder, name) => import(url.pathToFileURL(path.join(folder, 'node_modules', name, 'src', name === 'hyparquet' ? 'node.js' : 'index.js')));
    const { asyncBufferFromFile, parquetReadObjects } = await load(hyparquet, 'hyparquet');
    const options = { file: await asyncBufferFromFile(file), compressors: (await load(compressors, 'hyparquet-compressors')).compressors };
    compare('hyparquet', await parquetReadObjects(options), lines);
    compare('Arrow', arrowRows(), lines);
    console.log(`# ${lines.length} rows, ${fs.statSync(file).size} bytes`);
}
main().catch(error => { console.log(`# ${error.message}`); process.exitCode = 1; });
