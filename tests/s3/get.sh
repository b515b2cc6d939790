#!/usr/bin/env bash
# Ceph's monitor, storage daemon and object gateway, Debian's packages unpacked into
# ${XDG_CACHE_HOME:-~/.cache}/windlass/ceph, once per machine; what else they need of Debian is installed or unpacked with
# them. Prints the folder. Exit code 3: they could not be fetched.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../cluster/lib.sh"
root=$cache/ceph
mkdir -p "$cache"
exec 9>"$cache/ceph.lock"
flock 9
if [ -e "$root/complete" ]; then echo "$root"; exit 0; fi
say "fetching Ceph"
rm -rf "$root"
mkdir -p "$root/archives/partial"
cd "$root"
# Only fetched: nothing is installed or configured, so no daemon starts.
apt-get -q -o APT::Sandbox::User=root -o "Dir::Cache::archives=$root/archives" -o Debug::NoLocking=1 install -y \
    --download-only --no-install-recommends radosgw ceph-mon ceph-osd >log 2>&1 9>&- || fail "apt-get cannot fetch Ceph; see $root/log"
for package in archives/*.deb; do dpkg-deb -x "$package" .; done
rm -rf archives
for program in ceph-mon ceph-osd radosgw radosgw-admin monmaptool; do
    [ -x "usr/bin/$program" ] || fail "the packages have no $program"
done
touch complete
echo "$root"
