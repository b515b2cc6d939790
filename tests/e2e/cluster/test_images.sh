#!/usr/bin/env bash
# `make push` to a real registry (Debian's docker-registry, on this machine) with TLS and a password, as docs/operate/aks.md
# does it; the pulled images equal those that were built. agent-cuda and trainer-cuda are built if
# a CUDA toolkit is installed. `make test` draws one of them, and one of the three images that come back.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
script=test_images.sh
. tests/cluster/lib.sh
if [ "$(id -u)" != 0 ]; then echo "skip the images: they need root"; exit 0; fi
need_packages buildah mmdebstrap openssl curl || exit 3
work=$(mktemp -d)
port=$(free_port)
host=127.0.0.1:$port
trust=/etc/containers/certs.d/$host
finish() {
    [ -z "$mounted" ] || umount "$mounted/nvidia"
    kill $pid 2>/dev/null
    # Removes the names of this temporary registry; the images keep their other names.
    for image in operator agent trainer; do
        buildah --storage-driver overlay --root "$cache/images/storage" --runroot "$cache/images/run" rmi "$REGISTRY/windlass-$image:$version"
    done >/dev/null 2>&1
    b rm --all >/dev/null 2>&1
    rm -rf "$work" "$trust" "$pulled"
}
trap finish EXIT
pid= pulled= mounted=
# The package is unpacked, not installed: it would start a registry for all users.
registry=$(tests/cluster/deb.sh docker-registry) || { echo "not ok Debian's docker-registry comes"; exit 1; }
(cd "$work" && authority windlass-registry && certificate registry /CN=registry IP:127.0.0.1)
# shellcheck disable=SC2016 # bcrypt's format, no variables
echo "team:$(perl -e 'print crypt("secret", q($2y$05$windlassWindlassWindla))')" >"$work/htpasswd"
cat >"$work/config.yml" <<CONFIG
version: 0.1
storage: {filesystem: {rootdirectory: $work/data}}
http: {addr: $host, tls: {certificate: $work/registry.crt, key: $work/registry.key}}
auth: {htpasswd: {realm: windlass, path: $work/htpasswd}}
CONFIG
"$registry/usr/bin/docker-registry" serve "$work/config.yml" >"$work/log" 2>&1 &
pid=$!
until_true 60 curl -s -o "$work/answer" --cacert "$work/ca.crt" "https://$host/v2/"
mkdir -p "$trust"
cp "$work/ca.crt" "$trust/ca.crt"
export REGISTRY=$host/team BASE=packages REGISTRY_AUTH_FILE=$work/auth.json
version=$(sed -n 's/^#define WINDLASS_VERSION "\(.*\)"/\1/p' lib/base.h)
# What is pulled goes to a storage of its own. It is where images are built, since an overlay works there, which copies
# nothing; vfs would copy an image once for each of its layers.
mkdir -p "$cache/images"
pulled=$(mktemp -d -p "$cache/images" pulled.XXXXXX)
b() { buildah --root "$pulled/storage" --runroot "$pulled/run" --storage-driver overlay "$@"; }

# Each input counts: an image that was built of others is not taken again (images/build.sh).
tree=$work/tree
inputs() { XDG_CACHE_HOME=$work/cache BASE=localhost/none "$@" "$tree/images/build.sh" inputs "${image:-operator}"; }
key() { # SETTING...: of inputs that could be listed
    inputs "$@" >"$work/inputs" && [ -s "$work/inputs" ] && sha256sum <"$work/inputs"
}
differs() { # COMMAND...: whether the inputs are others after it
    local before=$known
    "$@" && known=$(key env) && [ "$known" != "$before" ]
}
each_counts() {
    local image=
    mkdir -p "$tree/examples" && cp -r .dockerignore Makefile images lib crds "$tree/" && cp -r examples/init "$tree/examples/" && mkdir "$tree/operator" "$tree/agent" || return
    known=$(key env) && [ "$(key env)" = "$known" ] || return
    differs sed -i '1s/^/ /' "$tree/lib/base.h" && differs touch "$tree/operator/new.c" && differs chmod 755 "$tree/operator/new.c" &&
        differs mv "$tree/operator/new.c" "$tree/operator/newer.c" && differs ln -s x "$tree/agent/link" && differs sh -c "echo >>'$tree/.dockerignore'" &&
        differs sh -c "echo >>'$tree/images/build.sh'" || return
    local setting other
    for setting in LOCK=required SOURCE_DATE_EPOCH=1 BASE=localhost/other; do
        other=$(key env $setting) && [ "$other" != "$known" ] || return
    done
    other=$(image=agent key env) && [ "$other" != "$known" ] && rm "$tree/.dockerignore" &&
        ! inputs env >"$work/said" 2>&1 && grep -q 'no paths in .dockerignore' "$work/said"
}
check "each input of an image counts" each_counts
fails_to_push() { ! images/build.sh push operator >"$work/push" 2>&1 && grep -qi 'auth' "$work/push"; }
check "without a login push fails, with the reason" fails_to_push
log_in() { buildah login --username team --password-stdin "$host" <<<secret >"$work/login" 2>&1 || { sed 's/^/# /' "$work/login"; return 1; }; }
check "buildah login" log_in
push() { make --no-print-directory push >"$work/push" 2>&1 || { sed 's/^/# /' "$work/push"; return 1; }; }
check "make push REGISTRY=..." push
not_again() { images/build.sh build operator 2>&1 | grep -qF "windlass-operator:$version: unchanged since "; }
check "an image is not built again while its inputs are the same" not_again
draw "images that come back" 1 operator agent trainer
for image in "${drawn[@]}"; do
    program=windlass
    [ $image = operator ] || program=windlass-$image
    comes_back() {
        local container
        b pull "$REGISTRY/windlass-$image:$version" >"$work/pull" 2>&1 || { sed 's/^/# /' "$work/pull"; return 1; }
        [ "$(b images --quiet --no-trunc "$REGISTRY/windlass-$image:$version")" = "$(cat "$cache/images/windlass-$image.id")" ] || return
        container=$(b from --pull=never "$REGISTRY/windlass-$image:$version") &&
            [ "$(b run --isolation chroot "$container" -- /usr/local/bin/$program --version)" = "$program $version" ] || return
        [ $image != agent ] || b run --isolation chroot "$container" -- /usr/local/bin/windlass-agent install /tmp
    }
    check "windlass-$image comes back as it was built, and runs" comes_back
