#!/usr/bin/env bash
# `make release`: all that a release consists of, in build/release/VERSION. The same commit gives the same bytes, in any
# folder, on any machine with the packages of images/packages.lock (Debian 12).
#   release.sh make [PART...]    PART: programs, chart, images (default: all three)
#   release.sh publish [PART...] pushes images and signatures, and the chart, to $REGISTRY (skopeo login and helm registry
#                                login first). PART: images, chart (default: both)
# KEY       the key that signs (images/release/sign.sh key); without it nothing is signed
# REGISTRY  the registry that the images will be in, which the signatures name (default localhost)
# DOWNLOADS the address that the files of this folder will have; without it there is no krew.yaml, which names it
# PLAIN_HTTP=1  the registry has no TLS: for a test
# IMAGES    which images (default: operator agent trainer)
# PROGRAMS  which programs (default: windlass windlass-agent windlass-shim windlass-trainer)
# LOCK=     (empty) builds images of any packages that the mirror has; the release cannot be repeated then
# docs/operate/releasing.md has the whole way.
set -euo pipefail
[ -z "${KEY:-}" ] || KEY=$(realpath "$KEY")
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root"
version=$(sed -n 's/^#define WINDLASS_VERSION "\(.*\)"/\1/p' lib/base.h)
arch=$(dpkg --print-architecture)
to=$root/build/release/$version
registry=${REGISTRY:-localhost}
read -ra images <<<"${IMAGES:-operator agent trainer}"
read -ra programs <<<"${PROGRAMS:-windlass windlass-agent windlass-shim windlass-trainer}"
export LC_ALL=C TZ=UTC LOCK=${LOCK-required}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}

fail() { echo "release.sh: $1" >&2; exit 3; }
say() { printf '%4ds %s\n' "$SECONDS" "$*" >&2; }
# A tar of a folder's content that depends on names, bytes and modes alone.
pack() { # FOLDER NAME... : to stdout
    local folder=$1
    shift
    tar --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode='go+u,go-w' \
        -C "$folder" -cf - "$@"
}

