#!/bin/sh
# compile.sh ARGUMENT...: make, in a Containerfile. images/build.sh mounts a cache of compiled objects (ccache) at /ccache
# if it has one: what another image, or the tree itself, has compiled alike is taken from there.
set -eu
if [ -e /ccache/build-locale ]; then
    # Messages of a compiler depend on the locale, and so does the cache.
    set -a
    . /ccache/build-locale
    set +a
    # The folder is named in debug information alone, which is stripped from the programs.
    export CCACHE_DIR=/ccache CCACHE_NOHASHDIR=1 PATH="/usr/lib/ccache:$PATH"
fi
make "$@"
rm -rf build/obj # only the programs are wanted, and a layer is hashed
