#!/usr/bin/env bash
# From `kubectl apply` to the first connected worker, on the one-node cluster (tests/cluster/up.sh), and which part took
# how long: the API server's audit log, containerd's events and the pods' logs say when each step was done.
#   ROUNDS=20
# Needs root. One cluster per machine: this script starts it and ends it.
set -eu
cd "$(dirname "$0")/../.."
export AUDIT=yes
. tests/cluster/own.sh
install_chart || exit 3
examples/style-transfer/fetch.sh
tests/cluster/volume.sh style-transfer examples/style-transfer/data >/dev/null
launch events "${ctr[@]}" events
PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/first_worker.py "$folder" "${ROUNDS:-20}" build/bench/first_worker.json
finish events
