#!/usr/bin/env bash
# python-image.sh: Debian 12's Python of packages, under the name that examples/command gives: for a cluster that
# reaches no registry. There is nothing of ours in it. Prints where its archive lies, which is made once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
name=docker.io/library/python:3.11-slim-bookworm
archive=$cache/images/python.tar
if [ ! -f "$archive" ]; then
    need_packages mmdebstrap buildah
    work=$(mktemp -d -p "$cache/images")
    trap 'rm -rf "$work"' EXIT
    # shellcheck disable=SC2016 # the format's variables are apt's
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        sort -u >"$work/sources"
    say "making an image of Debian's Python"
    mmdebstrap --variant=essential --include=python3 bookworm "$work/root.tar" - <"$work/sources" >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" >&2; fail "mmdebstrap failed"; }
    b() { STORAGE_DRIVER=vfs buildah --root "$work/storage" --runroot "$work/run" "$@"; }
    container=$(b from scratch)
    b add -q "$container" "$work/root.tar" / >/dev/null
    b commit -q --rm "$container" "$name" >/dev/null
    b push -q "$name" "docker-archive:$work/python.tar:$name"
    mv "$work/python.tar" "$archive"
fi
echo "$archive"
