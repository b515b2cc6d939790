// make.mjs FOLDER [ROWS]: writes one table of ROWS rows (260) as Parquet files, by three writers (parquet-wasm, of Rust;
// hyparquet-writer, of JavaScript; DuckDB, of C++) in their codecs, encodings and versions, and its rows as FOLDER/rows.jsonl in
// the form of agent/data/parquet/value_json.h. Each file has some of the columns. Run where these packages are installed:
//   npm install parquet-wasm@0.8.0 apache-arrow@21.1.0 hyparquet-writer@0.17.0 hyparquet@1.26.2 @duckdb/node-api@1.5.6-r.1
//   node make.mjs FOLDER
import fs from 'node:fs'
import zlib from 'node:zlib'
import { createRequire } from 'node:module'
const require = createRequire(process.cwd() + '/')
const arrow = require('apache-arrow')
const wasm = require('parquet-wasm/node')

const folder = process.argv[2], count = Number(process.argv[3] ?? 260)
const rows = Array.from({ length: count }, (_, i) => i)
const nullable = (each, every) => rows.map(i => (i % every === 3 ? null : each(i)))

// ---- the table: name -> [values for arrow, values as JSON, arrow type] -----------------------------------------------
const hex = i => (i * 2654435761 >>> 0).toString(16).padStart(8, '0')
const texts = nullable(i => (i % 3 ? `https://example.org/${hex(i >> 3)}/ä${i}` : ['', 'red', 'green "b"\n'][i % 9 / 3]), 7)
const bytes = nullable(i => Uint8Array.from([i & 255, 255, 0, i >> 8]), 11)
const vectors = rows.map(i => (i % 13 === 5 ? null : Array.from({ length: i % 5 }, (_, k) => Math.fround((i + k) / 8))))
const lists = rows.map(i => (i % 13 === 4 ? null : Array.from({ length: (i * 7) % 4 }, (_, k) => ((i + k) % 6 === 2 ? null : `t${(i + k) % 10}`))))
const decimal = (i, scale) => {
    const digits = String(Math.abs(i)).padStart(scale + 1, '0'), at = digits.length - scale
    return (i < 0 ? '-' : '') + digits.slice(0, at) + '.' + digits.slice(at)
}
class Raw { constructor(text) { this.text = text } } // a number as it is to be spelled
const table = {
    id: [rows.map(i => BigInt(i) * 3n), rows.map(i => i * 3), new arrow.Int64()],
    flag: [nullable(i => i % 5 < 2, 9), null, new arrow.Bool()],
    tiny: [nullable(i => (i % 256) - 128, 8), null, new arrow.Int8()],
    small: [nullable(i => i * 97 % 65536 - 32768, 8), null, new arrow.Int16()],
    whole: [nullable(i => (i * 2654435761) | 0, 6), null, new arrow.Int32()],
    big: [nullable(i => BigInt.asIntN(64, BigInt(i) * 0x9E3779B97F4A7C15n), 6), null, new arrow.Int64()],
    utiny: [nullable(i => i % 256, 8), null, new arrow.Uint8()],
    usmall: [nullable(i => i * 97 % 65536, 8), null, new arrow.Uint16()],
    uwhole: [nullable(i => (i * 2654435761) >>> 0, 8), null, new arrow.Uint32()],
    ubig: [nullable(i => BigInt.asUintN(64, BigInt(i) * 0x9E3779B97F4A7C15n), 8), null, new arrow.Uint64()],
    real: [nullable(i => (i % 50 === 49 ? NaN : Math.fround(i * 1.1)), 10), null, new arrow.Float32()],
    double: [nullable(i => (i % 50 === 48 ? -Infinity : i / 3), 10), null, new arrow.Float64()],
    text: [texts, null, new arrow.Utf8()],
    color: [rows.map(i => ['red', 'green', 'blue'][(i >> 4) % 3]), null, new arrow.Utf8()],
    bytes: [bytes, bytes.map(b => b && Buffer.from(b).toString('base64')), new arrow.Binary()],
    day: [nullable(i => new Date(Date.UTC(1960, 0, 1) + i * 86400000 * 101), 12),
        v => v.toISOString().slice(0, 10), new arrow.DateDay()],
    moment: [nullable(i => i * 1234567890 - 99999999, 12), stamp, new arrow.TimestampMicrosecond()],
    vector: [vectors, null, new arrow.List(new arrow.Field('item', new arrow.Float32(), true))],
    tags: [lists, null, new arrow.List(new arrow.Field('item', new arrow.Utf8(), true))],
}
function stamp(millis) {
    return new Date(millis).toISOString().replace('Z', '').replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '')
}
// The shortest text that is read as the same float32.
function single(value) {
    for (let digits = 6; ; digits++) {
        const short = Number(value.toPrecision(digits))
        if (Math.fround(short) === value) {
            return short
        }
    }
}
const shown = value => (value === null ? null
    : typeof value === 'bigint' ? new Raw(String(value))
        : typeof value === 'number' && Number.isNaN(value) ? 'NaN'
            : value === Infinity ? 'Infinity' : value === -Infinity ? '-Infinity' : value)
