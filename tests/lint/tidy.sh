#!/usr/bin/env bash
# clang-tidy finds nothing: see .clang-tidy for what it checks, tidy.py for what it remembers.
exec python3 -B "$(dirname "$0")/tidy.py" "$@"
