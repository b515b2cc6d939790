#!/usr/bin/env bash
# No pattern that reads translated, no long line in the docs: see english.py.
exec python3 -B "$(dirname "$0")/english.py" "$@"
