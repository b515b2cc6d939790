#!/usr/bin/env bash
# No seven equal lines in two places: see duplicates.py.
exec python3 -B "$(dirname "$0")/duplicates.py" "$@"
