#!/usr/bin/env bash
# Installs the Debian packages that a make target needs, and only those that are missing.
#   deps.sh deps|deps-demo|deps-test|deps-bench
# Does not use the network if everything is installed.
set -euo pipefail

build="gcc binutils libc6-dev make pkg-config libcurl4-openssl-dev libssl-dev libyaml-dev libjansson-dev
    libwebsockets-dev libc-ares-dev libdnnl-dev libavformat-dev libavcodec-dev libavutil-dev libswresample-dev libswscale-dev
    libturbojpeg0-dev libpng-dev libnghttp2-dev libidn2-dev libunistring-dev libzstd-dev libbrotli-dev zlib1g-dev libutf8proc-dev
    libcap-dev libopenmpi-dev"
demo="$build ca-certificates tzdata"
tests="$demo python3-numpy clang clang-format clang-tidy libclang-rt-14-dev git ffmpeg python3 procps bsdutils
    libfuse3-dev libonnx-testdata dataset-fashion-mnist etcd-server openssl curl jq nodejs npm file strace
    openmpi-bin mpich libmpich-dev iproute2 nftables python3-pil ccache postgresql odbc-postgresql libsqliteodbc odbcinst"
bench="$tests time python3-distributed python3-uvloop"

case ${1:-deps} in
deps) wanted=$build ;;
deps-demo) wanted=$demo ;;
deps-test) wanted=$tests ;;
deps-bench) wanted=$bench ;;
*) echo "deps.sh: unknown set '$1' (deps, deps-demo, deps-test, deps-bench)" >&2; exit 2 ;;
esac

missing=
for package in $wanted; do
    case $package in
    # node and npm from elsewhere work as well as Debian's.
    nodejs) ! command -v node >/dev/null || continue ;;
    npm) ! command -v npm >/dev/null || continue ;;
    esac
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

echo "installing:$missing"
# shellcheck disable=SC2086 # the lists are words
exec "${0%/*}/apt-install.sh" $missing
