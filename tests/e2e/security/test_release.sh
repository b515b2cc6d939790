#!/usr/bin/env bash
# What a release is made of (images/release): two builds in two folders give the same bytes, an SBOM names what is inside, its
# provenance (SLSA) has every file, OpenSSL's signatures are what cosign verifies (Debian 13's, a second implementation), and
# only the packages of images/packages.lock may go into an image. In a soak (SOAK_SEED) images are built, too, twice.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
script=test_release.sh
. tests/cluster/lib.sh
need_packages openssl jq git skopeo || exit 3
work=$(mktemp -d)
pid=
finish() {
    [ -z "$pid" ] || kill $pid 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT
version=$(sed -n 's/^#define WINDLASS_VERSION "\(.*\)"/\1/p' lib/base.h)
arch=$(dpkg --print-architecture)
export SOURCE_DATE_EPOCH=1790000000
parts=(programs chart)
programs=windlass
if [ -n "${SOAK_SEED:-}" ] && [ "$(id -u)" = 0 ]; then
    parts+=(images)
    programs="windlass windlass-agent windlass-shim windlass-trainer"
    need_packages buildah mmdebstrap || exit 3
fi

##### the same bytes #############################################################################
# The tree as it is, at paths of different lengths, at different times. Of what the second compiles, 1/32 of the
# files is compiled anew (each day another one; SOAK_SEED: all) by the compiler itself, the others may come from ccache.
copy_of() {
    mkdir -p "$1"
    git ls-files -co --exclude-standard -z | tar --null -T - -cf - | tar -C "$1" -xf -
}
first=$work/a second=$work/a-much-longer/name/of/a/folder
copy_of "$first"
copy_of "$second"
find "$second" -name '*.c' -exec touch -d '2001-01-01' {} +
images/release/sign.sh key "$work"
release() { # FOLDER SETTING...
    local folder=$1
    shift
    env "$@" PROGRAMS="$programs" REGISTRY=localhost KEY="$work/release.key" make -s -C "$folder" release RELEASE="${parts[*]}" >"$work/log" 2>&1 ||
        { sed 's/^/# /' "$work/log"; return 1; }
}
mkdir "$work/anew"
cat >"$work/anew/gcc" <<'GCC'
#!/usr/bin/env bash
PATH=${PATH#*:}
source= asked=" $* "
for word in "$@"; do
    [[ $word != *.c ]] || source=$word
done
[[ -n $source && $asked == *" -c "* ]] || exec gcc "$@"
number=$(cksum <<<"${source##*/}")
if [ -z "${SOAK_SEED:-}" ] && [ $(((${number%% *} + TURN) % 32)) != 0 ]; then
    echo "$source" >>"$COMPILED.perhaps"
    exec gcc "$@"
fi
IFS=:
for folder in $PATH; do
    [ -x "$folder/gcc" ] && [[ $(readlink -f "$folder/gcc") != *ccache* ]] || continue
    "$folder/gcc" "$@" || exit
    echo "$source" >>"$COMPILED.anew"
    exit
done
exit 1
GCC
chmod +x "$work/anew/gcc"
check "make release" release "$first" -u NOTHING
check "again, in another folder, compiled anew and with another umask, language and time zone" \
    eval '(umask 077; release "$second" PATH="$work/anew:$PATH" TURN=$(($(date +%s) / 86400)) COMPILED="$work/compiled" FRESH=1 LANG=C.UTF-8 TZ=Asia/Tokyo)'
touch "$work"/compiled.{anew,perhaps}
anew=$(wc -l <"$work/compiled.anew") compiled=$(($(wc -l <"$work/compiled.anew") + $(wc -l <"$work/compiled.perhaps")))
objects=$(find "$second/build" -name '*.o' | wc -l)
check "the second build compiled each of its $objects objects" [ "$objects" -gt 100 -a "$compiled" -ge "$objects" ]
if [ -n "${SOAK_SEED:-}" ]; then
    check "all of them anew, by no cache" [ "$anew" = "$compiled" ]
else
    check "of them $anew anew, by no cache: about 1/32" [ $((128 * anew)) -ge "$compiled" ]
fi
one=$first/build/release/$version other=$second/build/release/$version
same() { diff "$one/SHA256SUMS" "$other/SHA256SUMS" >"$work/diff" || { sed 's/^/# /' "$work/diff"; return 1; }; }
check "both have the same digests" same
check "they are those of the files" eval '(cd "$one" && sha256sum --quiet -c SHA256SUMS)'
tarball=$one/windlass-$version-linux-$arch.tar.gz
mkdir "$work/unpacked"
tar -C "$work/unpacked" -xzf "$tarball"
program=$work/unpacked/windlass-$version-linux-$arch/bin/windlass
check "the program runs" [ "$("$program" --version)" = "windlass $version" ]
check "and names no folder that it was built in" eval '! grep -qaF "$work" "$program" && ! grep -qaF "$PWD" "$program"'
check "the chart is one that helm takes" eval 'tar -xzOf "$one"/windlass-chart-*.tgz windlass/Chart.yaml | grep -q "^name: windlass"'

##### SBOM #######################################################################################
bill=$one/windlass-$arch.spdx.json
# Fields that SPDX 2.3 wants, and references that lead somewhere.
# shellcheck disable=SC2016 # jq's variables
sound() {
    jq -e '.spdxVersion == "SPDX-2.3" and .dataLicense == "CC0-1.0" and .SPDXID == "SPDXRef-DOCUMENT" and (.creationInfo | .created and (.creators | length > 0)) and
        ([.packages[], .files[] | .SPDXID] as $ids | ($ids | length) == ($ids | unique | length) and all($ids[]; test("^SPDXRef-[A-Za-z0-9.-]+$")) and
            all(.relationships[]; .relatedSpdxElement as $id | any($ids[]; . == $id))) and
        all(.packages[]; .name and .downloadLocation and has("filesAnalyzed")) and all(.files[]; any(.checksums[]; .algorithm == "SHA1"))' "$1" >/dev/null
}
check "the program's SBOM is sound" sound "$bill"
listed() { # every library that it loads or opens is of a package that the SBOM has, with its version
    local library name package
    local -A owner=()
    images/libraries.sh "$program" | sort -u >"$work/libraries"
    # (One question for all of them: dpkg reads the lists of all packages each time. Of a library's names it knows one.)
    while read -r package name; do owner[$name]=${package%%:*}; done < <(
        while read -r library; do printf '%s\n' "$library" "${library#/usr}" "$(realpath "$library")"; done <"$work/libraries" |
            sort -u | xargs dpkg-query -S 2>/dev/null)
    while read -r library; do
        package=${owner[$library]:-${owner[${library#/usr}]:-${owner[$(realpath "$library")]:-}}}
        [ -n "$package" ] || { echo "# $library is of no package" >&2; return 1; }
        echo "$package"
    done <"$work/libraries" >"$work/packages" || return 1
    xargs dpkg-query -W -f='${Package} ${Version}\n' <"$work/packages" | sort -u >"$work/versions"
    [ -s "$work/versions" ] &&
        ! jq -r '.packages[] | "\(.name) \(.versionInfo)"' "$bill" | sort -u | comm -23 "$work/versions" - | sed 's/^/# not listed: /' | grep .
}
check "and lists the package of each library" listed
check "and has the program's digest" [ "$(jq -r '.packages[0].checksums[0].checksumValue' "$bill")" = "$(sha256sum <"$program" | cut -d' ' -f1)" ]
# The schema of SPDX 2.3, where one is at hand.
if [ -n "${SPDX_SCHEMA:-}" ]; then
    check "it is valid against the schema" python3 -c 'import json, sys, jsonschema
for name in sys.argv[2:]:
    jsonschema.validate(json.load(open(name)), json.load(open(sys.argv[1])))' "$SPDX_SCHEMA" "$one"/*.spdx.json
fi

##### signatures #################################################################################
cosign=$(tests/cluster/cosign.sh) || exit 3
blob() { "$cosign" verify-blob --key "$work/release.pub" --insecure-ignore-tlog --signature "$one/$1.sig" "$one/$1" >"$work/cosign" 2>&1 || { sed 's/^/# /' "$work/cosign"; return 1; }; }
check "cosign verifies SHA256SUMS" blob SHA256SUMS
check "and the programs" blob "$(basename "$tarball")"
changed() { (one=$work && cp "$tarball" "$work/x" && cp "$tarball.sig" "$work/x.sig" && printf x >>"$work/x" && ! blob x >/dev/null); }
check "but no file that was changed" changed

##### provenance #################################################################################
attested() { # FILE [ENVELOPE [KEY]]
    "$cosign" verify-blob-attestation --key "${3:-$work/release.pub}" --insecure-ignore-tlog --type slsaprovenance1 --signature "${2:-$one/provenance.intoto.jsonl}" \
        "$1" >"$work/cosign" 2>&1
}
check "cosign verifies the provenance of the programs" eval 'attested "$tarball" || { sed "s/^/# /" "$work/cosign"; false; }'
check "but not of a file that is none of the release's" eval '! attested "$work/x"'
subjects() { # all files but the list and the signatures, each with its digest
    jq -r '.subject[] | select(.name | contains("/") | not) | "\(.digest.sha256)  \(.name)"' "$one/provenance.json" | sort -k2 >"$work/subjects"
    grep -v ' provenance.json$' "$one/SHA256SUMS" | sort -k2 | diff - "$work/subjects" | sed 's/^/# /' && [ -s "$work/subjects" ]
}
check "its subjects are the release's files" subjects
others_statement() { # the signature of a statement holds for no other
    jq -c '.payload |= (@base64d | sub("localhost"; "elsewhere") | @base64)' "$one/provenance.intoto.jsonl" >"$work/other.jsonl"
    ! cmp -s "$one/provenance.intoto.jsonl" "$work/other.jsonl" && ! attested "$tarball" "$work/other.jsonl"
}
check "a statement that was changed is refused" others_statement
commit_of() {
    mkdir -p "$work/repository" "$work/none"
    cp -r images "$work/repository/"
    (cd "$work/repository" && git init -q && git add -A && git -c user.name=x -c user.email=x@localhost commit -qm x) || return 1
    stated() { python3 "$work/repository/images/release/provenance.py" statement "$version" "$work/none" "$work" REGISTRY=localhost 2>"$work/said" |
        jq -r '.predicate.buildDefinition.resolvedDependencies[] | select(.name == "source").digest.gitCommit'; }
    [ "$(stated)" = "$(git -C "$work/repository" rev-parse HEAD)" ] || { sed 's/^/# /' "$work/said"; return 1; }
    echo >"$work/repository/images/more.c"
    [ -z "$(stated)" ] || return 1
    rm "$work/repository/images/more.c"
    echo >>"$work/repository/images/build.sh"
    [ -z "$(stated)" ]
}
check "it names the commit, and none where files differ from it or are not in it" commit_of

# An image: a layout of one file is enough.
layout=$work/layout
if [[ " ${parts[*]} " == *" images "* ]]; then
    layout=$first/build/release/layouts/windlass-operator
    check "the image's SBOM lists its packages" eval 'sound "$one/windlass-operator-$arch.image.spdx.json" &&
        jq -e "any(.packages[]; .name == \"libssl3\")" "$one/windlass-operator-$arch.image.spdx.json" >/dev/null'
else
    mkdir -p "$work/root/usr/local/bin" "$work/root/var/lib/dpkg/status.d"
    cp "$program" "$work/root/usr/local/bin/"
    dpkg-query -s libssl3 >"$work/root/var/lib/dpkg/status.d/libssl3"
    python3 tests/e2e/security/layout.py "$work/root" "$layout"
    python3 images/release/sbom.py image windlass-operator "$version" "$layout" >"$work/image.spdx.json"
    check "the image's SBOM lists its package and program" eval 'sound "$work/image.spdx.json" &&
        jq -e "any(.packages[]; .name == \"libssl3\") and any(.files[]; .fileName == \"./usr/local/bin/windlass\")" "$work/image.spdx.json" >/dev/null'
fi
port=$(free_port)
host=127.0.0.1:$port
registry=$(tests/cluster/deb.sh docker-registry) || { echo "not ok Debian's docker-registry comes"; exit 1; }
cat >"$work/config.yml" <<CONFIG
version: 0.1
storage: {filesystem: {rootdirectory: $work/data}}
http: {addr: $host}
CONFIG
"$registry/usr/bin/docker-registry" serve "$work/config.yml" >"$work/registry.log" 2>&1 &
pid=$!
answers() { curl -s "http://$host/v2/" >/dev/null; }
check "a registry starts" until_true 60 answers
images/release/sign.sh image "$work/release.key" "$layout" "$host/windlass-operator" "$work/signature"
image=$(jq -r '.manifests[0].digest' "$layout/index.json")
push() { # LAYOUT TAG
    skopeo copy -q --dest-tls-verify=false --preserve-digests "oci:$1:$2" "docker://$host/windlass-operator:$2" >"$work/push" 2>&1 || { sed 's/^/# /' "$work/push"; return 1; }
}
tag=$(jq -r '.manifests[0].annotations["org.opencontainers.image.ref.name"]' "$layout/index.json")
check "the image is pushed" push "$layout" "$tag"
verified() { # KEY
    "$cosign" verify --key "$1" --insecure-ignore-tlog --allow-insecure-registry --allow-http-registry "$host/windlass-operator@$image" >"$work/cosign" 2>&1
}
check "without its signature cosign refuses it" eval '! verified "$work/release.pub"'
check "the signature is pushed" push "$work/signature" "${image/:/-}.sig"
check "cosign verifies the image" eval 'verified "$work/release.pub" || { sed "s/^/# /" "$work/cosign"; false; }'
mkdir "$work/others"
images/release/sign.sh key "$work/others"
check "but not with another key" eval '! verified "$work/others/release.pub"'

##### the chart in the registry, the package, krew ################################################
bin=$(tests/cluster/get-clients.sh) || exit 3
export HELM_CACHE_HOME=$work/helm HELM_CONFIG_HOME=$work/helm HELM_DATA_HOME=$work/helm
release_of() { (cd "$first" && PATH=$bin:$PATH REGISTRY=$host/team PLAIN_HTTP=1 images/release/release.sh "$@") >"$work/said" 2>&1; }
other_registry() { ! release_of publish chart && grep -q "made for another registry" "$work/said"; }
check "a chart for another registry is not pushed" other_registry
cp -r "$one" "$work/kept"
check "the chart is made for a registry" release_of make chart
check "and pushed" eval 'release_of publish chart || { sed "s/^/# /" "$work/said"; false; }'
from_registry() {
    "$bin/helm" template windlass "oci://$host/team/windlass" --version "$version" --plain-http -n windlass >"$work/rendered" 2>"$work/said" ||
        { sed 's/^/# /' "$work/said"; return 1; }
    grep -q "image: \"\?$host/team/windlass-operator:$version" "$work/rendered" && [ "$(grep -c '^kind: CustomResourceDefinition' "$work/rendered")" = 3 ]
}
check "helm takes it by oci:// without a value, its images from there" from_registry
rm -rf "$one" && mv "$work/kept" "$one"
package=$one/windlass_${version}_$arch.deb
installable() { # every dependency is a package of this Debian
    dpkg-deb -f "$package" Depends | tr -d , | tr ' ' '\n' | sort -u >"$work/depends"
    ! xargs apt-cache show --no-all-versions <"$work/depends" 2>/dev/null | sed -n 's/^Package: //p' | sort -u | comm -23 "$work/depends" - | sed 's/^/# no /' | grep . &&
        [ "$(wc -l <"$work/depends")" -ge 3 ] && [ "$(dpkg-deb -f "$package" Version)" = "$version" ]
}
check "the package names what it needs" installable
unpacked() {
    dpkg-deb -x "$package" "$work/package" && [ "$("$work/package/usr/bin/windlass" --version)" = "windlass $version" ] &&
        [ "$(readlink "$work/package/usr/bin/kubectl-windlass")" = windlass ] && [ -s "$work/package/usr/share/doc/windlass/copyright" ] &&
        dpkg-deb -c "$package" | awk '$2 != "root/root" { bad = 1 } END { exit bad }'
}
check "and has the programs, all of root" unpacked
krew() {
    (cd "$first" && export PROGRAMS=windlass DOWNLOADS=https://downloads.test/v1 && images/release/release.sh make programs) >"$work/said" 2>&1 || return 1
    python3 - "$one/krew.yaml" "$(sha256sum <"$tarball" | cut -d' ' -f1)" <<'P'
import sys, yaml
plugin = yaml.safe_load(open(sys.argv[1]))
platform, = plugin["spec"]["platforms"]
assert plugin["kind"] == "Plugin" and plugin["metadata"]["name"] == "windlass" and plugin["spec"]["version"].startswith("v")
assert platform["sha256"] == sys.argv[2] and platform["uri"].startswith("https://downloads.test/v1/windlass-") and platform["bin"] == "windlass"
assert all(set(file) == {"from", "to"} for file in platform["files"])
P
}
check "krew's manifest names the tarball and its digest" krew
not_p256() {
    openssl genpkey -algorithm RSA -out "$work/rsa.key" 2>/dev/null
    ! images/release/sign.sh file "$work/rsa.key" "$work/x" 2>"$work/said" && grep -q "a key of P-256" "$work/said"
}
check "a key of another kind is refused" not_p256

##### packages ###################################################################################
taken() {
    apt-cache show --no-all-versions tini | awk -v OFS= '/^Version: / { version = $2 } /^Architecture: / { arch = $2 } /^SHA256: / { sum = $2 }
        END { print sum, "  tini_", version, "_", arch, ".deb" }' >"$work/lock"
    PACKAGES_LOCK=$work/lock images/lock.sh check tini
}
check "a package as it is listed is taken" taken
unlisted() { # a package that the list lacks, and one of another version
    echo "0000000000000000000000000000000000000000000000000000000000000000  tini_0.0_$arch.deb" >"$work/lock"
    ! PACKAGES_LOCK=$work/lock images/lock.sh check tini >"$work/said" 2>&1 && grep -q "^tini_.*packages.lock has tini_0.0_$arch.deb" "$work/said" &&
        ! PACKAGES_LOCK=$work/lock images/lock.sh check sl >"$work/said" 2>&1 && grep -q "^sl_.*no such package" "$work/said"
}
check "one of another version, or that is not listed, is refused" unlisted
unhashed() { # an apt whose source has no SHA-256
    mkdir -p "$work/bin"
    printf '#!/bin/sh\necho "'"'%s' %s 100 %s"'"\n' "http://deb.example.com/tini_0.0_$arch.deb" "tini_0.0_$arch.deb" MD5Sum:00 >"$work/bin/apt-get"
    chmod +x "$work/bin/apt-get"
    echo "0000000000000000000000000000000000000000000000000000000000000000  tini_0.0_$arch.deb" >"$work/lock"
    ! PATH=$work/bin:$PATH PACKAGES_LOCK=$work/lock images/lock.sh check tini >"$work/said" 2>&1 && grep -q "^tini_0.0_$arch.deb: its source gives no SHA-256" "$work/said"
}
check "one without a hash is refused" unhashed
installs_not() { ! LOCK=required images/apt-install.sh sl >"$work/said" 2>&1 && grep -q "sl_.*no such package" "$work/said" && ! dpkg-query -W sl >/dev/null 2>&1; }
[ "$(id -u)" != 0 ] || check "and is not installed in a release" installs_not
by_tag() { ! BASE=docker.io/library/debian:12 images/build.sh build operator >"$work/said" 2>&1 && grep -q "is not an image by digest" "$work/said"; }
check "a base image by its tag is refused" by_tag
cuda_by_tag() {
    ! BASE=docker.io/library/debian@sha256:$(printf '%064d' 0) CUDA_BASE=docker.io/nvidia/cuda:13.0.2 images/build.sh build agent-cuda >"$work/said" 2>&1 &&
        grep -q "CUDA_BASE=.* is not an image by digest" "$work/said"
}
check "and CUDA's by its tag" cuda_by_tag
exit $((failures > 0))