table.real[1] = table.real[0].map(v => (v === null ? null : Number.isNaN(v) ? 'NaN' : single(v)))
table.vector[1] = vectors.map(v => v && v.map(single))
const json = {}
for (const [name, [values, as]] of Object.entries(table)) {
    json[name] = values.map((v, i) => (Array.isArray(as) ? as[i] : v === null ? null : as ? as(v) : shown(v)))
}
// Columns that only DuckDB or hyparquet-writer write.
const cents = nullable(i => i * 9973 - 1000000, 9)
json.price = cents.map(v => v && new Raw(decimal(v, 2)))
json.huge = nullable(i => new Raw((i % 2 ? '-' : '') + '123456789012345678901234' + String(i).padStart(4, '0') + '.5000000000'), 9)
json.key = rows.map(i => `${hex(i)}-0000-4000-8000-${hex(i + 1)}${hex(i).slice(0, 4)}`)
json.clock = nullable(i => `${String(i % 24).padStart(2, '0')}:00:${String(i % 60).padStart(2, '0')}${i % 2 ? '.25' : ''}`, 9)
json.half = nullable(i => i / 4 - 20, 9)
json['/user/age'] = nullable(i => i % 90, 5)
json['/user/name'] = nullable(i => `n${i}`, 5)
const spell = v => (v instanceof Raw ? v.text : Array.isArray(v) ? `[${v.map(spell)}]` : JSON.stringify(v))
const row = i => `{${Object.keys(json).map(k => JSON.stringify(k) + ':' + spell(json[k][i]))}}`
fs.writeFileSync(`${folder}/rows.jsonl`, rows.map(i => row(i) + '\n').join(''))

// ---- parquet-wasm ----------------------------------------------------------------------------------------------------
function arrowTable(names) {
    const vectors = {}
    for (const name of names) {
        vectors[name] = arrow.vectorFromArray(table[name][0], table[name][2])
    }
    return wasm.Table.fromIPCStream(arrow.tableToIPC(new arrow.Table(vectors), 'stream'))
}
function writeWasm(name, names, set) {
    let builder = new wasm.WriterPropertiesBuilder()
    builder = set(builder)
    fs.writeFileSync(`${folder}/wasm-${name}.parquet`, wasm.writeParquet(arrowTable(names), builder.build()))
}
const all = Object.keys(table)
const E = wasm.Encoding, V = { v1: wasm.WriterVersion.V1, v2: wasm.WriterVersion.V2 }
for (const [codec, value] of Object.entries(wasm.Compression).filter(([k]) => isNaN(Number(k)) && k !== 'LZO')) {
    for (const [version, number] of Object.entries(V)) {
        writeWasm(`${codec.toLowerCase()}-${version}`, all, b => b.setCompression(value).setWriterVersion(number).setMaxRowGroupSize(Math.ceil(count / 3)))
    }
}
const wholes = ['id', 'whole', 'big', 'tiny', 'uwhole', 'ubig', 'moment', 'day']
for (const [name, encoding, names] of [
    ['plain', E.PLAIN, all], ['delta', E.DELTA_BINARY_PACKED, wholes], ['length', E.DELTA_LENGTH_BYTE_ARRAY, ['text', 'bytes', 'tags']],
    ['prefix', E.DELTA_BYTE_ARRAY, ['text', 'bytes', 'tags']], ['rle', E.RLE, ['flag']],
    ['split', E.BYTE_STREAM_SPLIT, ['real', 'double', 'vector', 'whole', 'big']]]) {
    for (const [version, number] of Object.entries(V)) {
        for (const column of names) {
            try {
                writeWasm(`${name}-${version}-${column}`, [column],
                    b => b.setDictionaryEnabled(false).setEncoding(encoding).setWriterVersion(number))
            } catch (error) {
                console.error(`parquet-wasm: ${name} ${version} ${column}: ${error.message}`)
            }
        }
    }
}
writeWasm('pages', all, b => b.setDataPageSizeLimit(100).setWriteBatchSize(16).setCompression(wasm.Compression.UNCOMPRESSED))

