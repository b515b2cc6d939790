#!/usr/bin/env bash
# docs/cli.md is what the programs' --help prints.
cd "$(dirname "$0")/../.." || exit 3
BUILD=${BUILD:-build}
export BUILD
programs=("$BUILD/windlass" "$BUILD/windlass-agent" "$BUILD/windlass-shim" "$BUILD/windlass-trainer")
make -s "${programs[@]}" || { echo "not ok cli: the programs cannot be built"; exit 1; }
if docs/make-cli.sh | cmp -s - docs/cli.md; then
    echo "ok cli"
else
    echo "not ok docs/cli.md is not current: run make cli"
    exit 1
fi
