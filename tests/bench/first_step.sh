#!/usr/bin/env bash
# From `kubectl apply` of examples/fashion-mnist to the first step that its four workers take together, on the one-node
# cluster (tests/cluster/up.sh), and which part took how long, as in first_worker.sh.
#   ROUNDS=10
# Needs root. One cluster per machine: this script starts it and ends it.
set -eu
cd "$(dirname "$0")/../.."
export AUDIT=yes
. tests/cluster/own.sh
install_chart || exit 3
examples/fashion-mnist/fetch.sh
tests/cluster/volume.sh fashion-mnist examples/fashion-mnist/data >/dev/null
launch events "${ctr[@]}" events
PYTHONDONTWRITEBYTECODE=1 python3 tests/bench/first_step.py "$folder" "${ROUNDS:-10}" build/bench/first_step.json
finish events
