#!/usr/bin/env bash
# Azurite, Microsoft's stand-in for Azure Storage, from npm into ${XDG_CACHE_HOME:-~/.cache}/windlass/azurite-VERSION,
# once per machine. Prints the script of its blob service, for node.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../cluster/lib.sh"
version=3.35.0
folder=$cache/azurite-$version
main=$folder/node_modules/azurite/dist/src/blob/main.js

mkdir -p "$cache"
exec 9>"$cache/get-azurite.lock"
flock 9
if [ -e "$folder/complete" ]; then echo "$main"; exit 0; fi
command -v node >/dev/null || need_packages nodejs
command -v npm >/dev/null || need_packages npm
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
say "fetching azurite $version"
# npm trusts a list of its own alone; what this machine trusts, as a company's proxy, counts here, too.
bundle=/etc/ssl/certs/ca-certificates.crt
[ -n "${NODE_EXTRA_CA_CERTS:-}" ] || [ ! -e $bundle ] || export NODE_EXTRA_CA_CERTS=$bundle
npm install --silent --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 --no-audit --no-fund --ignore-scripts --omit=optional --prefix "$folder" "azurite@$version" >&2 ||
    fail "npm could not fetch azurite $version"
[ -e "$main" ] || fail "azurite $version has no $main"
touch "$folder/complete"
echo "$main"
