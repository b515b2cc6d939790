#!/usr/bin/env bash
# Error messages say what is wrong and what is expected: see messages.py.
exec python3 -B "$(dirname "$0")/messages.py" "$@"
