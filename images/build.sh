#!/usr/bin/env bash
# Builds the images with buildah, and nothing else needs to run. `make images` and `make push` call it.
#   build.sh build [NAME...]     NAME is operator, agent, agent-cuda, trainer or trainer-cuda (default: operator agent trainer)
#   build.sh push [NAME...]      builds, and pushes to $REGISTRY (log in first: buildah login)
#   build.sh archive FOLDER [NAME...]   builds, and writes FOLDER/windlass-NAME.tar where that is not current
# REGISTRY    the registry of the images, such as registry.example.com/team (default localhost)
#   build.sh layout FOLDER [NAME...]    builds, and writes each as an OCI layout: FOLDER/windlass-NAME/
#   build.sh inputs NAME       prints all that the image is made of, with digests
# BASE        the image to build in: Debian 12, by digest (docker.io/library/debian@sha256:...). Default: packages: one
#             is made from Debian 12's packages on this machine, without a registry
# CUDA_BASE   the image that agent-cuda and trainer-cuda take the CUDA toolkit from, by digest (default: one made from the
#             toolkit in $CUDA_HOME, default /usr/local/cuda; CUDA_LIBRARIES=0: without the 1.3 GB of cuDNN, cuBLASLt, NVRTC
#             and NCCL, which are then mounted at run time)
# LOCK=required         fail where a package is not as images/packages.lock lists it
# SOURCE_DATE_EPOCH     seconds: the time that images and all of their files get, so that a second build is the same
# CCACHE_DIR  a cache of compiled objects (ccache), which the steps that compile use too (images/compile.sh)
# FRESH=1     builds from nothing: no layer of an earlier build, so Debian's packages are today's
# An image of which no input has changed since it was built is not built again (but for LOCK=required and FRESH=1), nor are its
# packages fetched again: `build.sh inputs NAME` prints its inputs (with BASE=packages it makes that base first).
# Images and layers of the last build are kept in ${XDG_CACHE_HOME:-~/.cache}/windlass/images; those of earlier builds are
# removed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/images
version=$(sed -n 's/^#define WINDLASS_VERSION "\(.*\)"/\1/p' "$here/../lib/base.h")
registry=${REGISTRY:-localhost}
log=$cache/build.log

fail() { echo "build.sh: $1" >&2; exit 3; }
say() { printf '%4ds %s\n' "$SECONDS" "$*" >&2; }
b() { buildah --root "$cache/storage" --runroot "$cache/run" "$@"; }
logged() { "$@" >>"$log" 2>&1 || { tail -n 30 "$log" >&2; fail "failed: $*; the whole log: $log"; }; }

