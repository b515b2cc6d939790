#!/usr/bin/env bash
# What format.sh and tidy.sh remember hides nothing: both run in a small tree of their own, whose files change.
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{lib,images,tests/lint}
cp tests/lint/{format.sh,tidy.sh,tidy.py,source.py} "$tree/tests/lint/"
cp .clang-format .clang-tidy "$tree/"
cp images/deps.sh "$tree/images/"
git init -q "$tree"
printf 'tidy-sources:\n\t@echo lib/a.c\n' >"$tree/Makefile"
cache=$tree/cache
run() { XDG_CACHE_HOME=$cache "$tree/tests/lint/$1.sh" >"$tree/out" 2>&1; }
passes() { run "$1" && grep -qx "ok $1" "$tree/out"; }
refuses() { ! run "$1" && grep -q "^not ok .*${2:-}" "$tree/out"; }

check "no sources: format refuses" refuses format '0 of 0 sources'
printf '#include "lib/rows.inc"\n\nint one(void) {\n    return rows[0];\n}\n' >"$tree/lib/a.c"
printf '#include "lib/b.h"\n\nstatic const int rows[] = {1};\n' >"$tree/lib/rows.inc"
printf 'int one(void);\n' >"$tree/lib/b.h"
check "format passes" passes format
check "and from memory" passes format
printf 'int  two;\n' >"$tree/lib/c.c"
check "a new text is seen" refuses format 'lib/c.c'
check "and again" refuses format 'lib/c.c'
cache=/proc/none
check "also where nothing can be remembered" refuses format 'lib/c.c'
rm "$tree/lib/c.c"
check "where what is good passes" passes format
cache=$tree/cache
# A file's own header comes first: the same text in another file is not in order.
printf '#include "z.h"\n#include "b.h"\n' >"$tree/lib/z.c"
check "a text that is in order in one file" passes format
mv "$tree/lib/z.c" "$tree/lib/b.c"
check "is not in another" refuses format 'lib/b.c'
rm "$tree/lib/b.c"

check "tidy passes" passes tidy
printf 'int one(void)\n' >"$tree/lib/b.h"
check "a header of an included file of rows has changed" refuses tidy 'lib/'
printf 'int one(void);\n' >"$tree/lib/b.h"
check "and is as it was" passes tidy
printf '#include "lib/b.h"\n\nstatic const int rows[] = {no};\n' >"$tree/lib/rows.inc"
check "rows that are included have changed" refuses tidy 'lib/'
mv "$tree/lib/rows.inc" "$tree/lib/rows.others"
sed -i 's/rows.inc/rows.others/' "$tree/lib/a.c"
check "a file of an unknown suffix is not left out unseen" refuses tidy 'lib/rows.others is included'
exit $((failures > 0))