// ---- hyparquet-writer ------------------------------------------------------------------------------------------------
const { parquetWriteBuffer } = await import(require.resolve('hyparquet-writer').replace(/^/, 'file://'))
const halves = nullable(i => i / 4 - 20, 9)
const gzip = { GZIP: data => zlib.gzipSync(data) }
function writeHyparquet(name, columnData, more = {}) {
    const buffer = parquetWriteBuffer({ columnData, rowGroupSize: Math.ceil(count / 2.5), compressors: gzip, ...more })
    fs.writeFileSync(`${folder}/hyparquet-${name}.parquet`, Buffer.from(buffer))
}
const plainColumns = [
    { name: 'id', data: table.id[0], type: 'INT64' }, { name: 'flag', data: table.flag[0], type: 'BOOLEAN' },
    { name: 'whole', data: table.whole[0], type: 'INT32' }, { name: 'big', data: table.big[0], type: 'INT64' },
    { name: 'real', data: table.real[0], type: 'FLOAT' }, { name: 'double', data: table.double[0], type: 'DOUBLE' },
    { name: 'text', data: texts, type: 'STRING' }, { name: 'color', data: table.color[0], type: 'STRING' },
    { name: 'bytes', data: bytes, type: 'BYTE_ARRAY' }, { name: 'key', data: json.key, type: 'UUID' },
    { name: 'half', data: halves, type: 'FLOAT16' }]
for (const codec of ['UNCOMPRESSED', 'SNAPPY', 'GZIP']) {
    writeHyparquet(codec.toLowerCase(), plainColumns, { codec })
    writeHyparquet(codec.toLowerCase() + '-pages', plainColumns, { codec, pageSize: 200 })
}
const encoded = {
    PLAIN: plainColumns.map(c => c.name), RLE: ['flag'], DELTA_BINARY_PACKED: ['id', 'whole', 'big'], RLE_DICTIONARY: ['text', 'color', 'whole'],
    DELTA_LENGTH_BYTE_ARRAY: ['text', 'color', 'bytes'], DELTA_BYTE_ARRAY: ['text', 'color', 'bytes'],
    BYTE_STREAM_SPLIT: ['whole', 'big', 'real', 'double', 'half', 'key'],
}
for (const [encoding, names] of Object.entries(encoded)) {
    for (const name of names) {
        const column = plainColumns.find(c => c.name === name)
        try {
            writeHyparquet(`${encoding.toLowerCase()}-${name}`, [{ ...column, encoding }])
        } catch (error) {
            console.error(`hyparquet-writer: ${encoding} ${name}: ${error.message}`)
        }
    }
}

// ---- DuckDB ----------------------------------------------------------------------------------------------------------
const { DuckDBInstance } = require('@duckdb/node-api')
const duck = await (await DuckDBInstance.create(':memory:')).connect()
const wasmAll = `${folder}/wasm-uncompressed-v1.parquet`
const digits = json.huge.map(v => (v ? `'${v.text}'` : 'NULL')) // as a number it would be read as a double
const listed = name => "SELECT * FROM read_json('" + `${folder}/rows.jsonl', columns={${name}})`
await duck.run(`CREATE TABLE t AS SELECT a.*, b.price, c.huge::DECIMAL(38,10) AS huge, b.key, b.clock, CASE WHEN b."/user/age" IS NULL THEN NULL ELSE
    {'age': b."/user/age", 'name': b."/user/name"} END AS "user" FROM
    (SELECT *, row_number() OVER () AS n FROM read_parquet('${wasmAll}')) a JOIN
    (SELECT *, row_number() OVER () AS n FROM (${listed(`'price': 'DECIMAL(9,2)', 'key': 'UUID', 'clock': 'TIME',
    '/user/age': 'INTEGER', '/user/name': 'VARCHAR'`)})) b USING (n)
    JOIN (SELECT unnest([${digits}]) AS huge, unnest(range(1, ${count} + 1)) AS n) c USING (n) ORDER BY n`)
await duck.run('ALTER TABLE t DROP COLUMN n')
for (const codec of ['uncompressed', 'snappy', 'gzip', 'zstd', 'brotli', 'lz4_raw']) {
    for (const version of ['V1', 'V2']) {
        await duck.run(`COPY t TO '${folder}/duckdb-${codec}-${version.toLowerCase()}.parquet'
            (FORMAT parquet, COMPRESSION ${codec}, PARQUET_VERSION ${version})`)
    }
}
await duck.run(`COPY t TO '${folder}/duckdb-plain.parquet' (FORMAT parquet, DICTIONARY_SIZE_LIMIT 1)`)
