#!/usr/bin/env bash
# No circles of includes or of calls between the modules of a folder: see circles.py.
exec python3 -B "$(dirname "$0")/circles.py" "$@"
