#!/usr/bin/env bash
# The content of images/agent.Containerfile, without buildah: windlass-agent with all libraries that it opens, in a root
# folder with nothing else but windlass, as a user that owns nothing there. A film becomes a film. Without the files of
# FFmpeg, oneDNN or libcurl what needs them says so by name, and all else runs. (test_images.sh tests the images themselves.)
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
if [ "$(id -u)" != 0 ]; then echo "skip the agent's root folder: chroot needs root"; exit 0; fi
build=${BUILD:-build}
built "$build/windlass" "$build/windlass-agent" "$build/windlass-shim" || { echo "not ok test_agent_image: cannot be built"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
here=$PWD
root=$work/root
linked() { ldd "$build/windlass" "$build/windlass-agent" | grep -E 'libav|libsw|libdnnl|libgomp|libcurl'; }
check "programs start without FFmpeg, oneDNN, OpenMP and libcurl" [ -z "$(linked)" ]
collect() {
    strip -o "$work/windlass" "$build/windlass" && strip -o "$work/windlass-agent" "$build/windlass-agent" && cd "$work" &&
        "$here/images/collect.sh" "$root" windlass windlass-agent && cd "$here" && mkdir -p "$root"/{proc,dev,job/data/{model,photos}}
}
check "it is put together" collect
ffmpeg -v error -f lavfi -i testsrc2=size=64x48:rate=10 -frames:v 6 -c:v libx264 -pix_fmt yuv420p "$root/job/data/film.mp4" </dev/null || exit 3
ffmpeg -v error -f lavfi -i testsrc2=size=64x48:rate=10 -frames:v 3 "$root/job/data/photos/p%d.png" </dev/null || exit 3
python3 tests/data/models/make.py "$root/job/data/model"
job() { # NAME INPUT
    cat >"$root/job/$1.yaml" <<M
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: $1}
spec:
  input: $2
  scorer: {onnx: {path: data/model/invert.onnx}}
  output: {path: data/$1}
  miniBatchSize: 2
  workers: {min: 1, max: 1}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
M
}
job film '{video: {path: data/film.mp4}}'
job pictures '{files: {path: data/photos}}'
chown -R 65532:65532 "$root/job"
inside() { # [VARIABLE=VALUE...] COMMAND...: in the root folder, as in a container; its mounts and processes end with it
    local variables=()
    while [[ $1 == *=* ]]; do variables+=("$1") && shift; done
    # shellcheck disable=SC2016 # sh's arguments
    timeout 120 unshare --mount --pid --ipc --fork sh -c 'root=$1 && shift && mount -t proc proc "$root/proc" &&
        mount --rbind /dev "$root/dev" && mount -t tmpfs -o mode=1777 tmpfs "$root/tmp" &&
        exec env -i HOME=/tmp PATH=/usr/sbin:/usr/bin:/usr/local/bin "$@"' sh "$root" "${variables[@]}" \
        chroot --userspec=65532:65532 "$root" "$@" >"$work/said" 2>&1 </dev/null
    code=$?
}
run() { inside "${@:2}" windlass run -f "/job/$1.yaml" --state "/job/state-$1"; }
succeeds() { run "$@"; [ $code -eq 0 ] || { sed 's/^/# /' "$work/said"; return 1; }; }
check "a film becomes a film" succeeds film
check "of all its frames" [ "$(count_frames "$root/job/data/film/film.mp4")" = 6 ]
check "FFmpeg has its record and licence" [ -s "$root/var/lib/dpkg/status.d/libavformat59" -a -s "$root/usr/share/doc/libavcodec59/copyright" ]

# What programs in Python import: the line of the Containerfile puts it into the image, the init container beside the shim.
module() {
    local line
    line=$(sed -n "s,^RUN \(install .*windlass\.py\) /image/\(.*\)$,\1 $root/\2,p" images/agent.Containerfile)
    [ -n "$line" ] || return 1
    # shellcheck disable=SC2086 # its words
    $line && cp "$build/windlass-shim" "$root/usr/local/bin/" && mkdir -m 777 "$root/tools" && inside windlass-agent install /tools
    [ "$code" -eq 0 ] && cmp agent/score/worker/python/windlass.py "$root/tools/python/windlass.py" || { sed 's/^/# /' "$work/said"; return 1; }
    (cd / && PYTHONPATH=$root/tools/python python3 -B -c 'import sys, windlass; sys.exit(not windlass.__file__.startswith(sys.argv[1]))' "$root/tools")
}
check "windlass.py of the image comes beside the shim, and is imported from there" module

find "$root" -name 'libav*.so*' -delete
rm -r "$root/job/data/film" "$root/job/state-film"
check "without FFmpeg pictures become pictures" succeeds pictures
check "all of them" [ "$(find "$root/job/data/pictures" -name '*.png' | wc -l)" -eq 3 ]
fails() { # as an input that cannot be used, and names the library
    run film "$@"
    [ $code -eq 2 ] && grep -q 'film.mp4: videos need FFmpeg, of which a library is missing here: libavformat.so.[0-9]*: cannot open shared object file' "$work/said" ||
        { echo "# code $code"; sed 's/^/# /' "$work/said"; return 1; }
}
check "and a film's job says what is missing" fails
check "as it does where the worker decodes" fails WINDLASS_SANDBOX=off

find "$root" -name 'libdnnl.so*' -delete
python3 -B - "$root/job/data/model/lrn.onnx" <<'P' || exit 3
import sys
sys.path.insert(0, "tests/data/models")
import make
shape = [1, 3, 8, 8]
with open(sys.argv[1], "wb") as file:
    file.write(make.model([make.node("LRN", ["x"], ["y"], size=3)], [make.value("x", shape)], [make.value("y", shape)]))
P
without() { # CODE 'TEXT' COMMAND...: it ends so, and says that
    inside "${@:3}"
    [ $code -eq "$1" ] && grep -q "$2" "$work/said" || { echo "# code $code"; sed 's/^/# /' "$work/said"; return 1; }
}
check "without oneDNN a network that has no step for it runs" \
    without 0 'fastest of' windlass-agent model profile /job/data/model/fixed.onnx
check "and one that has says what is missing" \
    without 3 'networks need oneDNN, of which a library is missing here: libdnnl.so.[0-9]*: cannot open' windlass-agent model profile /job/data/model/lrn.onnx

find "$root" -name 'libcurl.so*' -delete
check "without libcurl a manifest is checked" without 0 '' windlass check -f /job/pictures.yaml
rm -r "$root/job/data/pictures" "$root/job/state-pictures"
check "and what needs HTTP says what is missing" without 3 'HTTP needs libcurl, which is missing here: libcurl.so.4: cannot open' \
    windlass run -f /job/pictures.yaml --state /job/state-pictures
exit $((failures > 0))
