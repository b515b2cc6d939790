#!/usr/bin/env bash
# At most 40 files in a folder, and a README.md that names its modules: see folders.py.
exec python3 -B "$(dirname "$0")/folders.py" "$@"
