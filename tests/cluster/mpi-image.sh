#!/usr/bin/env bash
# mpi-image.sh: Debian 12's Python, mpi4py and Open MPI of packages, as registry.test/mpi:1: what a user trains with, for a
# cluster that reaches no registry. There is nothing of ours in it, and no server that could be asked to start a program.
# Prints where its archive lies, which is made once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
name=registry.test/mpi:1
archive=$cache/images/mpi.tar
if [ ! -f "$archive" ]; then
    need_packages mmdebstrap buildah
    mkdir -p "$cache/images"
    work=$(mktemp -d -p "$cache/images")
    trap 'rm -rf "$work"' EXIT
    # shellcheck disable=SC2016 # the format's variables are apt's
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        sort -u >"$work/sources"
    say "making an image of Debian's mpi4py"
    mmdebstrap --variant=essential --include=python3,python3-mpi4py,openmpi-bin bookworm "$work/root.tar" - <"$work/sources" >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" >&2; fail "mmdebstrap failed"; }
    b() { STORAGE_DRIVER=vfs buildah --root "$work/storage" --runroot "$work/run" "$@"; }
    container=$(b from scratch)
    b add -q "$container" "$work/root.tar" / >/dev/null
    b commit -q --rm "$container" "$name" >/dev/null
    b push -q "$name" "docker-archive:$work/mpi.tar:$name"
    mv "$work/mpi.tar" "$archive"
fi
echo "$archive"
