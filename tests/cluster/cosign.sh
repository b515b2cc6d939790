#!/usr/bin/env bash
# Prints the command that runs Debian 13's cosign, which verifies what images/release/sign.sh signed: a second
# implementation. Debian 12 has none, so it is unpacked, once, into ${XDG_CACHE_HOME:-~/.cache}/windlass/cosign with the C
# library that it wants. apt's own state is left alone.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/cosign
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
run=$cache/cosign
if [ -x "$run" ]; then
    echo "$run"
    exit 0
fi
work=$cache/work
fail() { echo "cosign.sh: $1; see $cache/log" >&2; exit 3; }
rm -rf "$work" "$cache/root"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,archives/partial} "$cache/root"
: >"$work/status"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# shellcheck disable=SC2016 # the format's variables are apt's
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
    grep -v security | head -1)
echo "deb [signed-by=$keyring] ${mirror:-http://deb.debian.org/debian} trixie main" >"$work/sources.list"
options=(-o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/lists" -o "Dir::State::status=$work/status"
    -o "Dir::Cache::archives=$work/archives" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
    -o APT::Sandbox::User= -o Debug::NoLocking=1 -o APT::Get::List-Cleanup=0)
apt-get "${options[@]}" update >"$cache/log" 2>&1 || fail "the package lists of Debian 13 cannot be read"
apt-get "${options[@]}" install -y --download-only --no-install-recommends cosign >>"$cache/log" 2>&1 ||
    fail "cosign cannot be fetched"
for file in "$work"/archives/*.deb; do
    dpkg -x "$file" "$cache/root" >>"$cache/log" 2>&1 || fail "cannot unpack $file"
done
loader=$(find "$cache/root" -name 'ld-linux-*.so.*' | head -1)
libraries=$(find "$cache/root" -name 'libc.so.6' -printf '%h' -quit)
printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "$loader" "$libraries" "$cache/root/usr/bin/cosign" >"$run.new"
chmod 755 "$run.new"
"$run.new" version >>"$cache/log" 2>&1 || fail "cosign does not run"
mv "$run.new" "$run"
echo "$run"
