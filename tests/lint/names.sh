#!/usr/bin/env bash
# No public name or prefix belongs to two modules: see names.py.
exec python3 -B "$(dirname "$0")/names.py" "$@"
