#!/usr/bin/env bash
# What a lease and a result cost on the wire (tests/bench/messages.c): microseconds a row.
cd "$(dirname "$0")/../.." || exit 3
set -e
make --no-print-directory build/tests/bench/messages
build/tests/bench/messages
