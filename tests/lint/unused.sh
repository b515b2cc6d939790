#!/usr/bin/env bash
# Every external function is used: see unused.py.
exec python3 -B "$(dirname "$0")/unused.py" "$@"
