#!/usr/bin/env bash
# Lines, columns, length of functions, parameters and nesting: see sizes.py.
exec python3 -B "$(dirname "$0")/sizes.py" "$@"
