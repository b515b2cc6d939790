#!/usr/bin/env bash
# input.table.query: rows of PostgreSQL and SQLite, value by value; the coordinator is killed and the table changed in
# the middle; what is wrong is named; the password is nowhere. QUERY_ROWS (20000; 10,000,000 in a soak), of which the
# memory of the coordinator must not depend.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
rows=${QUERY_ROWS:-20000}
large=${QUERY_LARGE:-$([ -z "${SOAK_ROUNDS:-}" ] && echo 100000 || echo 10000000)}
work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || { kill -INT $(pgrep -P "$server"); kill "$server"; } 2>/dev/null # postgres is its child
    wait
    rm -rf "$work"
}
trap finish EXIT
mkdir -p "$work/code" "$work/data" "$work/secrets/db"
cp tests/e2e/formats/queries.py "$work/code/"
chmod 755 "$work"

# job SQL CONNECTION SIZE [PAUSE [MORE]]
job() {
    printf '%s' "$2" >"$work/secrets/db/connection"
    cat >"$work/job.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: query}
spec:
  input: {table: {query: {sql: "$1", connection: {secretName: db, key: connection}}}}
  scorer: {command: {command: [python3, \$(code)/queries.py, echo, "${4:-0}"]}}
  output: {path: data/out, format: JSONLines, key: [id]}
  miniBatchSize: $3
  retry: {maxTries: 2, timeoutSeconds: 120}
  workers: {min: 2, max: 2}
  ${5:-}
  volumes:
    - {name: code, persistentVolumeClaim: {claimName: code}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
}
run() {
    timeout 3000 "$windlass" run -f "$work/job.yaml" --state "$work/state" --secrets "$work/secrets" "$@" >"$work/log" 2>&1 </dev/null
    code=$?
    cat "$work"/state/*.log "$work/log" >>"$work/all" 2>/dev/null
}
fresh() {
    discard "$work/data/out" "$work/state"
    run
}
same() { diff <(jq -cS . "$work/data/out/rows.jsonl") <(jq -cS . "$1") | head -4 | cut -c 1-300 | sed 's/^/# /' | { ! grep .; }; }
says() { grep -q -- "$1" "$work/log" || { sed 's/^/# /' "$work/log"; return 1; }; }

password=hidden7Pass

##### SQLite #####################################################################################
python3 tests/e2e/formats/queries.py sqlite "$work/people.db" "$rows"
python3 tests/e2e/formats/queries.py wanted "$rows" >"$work/wanted"
lite="Driver=SQLite3;Database=$work/people.db;Pwd=$password"
job "SELECT * FROM people ORDER BY id" "$lite" 64KB
fresh
check "SQLite: every value of $rows rows" same "$work/wanted"
check "the rows are one Parquet file of the run" [ "$(find "$work/data/out/.windlass" -name 'key-rows.parquet' | wc -l)" = 1 ]
mv "$work/people.db" "$work/away.db"
run
check "a job that is run again needs the rows, not the database" eval '[ $code -eq 0 ] && same "$work/wanted"'
check "... and says so" says "^query succeeded: nothing to do: .* with the rows that its query gave then; only --restart asks"
rm -f "$work/people.db"
mv "$work/away.db" "$work/people.db"
job "SELECT id, small AS part, name FROM people" "$lite" 64KB 0
sed -i 's/connection: {secretName: db, key: connection}}/&, partitionKeys: [part]/; /miniBatchSize/d' "$work/job.yaml"
fresh
check "with partitionKeys" [ "$code $(jq -r .miniBatches.done "$work/data/out/summary.json") $(wc -l <"$work/data/out/rows.jsonl")" = "0 128 $rows" ]
job "SELECT id, 1 AS one FROM people WHERE id < 0" "$lite" 64KB
fresh
check "no rows are an error" eval '[ $code -eq 2 ] && says "spec.input.table.query: the query returned no rows"'
job "SELECT one FROM nowhere" "$lite" 64KB
fresh
check "a wrong query is named, in the database's words" eval '[ $code -eq 2 ] && says "spec.input.table.query: .*no such table: nowhere"'
job "SELECT id, id FROM people" "$lite" 64KB
fresh
check "two columns of one name" eval '[ $code -eq 2 ] && says "two columns have the name .id.: give one another with AS"'
job "DELETE FROM people" "$lite" 64KB
fresh
check "a query that changes data is refused ..." eval '[ $code -eq 2 ] && says "the query gives 0 columns, expected 1 to"'
check "... and changes nothing" [ "$(python3 -c "import sqlite3; print(sqlite3.connect('$work/people.db').execute('select count(*) from people').fetchone()[0])")" = "$rows" ]
job "SELECT 1 AS one" "Driver=Nothing;Pwd=$password" 64KB
fresh
check "a driver that is missing" eval '[ $code -eq 2 ] && says "spec.input.table.query: .*Can.t open lib .Nothing."'
rm "$work/secrets/db/connection"
run
check "a secret that is missing" eval '[ $code -eq 2 ] && says "spec.input.table.query.connection: .*db/connection"'

##### PostgreSQL #################################################################################
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
as_postgres() { if [ "$(id -u)" = 0 ]; then setpriv --reuid postgres --regid postgres --clear-groups "$@"; else "$@"; fi; }
mkdir "$work/pg" && { [ "$(id -u)" != 0 ] || chown postgres "$work/pg"; }
(umask 077 && printf '%s' "$password" >"$work/pg/password") && { [ "$(id -u)" != 0 ] || chown postgres "$work/pg/password"; }
as_postgres "$programs/initdb" -D "$work/pg/db" -U scorer --pwfile "$work/pg/password" --auth scram-sha-256 -E UTF8 --locale C >/dev/null 2>&1
as_postgres "$programs/postgres" -D "$work/pg/db" -p "$port" -k "$work/pg" -c listen_addresses=127.0.0.1 -c fsync=off >"$work/pg.log" 2>&1 &
server=$!
sql() { PGPASSWORD=$password psql -q -h 127.0.0.1 -p "$port" -U scorer -d postgres -v ON_ERROR_STOP=1 -At "$@"; }
until_true 60 sql -c 'SELECT 1' >/dev/null || { tail -5 "$work/pg.log"; exit 1; }
python3 tests/e2e/formats/queries.py postgres "$rows" | sql >/dev/null
python3 tests/e2e/formats/queries.py wanted "$rows" all >"$work/wanted"
pg="Driver=PostgreSQL Unicode;Server=127.0.0.1;Port=$port;Database=postgres;Uid=scorer;Pwd=$password"
job "SELECT * FROM people ORDER BY id" "$pg" 64KB
fresh
check "PostgreSQL: every value, as UTF-8, numbers, booleans, decimals and days" same "$work/wanted"

# Killed while it scores, with other rows in the database since.
job "SELECT * FROM people ORDER BY id" "$pg" 1MB 0.2
discard "$work/data/out" "$work/state"
timeout 600 "$windlass" run -f "$work/job.yaml" --state "$work/state" --secrets "$work/secrets" >"$work/log" 2>&1 </dev/null &
one=$!
begun() { cat "$work"/data/out/.windlass/*/commit/* 2>/dev/null | grep -q '^\["d"'; }
until_true_while $one 60 begun
coordinator=$(grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ 2>/dev/null | xargs -r grep -ls WINDLASS_BIND= | head -n 1 | cut -d/ -f3)
check "the password is not in the coordinator's environment, nor among its arguments" eval '[ -n "$coordinator" ] && ! grep -q "$password" "/proc/$coordinator/environ" "/proc/$coordinator/cmdline"'
sql -c "DELETE FROM people WHERE id % 2 = 0; UPDATE people SET name = 'changed'"
kill -9 "$coordinator"
wait $one
code=$?
cat "$work"/state/*.log "$work/log" >>"$work/all"
check "another coordinator goes on with the same rows" eval '[ $code -eq 0 ] && same "$work/wanted"'
fresh
check "a new run sees the new ones" [ "$code $(jq -r .whole.name "$work/data/out/rows.jsonl" | sort -u)" = "0 changed" ]

# Many rows.
job "SELECT g AS id, g / 3.0::float8 AS share, 'row ' || g AS name FROM generate_series(1, $large) AS g" "$pg" 16MB
sed -i 's/{path: data\/out, .*/{path: data\/out, mode: SummaryOnly}/; s/queries.py, echo, "0"/count.py/' "$work/job.yaml"
cat >"$work/code/count.py" <<'P'
import windlass
windlass.serve(lambda rows: [0 for _ in rows])
P
discard "$work/data/out" "$work/state"
timeout 3000 "$windlass" run -f "$work/job.yaml" --state "$work/state" --secrets "$work/secrets" >"$work/log" 2>&1 </dev/null &
one=$! coordinator='' peak=0
while kill -0 $one 2>/dev/null; do
    [ -n "$coordinator" ] || coordinator=$(grep -lsF "WINDLASS_TERMINATION_LOG=$work" /proc/[0-9]*/environ 2>/dev/null | xargs -r grep -ls WINDLASS_BIND= | head -n 1)
    value=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "${coordinator%environ}status" 2>/dev/null)
    peak=${value:-$peak}
    sleep 0.1
done
wait $one
code=$?
cat "$work"/state/*.log "$work/log" >>"$work/all"
grep -h "the rows of spec.input.table.query" "$work"/state/*.log | head -1 | sed 's/^/# /'
check "$large rows: all are scored" [ "$code $(jq .items.done "$work/data/out/summary.json")" = "0 $large" ]
check "... and the coordinator stays below 300 MB ($peak KiB)" [ "$peak" -gt 0 -a "$peak" -lt 300000 ]

job "SELECT 1 AS one" "${pg/$password/wrong}" 64KB
fresh
check "a wrong password is named" eval '[ $code -ne 0 ] && says "spec.input.table.query: .*authentication failed"'
check "the password is in no log and in no file of the runs" eval '! grep -rq "$password" "$work/all" "$work/data" "$work/state"'
exit $((failures > 0))
