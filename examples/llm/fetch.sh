#!/usr/bin/env bash
# Fetches llama-server from Debian sid (package llama.cpp, 19 MB with all that it needs) into a folder of its own, since it
# wants sid's C library, and makes the model and the texts: fetch.sh [FOLDER]   (default: data, beside this script)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/data}
root=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/llama
libraries=$root/usr/lib/x86_64-linux-gnu
fail() { echo "fetch.sh: $1" >&2; exit 3; }
fetch() {
    local work=$root.work archive options
    rm -rf "$work"
    mkdir -p "$work"/{lists/partial,archives/partial,root}
    : >"$work/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${MIRROR:-http://deb.debian.org/debian} sid main" >"$work/sources.list"
    options=(-o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$work/lists" -o "Dir::State::status=$work/status" -o "Dir::Cache::archives=$work/archives"
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User= -o Debug::NoLocking=1)
    apt-get "${options[@]}" update -qq || fail "the package lists of Debian sid cannot be read"
    apt-get "${options[@]}" install -qq -y --download-only --no-install-recommends llama.cpp >/dev/null ||
        fail "Debian sid's llama.cpp cannot be fetched"
    for archive in "$work"/archives/*.deb; do dpkg-deb -x "$archive" "$work/root"; done
    mv "$work/root" "$root"
    rm -rf "$work"
}
mkdir -p "${root%/*}" "$folder/bin"
exec 9>"$root.lock"
flock 9
[ -d "$root" ] || fetch
flock -u 9
kind=sse42
! grep -qw avx2 /proc/cpuinfo || kind=haswell
cat >"$folder/bin/llama-server" <<S
#!/bin/sh
GGML_BACKEND_PATH=$libraries/ggml/backends0/libggml-cpu-$kind.so exec $libraries/ld-linux-x86-64.so.2 \\
    --library-path $libraries:$libraries/llama:$libraries/ggml/backends0 $root/usr/bin/llama-server "\$@"
S
chmod +x "$folder/bin/llama-server"
"$folder/bin/llama-server" --version >/dev/null 2>&1 || fail "Debian sid's llama-server does not start on this machine"
python3 "$here/make.py" "$folder"
