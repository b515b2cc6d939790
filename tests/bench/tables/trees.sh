#!/usr/bin/env bash
# trees.sh [ROWS] [TURNS]: rows of Parquet (20 columns of float32, DuckDB wrote them) through 200 boosted trees of depth 6, on one
# thread, in turns: `windlass run` with one worker, which writes Parquet; XGBoost's own prediction and onnxruntime-node's of the same
# rows, which are in memory already and of which only the prediction counts; and DuckDB, which only reads these columns. Prints rows
# for a second of processor time, and how far the scores are from XGBoost's. Debian's python3-xgboost, -onnx and -sklearn.
set -eu
cd "$(dirname "$0")/../../.."
rows=${1:-1000000} turns=${2:-3}
(. tests/cluster/lib.sh && need_packages python3-onnx python3-numpy python3-xgboost python3-sklearn) >&2
windlass=$(realpath "${BUILD:-build}/windlass")
runtime=$(tests/onnxruntime.sh) duck=$(tests/npm.sh @duckdb/node-api 1.5.6-r.1)
[ -e "$duck/node_modules/@duckdb/node-bindings-linux-x64" ] || # npm.sh leaves optional packages out, of which this is the library
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$duck" @duckdb/node-bindings-linux-x64@1.5.6-r.1 >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/data/rows" "$work/data/model"
export OMP_NUM_THREADS=1
PYTHONPATH=tests/e2e/engine /usr/bin/python3 -B tests/bench/tables/trees.py make "$work" "$rows"
cat >"$work/duck.cjs" <<'P'
const { DuckDBInstance } = require(process.argv[2] + '/node_modules/@duckdb/node-api')
const [, , , what, file, rows] = process.argv
const columns = Array.from({ length: 20 }, (_, j) => j)
DuckDBInstance.create(':memory:', { threads: '1' }).then(async instance => {
    const duck = await instance.connect(), before = process.cpuUsage()
    await duck.run(what === 'make'
        ? `COPY (SELECT i AS id, ${columns.map(j => `(((i * ${2 * j + 3} * 7919 + ${j} * 104729) % 4093) / 4096.0)::FLOAT AS f${j}`)}
           FROM range(${rows}) r(i)) TO '${file}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480)`
        : `SELECT ${columns.map(j => `sum(f${j})`)} FROM read_parquet('${file}')`)
    const used = process.cpuUsage(before)
    console.log((used.user + used.system) / 1e6)
})
P
cat >"$work/ort.cjs" <<'P'
const fs = require('fs'), ort = require(require('path').resolve(process.argv[2]))
ort.InferenceSession.create(process.argv[3], { intraOpNumThreads: 1, interOpNumThreads: 1 }).then(async session => {
    const bytes = fs.readFileSync(process.argv[4]), all = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    const before = process.cpuUsage()
    for (let at = 0; at < all.length; at += 20 * 10000) {
        const part = all.subarray(at, at + 20 * 10000)
        await session.run({ rows: new ort.Tensor('float32', part, [part.length / 20, 20]) })
    }
    const used = process.cpuUsage(before)
    console.log((used.user + used.system) / 1e6)
})
P
node "$work/duck.cjs" "$duck" make "$work/data/rows/a.parquet" "$rows" >/dev/null
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: trees}
spec:
  input: {table: {path: data/rows, format: Parquet}}
  scorer:
    onnx:
      path: data/model/trees.onnx
      columns: [f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19]
      postprocess: {type: Values}
  output: {path: data/out, format: Parquet, key: [id]}
  miniBatchSize: ${SIZE:-4MB}
  workers: {min: 1, max: 1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
ours() { # its processor time, with its children's
    rm -rf "$work/data/out" "$work/state"
    local TIMEFORMAT='%U %S'
    { time WINDLASS_THREADS=1 "$windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null; } 2>&1 | awk '{print $1 + $2}'
}
for ((turn = 0; turn < turns; turn++)); do
    a=$(ours) b=$(/usr/bin/python3 -B tests/bench/tables/trees.py predict "$work") d=$(node "$work/duck.cjs" "$duck" scan "$work/data/rows/a.parquet")
    c=$(node "$work/ort.cjs" "$runtime" "$work/data/model/trees.onnx" "$work/rows.f32")
    awk -v n="$rows" -v a="$a" -v b="$b" -v c="$c" -v d="$d" 'BEGIN { printf "windlass, the whole job %.0f rows/s; prediction alone: XGBoost %.0f, onnxruntime %.0f; reading alone: DuckDB %.0f; %.2f and %.2f times\n", n / a, n / b, n / c, n / d, b / a, c / a }'
done
node -e '
const { DuckDBInstance } = require(process.argv[1] + "/node_modules/@duckdb/node-api"), fs = require("fs")
const bytes = fs.readFileSync(process.argv[3]), told = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
DuckDBInstance.create(":memory:").then(async instance => {
    const rows = (await (await instance.connect()).runAndReadAll(`select id, value from read_parquet(${"\x27" + process.argv[2] + "\x27"})`)).getRows()
    let worst = 0
    rows.forEach(([id, value], i) => { if (Number(id) !== i) throw new Error(`row ${i} is ${id}`); worst = Math.max(worst, Math.abs(value - told[i])) })
    if (rows.length !== told.length) throw new Error(`${rows.length} rows of ${told.length}`)
    console.log(`${rows.length} rows in order, largest difference to XGBoost ${worst.toExponential(1)}`)
})' "$duck" "$work/data/out/rows.parquet" "$work/wanted.f32"