done

toolkit=${CUDA_HOME:-/usr/local/cuda}
# The soak builds the images with NVIDIA's libraries in them; `make test` puts links of the same files beside the image's.
libraries=${SOAK_SEED:+1}
libraries=${libraries:-0}
# What these libraries name and an image has not: the driver's, which the container toolkit mounts, and what they can do
# without (fabrics, plugins, a profiler, development's names).
absent='^lib(cuda|nvidia-ml|ibverbs|mlx5|gdrapi|nccl-net|cask_profile_interface)\.so|^libnvrtc\.so$'
c() { buildah --storage-driver overlay --root "$cache/images/storage" --runroot "$cache/images/run" "$@"; }
# The image's own loader loads every library by its name, with all symbols bound: each that the image is to have, and each
# that one of these names.
loads() {
    local container part=${image%-cuda} name names file
    rm -rf "$work/nvidia"
    mkdir -p "$work/nvidia"
    container=$(c from --pull=never "localhost/windlass-$image:$version") && mounted=$(c mount "$container") || return
    for name in $(images/cuda-libraries.sh names both "$part"); do
        for file in "$toolkit"/lib64/$name; do
            [ ! -e "$file" ] || ln -L "$file" "$work/nvidia/" 2>/dev/null || cp -L "$file" "$work/nvidia/"
        done
    done
    names=$(cd "$work/nvidia" && { ls && LC_ALL=C grep -aohE 'lib[A-Za-z_0-9+-]+\.so(\.[0-9]+)*' -- *; } |
        grep -vE "$absent" | sed 's/^\(libcudnn.*\.so\)$/\1.9/' | sort -u)
    # (With the libraries in the image, only these count.)
    [ "$libraries" = 0 ] || rm -f "$work"/nvidia/*
    mkdir -p "$mounted/nvidia" && mount --bind "$work/nvidia" "$mounted/nvidia" || return
    LD_BIND_NOW=1 LD_LIBRARY_PATH=/nvidia LD_PRELOAD=${names//$'\n'/:} chroot --userspec=65532:65532 "$mounted" \
        /usr/local/bin/windlass-"$part" --version >"$work/loads" 2>&1
    umount "$mounted/nvidia" && mounted=
    c rm "$container" >/dev/null
    [ "$(grep -c . <<<"$names")" -ge 18 ] && [ "$(cat "$work/loads")" = "windlass-$part $version" ] ||
        { sed 's/^/# /' "$work/loads"; return 1; }
}
draw "images with CUDA" 1 agent-cuda trainer-cuda
for image in "${drawn[@]}"; do
    if [ ! -x "$toolkit/bin/nvcc" ]; then
        echo "skip $image: not built (no base image: no CUDA toolkit in $toolkit)"
        continue
    fi
    builds() { REGISTRY=localhost CUDA_LIBRARIES=$libraries images/build.sh build $image >"$work/cuda" 2>&1 || { sed 's/^/# /' "$work/cuda"; return 1; }; }
    check "$image is built with the toolkit in $toolkit" builds
    check "and loads NVIDIA's libraries, and what these open by name" loads
done
exit $((failures > 0))
