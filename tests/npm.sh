#!/usr/bin/env bash
# npm.sh PACKAGE VERSION: gets that package from npm, once per machine, in
# ${XDG_CACHE_HOME:-~/.cache}/windlass/PACKAGE-VERSION, whose path is printed. Exit code 3: it could not be fetched,
# within ten minutes (a busy machine needs more than three).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cluster/lib.sh"
package=${1:?a package} version=${2:?a version}
name=${package//\//-} # "@scope/name"
folder=$cache/$name-$version

mkdir -p "$cache"
exec 9>"$cache/npm-$name.lock"
flock 9
if [ -e "$folder/complete" ]; then echo "$folder"; exit 0; fi
command -v node >/dev/null || need_packages nodejs
command -v npm >/dev/null || need_packages npm
rm -rf "$folder"
mkdir -p "$folder"
say "fetching $package $version"
# npm trusts only its own list of certificates; this adds those of this machine, such as a company's proxy.
bundle=/etc/ssl/certs/ca-certificates.crt
[ -n "${NODE_EXTRA_CA_CERTS:-}" ] || [ ! -e $bundle ] || export NODE_EXTRA_CA_CERTS=$bundle
cd "$folder"
timeout -k 5 600 npm install --silent --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 --no-audit --no-fund \
    --ignore-scripts --omit=optional --prefix "$folder" "$package@$version" >&2 9>&- || fail "npm could not fetch $package $version"
touch "$folder/complete"
echo "$folder"
