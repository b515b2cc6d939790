#!/usr/bin/env bash
# A table that is indexed by an enum has a row for each of its values: see tables.py.
exec python3 -B "$(dirname "$0")/tables.py" "$@"
