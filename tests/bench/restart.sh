#!/usr/bin/env bash
# How long a restarted coordinator reads the commits of its run (tests/bench/restart.c): on a disk, on Azurite,
# and on Azurite behind a proxy that waits for 10 ms before each answer, like a remote storage.
#   BENCH_COMMITS="2000 20000"
set -eu
cd "$(dirname "$0")/../.."
make -s CC="${CC:-gcc}" build/tests/bench/restart
work=$(mktemp -d)
azurite=$work/azurite
proxy=
trap '[ -z "$proxy" ] || kill $proxy; tests/azurite/start.sh stop "$azurite"; rm -rf "$work"' EXIT
read -ra counts <<<"${BENCH_COMMITS:-2000 20000}"
mkdir "$work/disk"
echo "a disk"
disk=$work/disk build/tests/bench/restart disk/restart "${counts[@]}"
while read -r line; do export "${line?}"; done < <(AZURITE_KEEPS=yes tests/azurite/start.sh start "$azurite" $$)
echo "Azurite"
build/tests/bench/restart az://films/tests/restart "${counts[@]}"
mkdir -p "$azurite/proxy"
python3 tests/proxy/proxy.py "$azurite/proxy" "$(cat "$azurite/port")" "$azurite/ca.crt" "$azurite/server.crt" \
    "$azurite/server.key" "$azurite/server.crt" "$azurite/server.key" &
proxy=$!
for _ in $(seq 100); do [ -s "$azurite/proxy/port" ] && break; sleep 0.1; done
echo '[{"method": "GET", "stallSeconds": 0.01}]' >"$azurite/proxy/faults"
echo "Azurite, 10 ms away"
WINDLASS_BLOB_ENDPOINT=https://127.0.0.1:$(cat "$azurite/proxy/port")/ACCOUNT build/tests/bench/restart az://results/tests/restart 2000
