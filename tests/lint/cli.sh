#!/usr/bin/env bash
# docs/cli.md is what the programs' --help prints, and so are the manual pages, which groff reads without a complaint.
cd "$(dirname "$0")/../.." || exit 3
BUILD=${BUILD:-build}
export BUILD
programs=("$BUILD/windlass" "$BUILD/windlass-agent" "$BUILD/windlass-shim" "$BUILD/windlass-trainer")
make -s "${programs[@]}" || { echo "not ok cli: the programs cannot be built"; exit 1; }
if images/make-cli.sh | cmp -s - docs/cli.md; then
    echo "ok cli"
else
    echo "not ok docs/cli.md is not current: run make cli"
    exit 1
fi
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
images/man.sh "$BUILD" "$pages" || exit 1
said=$(command -v groff >/dev/null && groff -man -Tutf8 -ww -z "$pages"/*.1 2>&1)
text=$(command -v groff >/dev/null && groff -man -Tutf8 -P-c -P-b -P-u "$pages/windlass-run.1" 2>/dev/null)
if [ -n "$said" ] || [ "$(find "$pages" -name '*.1' -size +0 | wc -l)" -lt 25 ] ||
    { [ -n "$text" ] && ! grep -q -- '-f, --file FILE' <<<"$text"; }; then
    echo "not ok manual pages: ${said:-one is missing or empty}"
    exit 1
fi
echo "ok manual pages"
