#!/usr/bin/env bash
# Open MPI 5 of Debian 13 in a folder of its own, once per machine: it needs another C library, so its programs are started
# by the loader that comes with it. Prints the folder: FOLDER/mpirun starts it, FOLDER/flags is what links a program with
# it. With the argument "there" it fetches nothing, and fails where it is not there yet. apt's own state is left alone.
set -euo pipefail
folder=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/openmpi5
mkdir -p "$folder"
exec 9>"$folder/lock"
flock 9
if [ -s "$folder/flags" ]; then echo "$folder"; exit 0; fi
[ "${1:-}" != there ] || exit 1
fail() { echo "openmpi5.sh: $1; see $folder/log" >&2; exit 3; }
work=$folder/work root=$folder/root
rm -rf "$work" "$root"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,archives/partial} "$root"
: >"$work/status"
# shellcheck disable=SC2016 # apt's own names
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | grep -v security | head -1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} trixie main" >"$work/sources.list"
options=(-o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/lists" -o "Dir::State::status=$work/status"
    -o "Dir::Cache::archives=$work/archives" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
    -o APT::Sandbox::User= -o Debug::NoLocking=1 -o APT::Get::List-Cleanup=0)
apt-get "${options[@]}" update >"$folder/log" 2>&1 || fail "the package lists of Debian 13 cannot be read"
apt-get "${options[@]}" install -y --download-only --no-install-recommends openmpi-bin >>"$folder/log" 2>&1 ||
    fail "the packages cannot be fetched"
for file in "$work"/archives/*.deb; do dpkg-deb -x "$file" "$root" >>"$folder/log" 2>&1 || fail "cannot unpack $file"; done
libraries=$root/usr/lib/x86_64-linux-gnu
paths=$libraries:$libraries/openmpi/lib:$libraries/pmix2/lib
cat >"$folder/mpirun" <<M
#!/bin/sh
export OPAL_PREFIX=$root/usr PMIX_PREFIX=$root/usr PRTE_PREFIX=$root/usr
exec $libraries/ld-linux-x86-64.so.2 --library-path $paths $root/usr/bin/prterun "\$@"
M
chmod +x "$folder/mpirun"
"$folder/mpirun" --version >>"$folder/log" 2>&1 || fail "it does not start"
echo "-Wl,--allow-shlib-undefined -Wl,--dynamic-linker=$libraries/ld-linux-x86-64.so.2 -Wl,--disable-new-dtags -Wl,-rpath=$paths" >"$folder/flags"
echo "$folder"
