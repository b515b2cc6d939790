#!/usr/bin/env bash
# Azurite, Microsoft's stand-in for Azure Storage, from npm, once per machine (tests/npm.sh). Prints the script of its blob
# service, for node.
set -euo pipefail
folder=$("$(dirname "$0")/../npm.sh" azurite 3.35.0)
main=$folder/node_modules/azurite/dist/src/blob/main.js
[ -e "$main" ] || { echo "get.sh: $folder has no $main" >&2; exit 3; }
echo "$main"
