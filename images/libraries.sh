#!/bin/sh
# libraries.sh PROGRAM...: prints the files of the shared libraries that these programs load, one a line, some of them more
# than once: those that they are linked with, and those that they open at their first use (SHARED_LIBRARY_NOTE in
# lib/library/shared_library.h), with all that both need. None for a static program. A PROGRAM may be a library's name
# (librt.so.1): then its file, and what it needs.
set -eu
for program in "$@"; do
    case $program in
    lib*.so.*) opened=$program program=/bin/true ;;
    *) opened=$(readelf -p .note.dlopen "$program" 2>/dev/null | sed -n 's/.*"soname":\["\([^"]*\)"\].*/\1/p' | paste -sd: -) ;;
    esac
    found=$(LD_PRELOAD=$opened ldd "$program" 2>&1 || true)
    ! printf '%s\n' "$found" | grep -E 'not found|cannot be preloaded' >&2 || { echo "libraries.sh: $program needs what is not here" >&2; exit 1; }
    printf '%s\n' "$found" | sed -n 's/^\t\(.* => \)\{0,1\}\(\/[^ ]*\) (0x.*/\2/p'
done
