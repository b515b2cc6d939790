#!/usr/bin/env bash
# The lines that the faults of tests/mutants/ replace are in the sources, each once, and their tests exist.
cd "$(dirname "$0")/../.." || exit 3
exec python3 tests/mutants/run.py --check
