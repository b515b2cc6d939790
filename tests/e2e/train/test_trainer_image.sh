#!/usr/bin/env bash
# The content of images/trainer.Containerfile, without buildah: windlass-trainer, Debian's mpirun and the libraries of
# both, in a root folder with nothing else, as a user that owns nothing there. (test_images.sh tests the images
# themselves.)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
if [ "$(id -u)" != 0 ]; then echo "skip the trainer's root folder: chroot needs root"; exit 0; fi
build=${BUILD:-build}
built "$build/windlass-trainer" || { echo "not ok test_trainer_image: cannot be built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
here=$PWD
root=$work/root
collect() {
    strip -o "$work/windlass-trainer" "$build/windlass-trainer" && cd "$work" || return 1
    # shellcheck disable=SC2046 # files, one per word
    "$here/images/collect.sh" "$root" windlass-trainer $("$here/images/openmpi.sh") && ln -s orterun "$root/usr/bin/mpirun" || return 1
    cd "$here" && mkdir -p "$root/proc" "$root/sys" "$root/dev"
}
check "it is put together" collect
# inside COMMAND...: runs it as in a container; mounts and processes end with it.
inside() {
    unshare --mount --pid --ipc --fork sh -c 'root=$1 && shift && mount -t proc proc "$root/proc" &&
        mount --rbind /sys "$root/sys" && mount --rbind /dev "$root/dev" && mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" &&
        exec timeout 120 env -i HOME=/tmp PATH=/usr/sbin:/usr/bin:/bin chroot --userspec=65532:65532 "$root" "$@"' sh "$root" "$@"
}
version=$(sed -n 's/^#define WINDLASS_VERSION "\(.*\)"/\1/p' lib/base.h)
check "windlass-trainer starts" [ "$(inside /usr/local/bin/windlass-trainer --version 2>"$work/err")" = "windlass-trainer $version" ]
ranks() {
    inside /usr/bin/mpirun --mca plm isolated --oversubscribe --bind-to none -np 2 /usr/local/bin/windlass-trainer \
        comm check --megabytes 2 --rounds 2 >"$work/ranks" 2>&1
    local code=$?
    [ $code -eq 0 ] && grep -q '^2 ranks on .* (2); Open MPI v' "$work/ranks" && grep -q '^sums are right' "$work/ranks" &&
        [ "$(wc -l <"$work/ranks")" -eq 6 ] || { sed 's/^/# /' "$work/ranks" "$work/err"; return 1; }
}
check "mpirun starts two ranks of it, which compute a sum without a complaint" ranks
check "there is no shell" [ ! -e "$root/bin/sh" ]
check "no library of a fabric is in it" [ -z "$(find "$root" -name 'libuc[pst]*' -o -name 'libfabric*' -o -name 'libpsm*' -o -name 'libibverbs*')" ]
check "nothing of video is in it" [ -z "$(find "$root" -name 'libavcodec*')" ]
check "every library is there" [ -z "$(find "$root/usr/lib" -name '*.so*' -type f -exec ldd {} + 2>/dev/null | grep 'not found')" ]
check "packages have their records and licences" [ "$(cd "$root" && ls -d var/lib/dpkg/status.d/openmpi-bin var/lib/dpkg/status.d/libopenmpi3 usr/share/doc/libpmix2/copyright | wc -l)" -eq 3 ]
check "none is there that no file came from" [ ! -e "$root/var/lib/dpkg/status.d/libopenmpi-dev" ]
size=$(du -sm "$root" | cut -f1)
check "it is small ($size MB)" [ "$size" -le 100 ]
exit $((failures > 0))
