#!/usr/bin/env bash
# Builds Kubernetes 1.20 (kube-apiserver, kubelet and the rest) and fakedp from Debian 12's source package, of which
# Debian builds only the client from it. 8 to 11 minutes on 2 cores and 4.5 GB of disk, once: the programs are kept in
# ${XDG_CACHE_HOME:-~/.cache}/windlass/bin (440 MB), and that folder is printed. The machine's apt sources stay as
# they are. Two runs at once share one build. KEEP_SOURCE=1 keeps sources and objects.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
programs=(kube-apiserver kubelet kube-controller-manager kube-scheduler kube-proxy kubectl fakedp)
build=$cache/k8s-build
# Increase this number when the build changes: every machine then builds anew.
recipe="2 $(grep -Ev '^[[:space:]]*(//|$)' "$here/fakedp.go" | sha256sum | cut -c1-32)"

mkdir -p "$bin"
exec 9>"$cache/build-kubernetes.lock"
flock 9
built() {
    [ "$(cat "$bin/kubernetes.recipe" 2>/dev/null)" = "$recipe" ] || return 1
    for program in "${programs[@]}"; do [ -x "$bin/$program" ] || return 1; done
}
if built; then echo "$bin"; exit 0; fi
say "Kubernetes is built from Debian's sources, once: this takes about 10 minutes"

# gcc and libc6-dev are needed because the kubelet is linked with cgo.
need_packages golang-go gcc libc6-dev make dpkg-dev rsync jq
mkdir -p "$build"/apt/{lists/partial,cache/archives/partial}
log=$build/build.log
step() { "$@" >>"$log" 2>&1 || { tail -n 30 "$log" >&2; fail "failed: $1 $2 (the whole log: $log)"; }; }
: >"$log"

# Uses the mirror that this machine is configured for, as deb-src, with a separate sources file, lists and archives.
# shellcheck disable=SC2016 # apt expands the format's variables
apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u >"$build/apt/src.list"
apt=(apt-get -q -o APT::Sandbox::User=root)
own=("${apt[@]}" -o "Dir::Etc::SourceList=$build/apt/src.list" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$build/apt/lists" -o "Dir::Cache=$build/apt/cache")
cd "$build"
step "${own[@]}" update
step "${own[@]}" source --download-only --only-source kubernetes
step "${apt[@]}" download golang-github-modern-go-reflect2-dev
rm -rf k8s reflect2
step dpkg-source --no-check -x kubernetes_*.dsc k8s
step dpkg -x golang-github-modern-go-reflect2-dev_*.deb reflect2
say "unpacked $(basename kubernetes_*.dsc .dsc)"

# The vendored reflect2 is older than 1.0.2 and does not know the map iterator of Go 1.18 and newer: the API server
# dies at random when it writes JSON. Debian packages the fixed one.
vendored=k8s/vendor/github.com/modern-go/reflect2
rm -f $vendored/*.go $vendored/*.s
cp reflect2/usr/share/gocode/src/github.com/modern-go/reflect2/*.{go,s} $vendored/
[ -f $vendored/go_above_118.go ] || fail "Debian's reflect2 is older than 1.0.2: the API server would crash"
# The validators treat a string as absent if reflect.DeepEqual finds it equal to reflect.Zero; since Go 1.17 the empty
# string is equal to it, and `message: ""` in a custom resource would be refused.
for validator in k8s/vendor/k8s.io/kube-openapi/pkg/validation/validate/type.go \
    k8s/vendor/github.com/go-openapi/validate/type.go; do
    sed -i 's/if data == nil || reflect\.DeepEqual(reflect\.Zero(.*)), reflect\.ValueOf(data)) {/if data == nil {/' \
        $validator
    grep -q 'if data == nil {' $validator || fail "$validator is not what the patch was made for"
done
# fakedp imports Kubernetes' packages.
mkdir -p k8s/cmd/fakedp
cp "$here/fakedp.go" k8s/cmd/fakedp/main.go

# GOPATH mode: Kubernetes' scripts make their own GOPATH and GOCACHE below _output; .go is as debian/rules has it.
cd k8s
mkdir -p .go/src/k8s.io
ln -sfn ../../.. .go/src/k8s.io/kubernetes
say "compiling ${#programs[@]} programs (log: $log)"
step env -u GOFLAGS -u GOROOT GOPATH="$PWD/.go" make WHAT="${programs[*]/#/cmd/}"
for program in "${programs[@]}"; do
    install -m 755 "_output/bin/$program" "$bin/.$program.new"
    mv "$bin/.$program.new" "$bin/$program"
done
echo "$recipe" >"$bin/kubernetes.recipe"
cd "$cache"
[ "${KEEP_SOURCE:-0}" = 1 ] || rm -rf "$build"
say "built $("$bin/kubelet" --version)"
echo "$bin"
