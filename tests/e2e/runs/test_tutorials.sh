#!/usr/bin/env bash
# docs/tutorials: the lines with $ of each page, in their order, in a folder that looks like the top of the repository, and a line that
# each page is about. One page a day (or that of SOAK_SEED), in a soak all. TUTORIALS="mpi sweep": only these.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
root=$PWD build=$(realpath "${BUILD:-build}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/home
declare -A shows=(
    [embeddings]='^    [01]\.[0-9]+  [a-z0-9+.-]+: .*game'
    [film]='^cockatoo\.mp4$'
    [mpi]='^rank 3 of 4$'
    [photos]='"item":"broken\.jpg","cause":"[^"]*: has an unknown format'
    [sweep]='^    rates-[0-9]+ +Stopped +#'
    [table]='^P999,twelve$'
)
# The commands of a page, with what follows a line <<'END' up to its end.
commands_of() { # PAGE
    awk '
        inside { print substr($0, 5); if ($0 == "    END") inside = 0; next }
        /^    \$ / { print substr($0, 7); inside = /<<.END.$/ }' "$1"
}
[ "$(commands_of docs/tutorials/mpi.md | tail -n 1 | cut -c1-19)" = "build/windlass logs" ] || { echo "not ok the commands of a page"; exit 1; }
for page in docs/tutorials/*.md; do
    name=$(basename "$page" .md)
    [ "$name" != README ] || continue
    if [ -n "${TUTORIALS:-}" ]; then [[ " $TUTORIALS " == *" $name "* ]] || continue; else sampled 6 || continue; fi
    mkdir -p "$work/$name" && cd "$work/$name" || exit 3
    cp -r "$root/examples" . && ln -s "$build" build
    commands_of "$root/docs/tutorials/$name.md" >commands
    if grep -q fetch.sh commands && ! bash -c "$(grep -m1 fetch.sh commands)" >log 2>&1; then
        echo "skip tutorial $name: $(tail -n 1 log)"
        continue
    fi
    timeout 600 bash -e -o pipefail commands >log 2>&1 </dev/null
    code=$?
    check "tutorial $name runs as written" [ $code -eq 0 ]
    check "and shows ${shows[$name]:?}" grep -qE "${shows[$name]}" log
    [ "$name" != film ] || check "and leaves the full film's output free" [ ! -e examples/style-transfer/data/painted ]
    [ $code -eq 0 ] || tail -n 15 log | sed 's/^/# /'
    cd "$root" || exit 3
done
exit $((failures > 0))
