#!/usr/bin/env bash
# A table of Parquet files in az://, on a real Azurite, by ranged reads: each row of the columns that are read, in order.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
work=$(mktemp -d)
azurite=$work/azurite
trap 'tests/azurite/start.sh stop "$azurite"; rm -rf "$work"' EXIT
variables=$(tests/azurite/start.sh start "$azurite" $$) || { echo "not ok azurite starts"; exit 1; }
while read -r line; do export "${line?}"; done <<<"$variables"
mkdir -p "$work/up" "$work/code" "$work/data"
cp tests/fuzz/corpus/parquet/duckdb-snappy-v1 "$work/up/a.parquet"
cp tests/fuzz/corpus/parquet/duckdb-plain "$work/up/b.parquet"
cp tests/e2e/score/rows.py "$work/code/"
python3 tests/azurite/az.py "$azurite" upload films tests/parquet "$work/up" || exit 3
cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: parquet}
spec:
  input: {table: {path: az://films/tests/parquet, format: Parquet, columns: [id, tags, /user/age]}}
  scorer: {command: {command: [python3, \$(code)/rows.py, raw]}}
  output: {path: data/out, mode: AppendRow}
  workers: {min: 2, max: 2}
  miniBatchSize: 4KB
  stores: [{account: films, secretName: films}]
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
timeout 120 "${BUILD:-build}/windlass" run -f "$work/job.yaml" --state "$work/state" >"$work/log" 2>&1 </dev/null
check "the job ends well" [ $? -eq 0 ]
check "each row once and in order" diff "$work/data/out/rows.txt" \
    <(for _ in 1 2; do python3 -c 'import json, sys
for line in sys.stdin:
    print(json.dumps({key: json.loads(line)[key] for key in ("id", "tags", "/user/age")}, separators=(",", ":"), ensure_ascii=False))
' <tests/data/parquet/rows.jsonl; done)
[ $failures -eq 0 ] || tail -n 8 "$work/log" | sed 's/^/# /'
exit $((failures > 0))
