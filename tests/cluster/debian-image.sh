#!/usr/bin/env bash
# debian-image.sh NAME[,NAME...] FILE PACKAGES: an image of Debian 12 with these packages (separated by commas) and none of
# our files, for a cluster without a registry. Prints the path of its archive FILE, which is made once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
names=${1:?a name} archive=$cache/images/${2:?a file} packages=${3:?packages}
if [ ! -f "$archive" ]; then
    need_packages mmdebstrap buildah jq
    mkdir -p "$cache/images"
    work=$(mktemp -d -p "$cache/images")
    trap 'rm -rf "$work"' EXIT
    # shellcheck disable=SC2016 # apt expands the format's variables
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        sort -u >"$work/sources"
    say "making an image of Debian's $packages"
    mmdebstrap --variant=essential --include="$packages" bookworm "$work/root.tar" - <"$work/sources" >"$work/log" 2>&1 ||
        { tail -n 20 "$work/log" >&2; fail "mmdebstrap failed"; }
    b() { STORAGE_DRIVER=vfs buildah --root "$work/storage" --runroot "$work/run" "$@"; }
    container=$(b from scratch)
    b add -q "$container" "$work/root.tar" / >/dev/null
    b commit -q --rm "$container" image >/dev/null
    b push -q image "docker-archive:$work/one.tar:image"
    mkdir "$work/image"
    tar -C "$work/image" -xf "$work/one.tar"
    jq --arg names "$names" '.[0].RepoTags = ($names / ",")' "$work/image/manifest.json" >"$work/manifest.json"
    mv -f "$work/manifest.json" "$work/image/manifest.json"
    tar -C "$work/image" -cf "$work/image.tar" .
    mv "$work/image.tar" "$archive"
fi
echo "$archive"
