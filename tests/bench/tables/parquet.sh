#!/usr/bin/env bash
# parquet.sh [ROWS]: a Parquet file of ROWS rows (27,000,000: 1 GB with Snappy) and seven columns, made by DuckDB; the
# processor time to scan all columns on one thread, by DuckDB and by agent/data/parquet, in turns, the least of three. Ours
# with the process that unpacks pages of zstd; WINDLASS_SANDBOX=off: without.
set -euo pipefail
cd "$(dirname "$0")/../../.."
rows=${1:-27000000}
program=$PWD/${BUILD:-build}/tests/bench/tables/parquet_scan
make --no-print-directory CUDA=0 "${program#"$PWD"/}" >&2
duck=$(tests/npm.sh @duckdb/node-api 1.5.6-r.1)
# npm.sh leaves optional packages out, of which this is the library.
[ -e "$duck/node_modules/@duckdb/node-bindings-linux-x64" ] ||
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$duck" @duckdb/node-bindings-linux-x64@1.5.6-r.1 >&2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/duck.cjs" <<'P'
const { DuckDBInstance } = require(process.argv[2] + '/node_modules/@duckdb/node-api')
const [, , , what, file, codec, rows] = process.argv
DuckDBInstance.create(':memory:', { threads: '1' }).then(async instance => {
    const duck = await instance.connect(), before = process.cpuUsage()
    await duck.run(what === 'make'
        ? `COPY (SELECT i AS id, (i * 7919) % 1000 AS k, hash(i) / 1e19 AS d, (hash(i + 1) % 1000000)::INTEGER AS n,
           (hash(i + 2) / 1e19)::FLOAT AS f, 'text of row ' || hash(i + 3) AS t, 'c' || (i % 50) AS color FROM range(${rows}) r(i))
           TO '${file}' (FORMAT parquet, COMPRESSION ${codec})`
        : `SELECT sum(id), sum(k), sum(d), sum(n), sum(f), sum(strlen(t)), sum(strlen(color)) FROM read_parquet('${file}')`)
    const used = process.cpuUsage(before)
    console.log(((used.user + used.system) / 1e6).toFixed(3))
})
P
# Of a program and of all that it has started, which may end after it.
cat >"$work/used.py" <<'P'
import ctypes, os, resource, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
try:
    while True:
        os.wait()
except ChildProcessError:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
P
for codec in snappy zstd; do
    file=$work/$codec.parquet
    node "$work/duck.cjs" "$duck" make "$file" $codec "$rows" >/dev/null
    for _ in 1 2 3; do
        node "$work/duck.cjs" "$duck" scan "$file" >>"$work/$codec.duckdb"
        python3 "$work/used.py" "$program" "$file" id k d n f t color >>"$work/$codec.ours"
    done
    bytes=$(stat -c %s "$file")
    paste <(sort -n "$work/$codec.duckdb" | head -1) <(sort -n "$work/$codec.ours" | head -1) |
        awk -v codec=$codec -v bytes="$bytes" '{ printf "%s, %d MB: DuckDB %.2f s, ours %.2f s, %.2f times\n", codec, bytes / 1e6, $1, $2, $2 / $1 }'
    rm "$file"
done
