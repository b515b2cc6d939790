#!/usr/bin/env bash
# tarball.sh PACKAGE VERSION SHA256: gets the files of that npm package, without what it depends on, once per machine. Prints
# their folder, ${XDG_CACHE_HOME:-~/.cache}/windlass/tarballs/SHA256/package. Exit code 3: they could not be fetched, within
# three minutes, or are others.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cluster/lib.sh"
package=${1:?a package} version=${2:?a version} digest=${3:?a SHA-256}
folder=$cache/tarballs/$digest

mkdir -p "$cache/tarballs"
exec 9>"$cache/tarballs/$digest.lock"
flock 9
if [ -e "$folder/complete" ]; then echo "$folder/package"; exit 0; fi
rm -rf "$folder"
mkdir -p "$folder"
say "fetching $package $version"
registry=$(npm config get registry 2>/dev/null || echo https://registry.npmjs.org/)
curl -fsSL --retry 2 --max-time 180 -o "$folder/package.tgz" "${registry%/}/$package/-/${package##*/}-$version.tgz" ||
    fail "$package $version could not be fetched"
echo "$digest  $folder/package.tgz" | sha256sum -c --quiet >&2 || fail "$package $version has other bytes"
mkdir "$folder/package"
tar -xzf "$folder/package.tgz" -C "$folder/package" --strip-components=1
rm "$folder/package.tgz"
touch "$folder/complete"
echo "$folder/package"
