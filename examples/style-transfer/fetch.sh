#!/usr/bin/env bash
# Fetches the demo's video into data/media/: cockatoo.mp4 (1280x720, 20 frames a second, 14 s, with
# sound) out of Debian's package python3-imageio (BSD-2-Clause). The package is unpacked, not installed.
set -euo pipefail
cd "$(dirname "$0")"
[ -s data/media/cockatoo.mp4 ] && exit 0
inside=usr/lib/python3/dist-packages/imageio/resources/images/cockatoo.mp4
mkdir -p data/media
if [ -s "/$inside" ]; then
    cp "/$inside" data/media/cockatoo.mp4
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt's own user writes here
download() { (cd "$work" && apt-get download -qq python3-imageio) >"$work/log" 2>&1; }
if ! download; then
    root=
    [ "$(id -u)" -eq 0 ] || root=$(command -v sudo || true)
    $root apt-get update -qq >>"$work/log" 2>&1 && download ||
        { cat "$work/log" >&2; echo "fetch.sh: Debian's package python3-imageio could not be downloaded" >&2; exit 3; }
fi
dpkg-deb -x "$work"/python3-imageio_*.deb "$work/x"
mv "$work/x/$inside" data/media/cockatoo.mp4.tmp
mv data/media/cockatoo.mp4.tmp data/media/cockatoo.mp4
