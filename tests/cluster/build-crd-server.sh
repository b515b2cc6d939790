#!/usr/bin/env bash
# Builds apiextensions-apiserver, the half of kube-apiserver that serves custom resources (schemas,
# defaults, CEL), from the Go sources in Debian sid. 4 to 6 minutes on 2 cores, once: the program is
# kept in ${XDG_CACHE_HOME:-~/.cache}/windlass/crd-server, and its path is printed. apt's own state is
# left alone: lists, archives and unpacked sources are in a folder that is removed after the build.
# To build anew: remove that folder.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/crd-server
program=$cache/apiextensions-apiserver
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ -x "$program" ] && [ -s "$cache/stamp" ]; then
    echo "$program"
    exit 0
fi

echo "build-crd-server.sh: the API server for custom resources is built, once: this takes about 5 minutes" >&2
work=$cache/work
log=$cache/build.log
fail() { echo "build-crd-server.sh: $1; see $log" >&2; exit 3; }
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,archives/partial,root}
: >"$work/status"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
    grep -v security | head -1)
echo "deb [signed-by=$keyring] ${mirror:-http://deb.debian.org/debian} sid main" >"$work/sources.list"
options=(-o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/lists" -o "Dir::State::status=$work/status"
    -o "Dir::Cache::archives=$work/archives" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache="
    -o APT::Sandbox::User= -o Debug::NoLocking=1 -o APT::Get::List-Cleanup=0)
apt-get "${options[@]}" update >"$log" 2>&1 || fail "the package lists of Debian sid cannot be read"
go=$(apt-cache "${options[@]}" search --names-only '^golang-1[.][0-9]+-go$' | cut -d' ' -f1 | sort -V | tail -1)
package=golang-k8s-apiextensions-apiserver-dev
version=$(apt-cache "${options[@]}" show --no-all-versions $package | sed -n 's/^Version: //p')
[ -n "$go" ] && [ -n "$version" ] || fail "Debian sid has no $package or no Go"
apt-get "${options[@]}" install -y --download-only --no-install-recommends \
    $package "$go" "${go%-go}-src" >>"$log" 2>&1 || fail "the Go packages cannot be fetched"
for file in "$work"/archives/golang-*.deb; do
    dpkg -x "$file" "$work/root" >>"$log" 2>&1 || fail "cannot unpack $file"
    rm -f "$file"
done
export GOROOT=$work/root/usr/lib/${go%-go} GOPATH=$work/root/usr/share/gocode GO111MODULE=off
GOROOT=${GOROOT/golang-/go-}
export GOTOOLCHAIN=local CGO_ENABLED=0 GOCACHE=$work/gocache GOTMPDIR=$work GOFLAGS=-trimpath
(cd "$GOPATH/src/k8s.io/apiextensions-apiserver" &&
    "$GOROOT/bin/go" build -ldflags '-s -w' -o "$program.new" k8s.io/apiextensions-apiserver) \
    >>"$log" 2>&1 || fail "the build failed"
mv "$program.new" "$program"
echo "$package $version, $go" >"$cache/stamp"
echo "$program"