# Debian 12 made of packages from this machine's mirror, as localhost/windlass-base:12.
base_of_packages() {
    local container tar=$cache/base.tar
    if b inspect --type image localhost/windlass-base:12 >/dev/null 2>&1; then return; fi
    say "making a base image of Debian's packages"
    # shellcheck disable=SC2016 # the format's variables are apt's
    apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        sort -u >"$cache/sources.list"
    [ -s "$cache/sources.list" ] || fail "apt knows no Debian mirror (on other machines, give BASE=...@sha256:...)"
    # (minbase has more than what is essential and apt, which packages.lock lists.)
    logged mmdebstrap --variant=apt bookworm "$tar" - <"$cache/sources.list"
    container=$(b from scratch)
    logged b add "$container" "$tar" /
    logged b commit --rm "$container" localhost/windlass-base:12
    rm -f "$tar"
}
# In a release, each of its packages is as listed; one that was made on another day is made anew.
base_is_listed() {
    local container said=0
    container=$(b from --pull=never localhost/windlass-base:12)
    logged b copy "$container" "$here/lock.sh" "$here/packages.lock" /images/
    b run --isolation chroot "$container" -- /images/lock.sh installed >>"$log" 2>&1 || said=1
    logged b rm "$container"
    return $said
}
locked_base_of_packages() {
    base_of_packages
    [ "${LOCK:-}" = required ] || return 0
    base_is_listed && return
    logged b rmi --force localhost/windlass-base:12
    base_of_packages
    base_is_listed || { tail -n 20 "$log" >&2; fail "the base image is not made of images/packages.lock"; }
}
# The same with this machine's CUDA toolkit, as $CUDA_BASE.
base_of_toolkit() {
    local container toolkit=${CUDA_HOME:-/usr/local/cuda} version part file
    version=$("$toolkit/bin/nvcc" --version 2>/dev/null | sed -n 's/.* V\([0-9.]*\)$/\1/p')
    [ -n "$version" ] || fail "no CUDA toolkit in $toolkit (set CUDA_HOME, or CUDA_BASE to an image that has one)"
    [ "${CUDA_LIBRARIES:-1}" = 0 ] || version=$version-cudnn-nvrtc-nccl$([ ! -e "$toolkit/lib64/libnvjpeg.so.13" ] || echo -nvjpeg)
    CUDA_BASE=localhost/windlass-cuda:$version
    if b inspect --type image "$CUDA_BASE" >/dev/null 2>&1; then return; fi
    base_of_packages
    say "making an image of the CUDA toolkit $version"
    container=$(b from --pull=never localhost/windlass-base:12)
    for part in bin include nvvm; do logged b copy "$container" "$toolkit/$part" /usr/local/cuda/$part; done
    logged b copy "$container" "$toolkit"/lib64/lib{cudart_static,cudadevrt}.a /usr/local/cuda/lib64/
    # (Not every toolkit has nvJPEG; without it the CPU decodes JPEG files.)
    [ "${CUDA_LIBRARIES:-1}" = 0 ] || for part in $("$here/cuda-libraries.sh" names both agent trainer); do
        for file in "$toolkit"/lib64/$part; do
            [ ! -e "$file" ] || logged b copy "$container" "$file" /usr/local/cuda/lib64/
        done
    done
    logged b commit --rm "$container" "$CUDA_BASE"
}
# All that an image is made of, one a line: what .dockerignore lets into the build (types, modes, names, links, and SHA-256
# of each file), the images it begins with by their ids, settings, this script and buildah. Packages that a step installs are
# of the day when that step ran, here as in buildah's own cache of layers.
inputs() ( # NAME
    set -e # (in a substitution, too)
    cd "$here/.."
    mapfile -t paths < <(sed -n 's/^!//p' .dockerignore)
    [ ${#paths[@]} -gt 0 ] || fail "no paths in .dockerignore"
    base=${BASE/#packages/localhost/windlass-base:12}
    echo "image $1, base $base $(image_id "$base"), LOCK=${LOCK:-}, SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-}"
    [[ $1 != *-cuda ]] || echo "cuda $CUDA_BASE $(image_id "$CUDA_BASE")"
    buildah --version
    sha256sum .dockerignore images/build.sh
    find "${paths[@]}" -printf '%y %m %p %l\n' | LC_ALL=C sort
    find "${paths[@]}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
)
image_id() { b images --quiet --no-trunc "$1" 2>/dev/null || true; }
# The build of these inputs is still here: with its id and the names of all its stages.
is_built() { # NAME KEY
    local stage id
    id=$(cat "$cache/windlass-$1.id" 2>/dev/null) || return
    [ "$(cat "$cache/windlass-$1.inputs" 2>/dev/null)" = "$2 $id" ] || return
    b inspect --type image "${id#sha256:}" >/dev/null 2>&1 || return
    for stage in $(stages "$1"); do b inspect --type image "localhost/windlass-stage-$1-$stage" >/dev/null 2>&1 || return; done
}
stages() { sed -n 's/^FROM .* AS //p' "$here/$1.Containerfile"; }
build() { # NAME
    local base=(--build-arg BASE="$BASE") stage key again id
    key=$(inputs "$1" | sha256sum | cut -d' ' -f1)
    # (A release's image is always built, of layers that may be cached; with FRESH=1 another build proves that it can be repeated.)
    if [ "${LOCK:-}" != required ] && [ -z "${FRESH:-}" ] && is_built "$1" "$key"; then
        say "$registry/windlass-$1:$version: unchanged since $(date -r "$cache/windlass-$1.inputs" '+%F %T')"
        id=$(cat "$cache/windlass-$1.id")
        logged b tag "${id#sha256:}" "$registry/windlass-$1:$version"
        return
    fi
    rm -f "$cache/windlass-$1.inputs"
    [ "$BASE" != packages ] || base=(--build-arg BASE=localhost/windlass-base:12 --pull=never)
    [[ $1 != *-cuda ]] || base+=(--build-arg CUDA_BASE="$CUDA_BASE")
    [ -z "${LOCK:-}" ] || base+=(--build-arg LOCK="$LOCK")
    [ -z "${SOURCE_DATE_EPOCH:-}" ] ||
        base+=(--timestamp "$SOURCE_DATE_EPOCH" --build-arg SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH")
    say "building $registry/windlass-$1:$version"
    cd "$here/.."
    if [ -d "${CCACHE_DIR:-}" ]; then
        env | grep -E '^(LANG|LC_(ALL|CTYPE|MESSAGES))=[A-Za-z0-9_.@-]+$' >"$CCACHE_DIR/build-locale" || true
        base+=(--volume "$CCACHE_DIR:/ccache")
    fi
    # Chroot isolation works where containers cannot be nested; the network is for apt-get alone.
    bud() {
        logged b bud --layers --isolation chroot --network host "${base[@]}" --format docker "$@" .
    }
    bud ${FRESH:+--no-cache} --iidfile "$cache/windlass-$1.id" -f "images/$1.Containerfile" -t "$registry/windlass-$1:$version"
    # The stage that files were copied from is not an ancestor of the image: without a name forget_others would remove its
    # layers, and the next build would begin with apt-get. All of it is cached by now, so this only adds the names.
    for stage in $(stages "$1"); do
        bud --target "$stage" -f "images/$1.Containerfile" -t "localhost/windlass-stage-$1-$stage"
    done
    # (A file that was changed meanwhile may be in the image or not.)
    again=$(inputs "$1" | sha256sum | cut -d' ' -f1)
    [ "$again" != "$key" ] || echo "$key $(cat "$cache/windlass-$1.id")" >"$cache/windlass-$1.inputs"
}
# Images of earlier builds: they have no name and no named image is made of them. Each is as large as what has changed,
# which adds up to many gigabytes in a day.
forget_others() { b rmi --prune >>"$log" 2>&1 || say "layers of earlier builds stay: $(tail -n 1 "$log")"; }
archive() { # NAME FOLDER
    local tar=$2/windlass-$1.tar id
    id="$(cat "$cache/windlass-$1.id") $registry $version"
    if [ -f "$tar" ] && [ "$(cat "$tar.id" 2>/dev/null)" = "$id" ]; then return; fi
    rm -f "$tar"
    logged b push "$registry/windlass-$1:$version" "docker-archive:$tar:$registry/windlass-$1:$version"
    echo "$id" >"$tar.id"
}

# What a tag names changes from day to day; an image of this machine does not.
by_digest() { # VARIABLE
    [[ ${!1} =~ ^localhost/|@sha256:[0-9a-f]{64}$ ]] ||
        fail "$1=${!1} is not an image by digest: NAME@sha256:... (skopeo inspect docker://${!1} shows it)"
}

what=${1:?build, push, archive, layout or inputs}
shift
case $what in
build | inputs) ;;
push) [ "$registry" != localhost ] || fail "where to? make push REGISTRY=registry.example.com/team" ;;
archive | layout) folder=${1:?the folder}; shift; mkdir -p "$folder"; folder=$(cd "$folder" && pwd) ;;
*) fail "'$what' is none of build, push, archive, layout, inputs" ;;
esac
[ $# -gt 0 ] || set -- operator agent trainer
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
: >"$log"
command -v buildah >/dev/null || fail "buildah is missing: apt-get install buildah"
[ "$(id -u)" != 0 ] || export STORAGE_DRIVER=overlay
BASE=${BASE:-packages}
if [ "$BASE" = packages ]; then locked_base_of_packages; else by_digest BASE; fi
for name in "$@"; do
    [ -f "$here/$name.Containerfile" ] || fail "no image is called '$name' (operator, agent, agent-cuda, trainer, trainer-cuda)"
    if [[ $name = *-cuda ]]; then
        if [ -n "${CUDA_BASE:-}" ]; then by_digest CUDA_BASE; else base_of_toolkit; fi
    fi
    if [ "$what" = inputs ]; then inputs "$name"; continue; fi
    build "$name"
    case $what in
    push) say "pushing $registry/windlass-$name:$version"; logged b push "$registry/windlass-$name:$version" ;;
    archive) archive "$name" "$folder" ;;
    layout)
        rm -rf "$folder/windlass-$name"
        logged b push --format oci "$registry/windlass-$name:$version" "oci:$folder/windlass-$name:$version"
        ;;
    esac
done
[ "$what" != inputs ] || exit 0
forget_others
say "$(b images --format '{{.Name}}:{{.Tag}} {{.Size}}' | grep -E "^$registry/windlass-(operator|agent|trainer)" | sort | paste -sd, | sed 's/,/, /g')"
