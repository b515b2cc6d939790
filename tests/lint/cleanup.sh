#!/usr/bin/env bash
# Every variable of AUTO has a value before its scope can be left: see cleanup.py.
exec python3 -B "$(dirname "$0")/cleanup.py" "$@"