# No debug information, and so no folder of this machine; objects of their own, since other flags made the others.
make_programs() {
    local name folder=windlass-$version-linux-$arch work=$root/build/release/programs targets=()
    for name in "${programs[@]}"; do targets+=("${name#windlass-}"); done
    say "compiling ${programs[*]}"
    make --no-print-directory CUDA=0 BUILD=build/release/objects CFLAGS=-O2 "${targets[@]}" >"$to.log" 2>&1 ||
        { tail -20 "$to.log" >&2; fail "the programs cannot be compiled: $to.log"; }
    rm -rf "$work"
    mkdir -p "$work/$folder/bin"
    for name in "${programs[@]}"; do
        strip --strip-all --remove-section=.comment -o "$work/$folder/bin/$name" "build/release/objects/$name"
        bill_of_program "$name" "$work/$folder/bin/$name" >"$to/$name-$arch.spdx.json"
    done
    [ ! -e "$work/$folder/bin/windlass" ] || ln -s windlass "$work/$folder/bin/kubectl-windlass"
    cp LICENSE SECURITY.md "$work/$folder/"
    pack "$work" "$folder" | gzip -n9 >"$to/$folder.tar.gz"
    [ ! -e "$work/$folder/bin/windlass" ] || make_package "$work/$folder"
    [ -z "${DOWNLOADS:-}" ] || make_krew "$folder"
}
# A package for Debian 12 of windlass and what `windlass run` starts. It depends on the packages of the libraries that these
# programs load.
make_package() { # FOLDER OF THE PROGRAMS
    local root=$work/package library files=() programs=("$1"/bin/windlass*) depends
    rm -rf "$root"
    mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/share/doc/windlass"
    cp -P "${programs[@]}" "$root/usr/bin/"
    cp LICENSE "$root/usr/share/doc/windlass/copyright"
    ln -s windlass "$root/usr/bin/kubectl-windlass"
    images/man.sh "$root/usr/bin" "$root/usr/share/man/man1"
    gzip -n9 "$root"/usr/share/man/man1/*
    # A file has up to three names (/usr is merged), and dpkg knows one of them.
    for library in $(images/libraries.sh "${programs[@]}" | sort -u); do files+=("$library" "${library#/usr}" "$(realpath "$library")"); done
    depends=$({ dpkg-query -S "${files[@]}" 2>/dev/null || true; } | cut -d: -f1 | sort -u | paste -sd, | sed 's/,/, /g')
    cat >"$root/DEBIAN/control" <<CONTROL
Package: windlass
Version: $version
Architecture: $arch
Maintainer: The Windlass authors <windlass@localhost>
Section: science
Priority: optional
Depends: $depends
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)
Description: deep-learning batch jobs on Kubernetes or on this machine
 BatchScore puts frames, files, rows or texts through an ONNX network or a program, DistTrain trains in several workers,
 Sweep tries many settings. The same manifest runs here (windlass run) and on a cluster (kubectl apply).
CONTROL
    chmod -R go+rX,go-w "$root"
    find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zgzip -z9 --build "$root" "$to/windlass_${version}_$arch.deb" >/dev/null
}
# For `kubectl krew install --manifest=krew.yaml`.
make_krew() { # FOLDER IN THE TARBALL
    cat >"$to/krew.yaml" <<KREW
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: windlass
spec:
  version: v$version
  shortDescription: Deep-learning batch jobs, their state, logs and results
  description: |
    Checks, explains and runs manifests of BatchScore, DistTrain and Sweep, and shows the jobs of a cluster.
  platforms:
    - selector:
        matchLabels: {os: linux, arch: $arch}
      uri: $DOWNLOADS/$1.tar.gz
      sha256: $(sha256sum <"$to/$1.tar.gz" | cut -d' ' -f1)
      bin: windlass
      files:
        - {from: $1/bin/*, to: .}
        - {from: $1/LICENSE, to: .}
KREW
}
bill_of_program() { # NAME FILE
    local archives=()
    [ "$1" != windlass-shim ] || mapfile -t archives < <(make -s CUDA=0 shim-archives)
    python3 "$here/sbom.py" program "$1" "$version" "$2" "${archives[@]}"
}
# As `helm package` makes it, but with sorted names and one time; and its images come from the registry of the release, so that
# `helm install windlass oci://REGISTRY/windlass` needs no value.
make_chart() {
    local work=$root/build/release/chart name
    rm -rf "$work"
    mkdir -p "$work"
    cp -r charts/windlass "$work/windlass"
    [ "$registry" = localhost ] || sed -i "s#^  registry: \"\"#  registry: \"$registry\"#" "$work/windlass/values.yaml"
    name=$(sed -n 's/^version: *//p' charts/windlass/Chart.yaml)
    pack "$work" windlass | gzip -n9 >"$to/windlass-chart-$name.tgz"
}
make_images() {
    local name layout
    BASE=packages REGISTRY=$registry "$root/images/build.sh" layout "$root/build/release/layouts" "${images[@]}"
    for name in "${images[@]}"; do
        layout=$root/build/release/layouts/windlass-$name
        pack "$layout" . >"$to/windlass-$name-$arch.oci.tar"
        python3 "$here/sbom.py" image "windlass-$name" "$version" "$layout" >"$to/windlass-$name-$arch.image.spdx.json"
        [ -z "${KEY:-}" ] ||
            "$here/sign.sh" image "$KEY" "$layout" "$registry/windlass-$name" "$root/build/release/signatures/windlass-$name"
    done
}
# Who made what of which commit, and with which packages. Its subjects are the files that are there already.
make_provenance() {
    local made=$root/build/release/provenance.json settings=(REGISTRY="$registry" LOCK="$LOCK")
    [[ " $* " != *" programs "* ]] || settings+=(PROGRAMS="${programs[*]}")
    [[ " $* " != *" images "* ]] || settings+=(IMAGES="${images[*]}")
    "$here/provenance.py" statement "$version" "$to" "$root/build/release/layouts" RELEASE="$*" "${settings[@]}" >"$made"
    mv "$made" "$to/provenance.json"
}
publish_chart() {
    local chart
    command -v helm >/dev/null || fail "helm is missing: https://helm.sh/docs/intro/install"
    chart=$(find "$to" -name 'windlass-chart-*.tgz')
    [ -n "$chart" ] || fail "the chart is not built: make release"
    tar -xzOf "$chart" windlass/values.yaml | grep -xF "  registry: \"$registry\"" >/dev/null ||
        fail "the chart was made for another registry: make release REGISTRY=$registry"
    say "pushing oci://$registry/windlass:$version"
    helm push ${PLAIN_HTTP:+--plain-http} "$chart" "oci://$registry" >&2
}
publish_images() {
    local name layout signature image
    command -v skopeo >/dev/null || fail "skopeo is missing: apt-get install skopeo"
    for name in "${images[@]}"; do
        layout=$root/build/release/layouts/windlass-$name signature=$root/build/release/signatures/windlass-$name
        [ -e "$layout/index.json" ] || fail "windlass-$name is not built: make release"
        say "pushing $registry/windlass-$name:$version"
        skopeo copy -q --preserve-digests "oci:$layout:$version" "docker://$registry/windlass-$name:$version"
        [ -e "$signature/index.json" ] || continue
        image=$(jq -r '.manifests[0].digest' "$layout/index.json")
        skopeo copy -q --preserve-digests "oci:$signature:${image/:/-}.sig" "docker://$registry/windlass-$name:${image/:/-}.sig"
    done
}

what=${1:?make or publish}
shift
[ $# -gt 0 ] || set -- programs chart images
case $what in
make)
    rm -rf "$to"
    mkdir -p "$to"
    for part in "$@"; do
        case $part in
        programs | chart | images) "make_$part" ;;
        *) fail "'$part' is none of programs, chart, images" ;;
        esac
    done
    make_provenance "$@"
    (cd "$to" && sha256sum -- * >SHA256SUMS)
    if [ -n "${KEY:-}" ]; then
        "$here/sign.sh" file "$KEY" "$to"/*
        "$here/sign.sh" statement "$KEY" "$to/provenance.json" >"$to/provenance.intoto.jsonl"
    fi
    say "the release is in ${to#"$root/"}: $(find "$to" -type f | wc -l) files"
    ;;
publish)
    [ "$registry" != localhost ] || fail "where to? make publish REGISTRY=registry.example.com/team"
    [[ " $* " != *" programs "* ]] || set -- images chart # the default of `make`
    for part in "$@"; do
        case $part in
        chart | images) "publish_$part" ;;
        *) fail "'$part' is neither images nor chart" ;;
        esac
    done
    ;;
*) fail "'$what' is neither make nor publish" ;;
esac
