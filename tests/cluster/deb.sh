#!/usr/bin/env bash
# deb.sh PACKAGE: unpacks that Debian package (without what it depends on; nothing is installed), once per machine. Prints the
# folder, ${XDG_CACHE_HOME:-~/.cache}/windlass/deb/PACKAGE/root. Exit code 3: it could not be fetched.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
package=${1:?a package}
folder=$cache/deb/$package

mkdir -p "$cache/deb"
exec 9>"$cache/deb/$package.lock"
flock 9
if [ -e "$folder/complete" ]; then echo "$folder/root"; exit 0; fi
rm -rf "$folder"
mkdir -p "$folder"
say "fetching $package"
cd "$folder"
# (Lists of packages may be missing, or name versions that the mirror has no more.)
download() { apt-get -o APT::Sandbox::User=root download -qq "$package" >>apt.log 2>&1; }
{ download || { apt-get update -qq >>apt.log 2>&1 && download; }; } && dpkg-deb -x "$package"_*.deb root ||
    { cat apt.log >&2; fail "Debian's $package could not be fetched"; }
rm "$package"_*.deb
touch complete
echo "$folder/root"
