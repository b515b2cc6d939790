#!/usr/bin/env bash
# docs/api.md is what `windlass explain` prints, and no source has another default than the definitions.
cd "$(dirname "$0")/../.." || exit 3
program=${BUILD:-build}/windlass
make -s "$program" || { echo "not ok api: $program cannot be built"; exit 1; }
if "$program" explain | cmp -s - docs/api.md; then
    python3 -B tests/defaults.py && echo "ok api"
else
    echo "not ok docs/api.md is not current: run make api"
    exit 1
fi
