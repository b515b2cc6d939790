#!/usr/bin/env bash
# The cost of a lease and a result on the wire (tests/bench/messages.c): microseconds a row.
cd "$(dirname "$0")/../.." || exit 3
set -e
make --no-print-directory build/tests/bench/messages
build/tests/bench/messages
