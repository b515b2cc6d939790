#!/bin/sh
# cuda-libraries.sh: NVIDIA's libraries in the CUDA images, and what they load of Debian's.
#   cuda-libraries.sh names PART...            their file names, some as patterns. PART: both (agent-cuda and trainer-cuda),
#                                              agent, trainer
#   cuda-libraries.sh copy TO FROM...          copies those that are in the folders FROM to TO/both, TO/agent, TO/trainer
#   cuda-libraries.sh system                   the names of Debian's libraries that they load (for collect.sh)
#   cuda-libraries.sh check ROOT FOLDER...     fails if a library in a FOLDER needs one that is neither in a FOLDER nor
#                                              among the libraries in ROOT, an image's root
# libcudnn.so.9 opens its other parts and NVRTC by name, and NVRTC its builtins: no list of NEEDED libraries has them.
set -eu
names() {
    for part in "$@"; do
        case $part in
        both) printf '%s\n' 'libcudnn*.so.9' libcublasLt.so.13 libnvrtc.so.13 'libnvrtc-builtins.so.13.*' ;;
        agent) echo libnvjpeg.so.13 ;;
        trainer) echo libnccl.so.2 ;;
        *) echo "cuda-libraries.sh: '$part' is none of both, agent, trainer" >&2 && exit 2 ;;
        esac
    done
}
copy_one() { # FOLDER FILE...: those that exist
    to_part=$1
    shift
    for file in "$@"; do [ ! -e "$file" ] || cp -L "$file" "$to_part/"; done
}
copy() {
    to=$1
    shift
    for part in both agent trainer; do
        mkdir -p "$to/$part"
        for from in "$@"; do
            for name in $(names $part); do copy_one "$to/$part" "$from"/$name; done
        done
    done
}
check() {
    libraries=$1/usr/lib/$(uname -m)-linux-gnu
    shift
    missing=0
    for folder in "$@"; do
        for file in "$folder"/*.so.*; do
            [ -e "$file" ] || continue # an image may be built without these libraries
            for needed in $(readelf -dW "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'); do
                case $needed in ld-linux*) continue ;; esac # the loader itself, elsewhere
                found=
                for place in "$libraries" "$@"; do [ ! -e "$place/$needed" ] || found=1; done
                [ -n "$found" ] || { echo "cuda-libraries.sh: $file needs $needed, which the image lacks" >&2; missing=1; }
            done
        done
    done
    return $missing
}
what=${1:?names, copy, system or check}
shift
case $what in
names) names "$@" ;;
copy) copy "$@" ;;
system) printf '%s\n' libdl.so.2 libgcc_s.so.1 libm.so.6 libpthread.so.0 librt.so.1 libstdc++.so.6 libz.so.1 ;;
check) check "$@" ;;
*) echo "cuda-libraries.sh: '$what' is none of names, copy, system, check" >&2 && exit 2 ;;
esac
