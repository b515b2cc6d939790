#!/usr/bin/env bash
# The layer rules: which folder may include which, and who owns each third-party header.
# Prints "ok includes" or one "not ok" line per broken include.
cd "$(dirname "$0")/../.." || exit 3
bad=0
# allow FOLDER 'PREFIXES THAT ITS FILES MAY INCLUDE' (longest folder wins)
allow='
lib                     lib/
operator/commands       operator/ lib/
operator/local          operator/local/ operator/cluster.h operator/object.h lib/
operator/kube           operator/kube/ operator/cluster.h operator/operator_metrics.h operator/manifest.h lib/
operator/control        operator/control/ operator/cluster.h operator/object.h operator/operator_metrics.h operator/manifest.h operator/schema.h lib/
operator/kinds/job      operator/kinds/job/ operator/control/ operator/cluster.h operator/object.h operator/operator_metrics.h operator/manifest.h operator/schema.h lib/
operator/kinds          operator/kinds/ operator/control/ operator/cluster.h operator/object.h operator/operator_metrics.h operator/manifest.h operator/schema.h lib/
operator                operator/ lib/
agent/graph             agent/graph/ lib/
agent/ops               agent/ops/ agent/graph/ lib/
agent/onnx              agent/onnx/ agent/ops/ agent/graph/ lib/
agent/models            agent/models/ agent/ops/ agent/graph/ lib/
agent/device            agent/device/ agent/graph/ agent/ops/ lib/
agent/device/cpu/fast   agent/device/cpu/fast/ agent/device/cpu/cpu.h agent/device/cpu/isa.h agent/device/cpu/threads.h agent/device/device.h agent/graph/ agent/ops/ lib/
agent/device/cpu/onednn agent/device/cpu/onednn/ agent/device/cpu/cpu.h agent/device/cpu/isa.h agent/device/cpu/threads.h agent/device/device.h agent/graph/ agent/ops/ lib/
agent/run               agent/run/ agent/onnx/ agent/ops/bytes.h agent/ops/rewrite.h agent/ops/work.h agent/graph/ agent/device/device.h agent/device/registry.h lib/
agent/store             agent/store/ lib/
agent/comm              agent/comm/ lib/
agent/data              agent/data/ agent/store/ lib/
agent/launch            agent/launch/ agent/store/ lib/
agent/score             agent/score/ agent/launch/process.h agent/launch/notice.h agent/data/ agent/store/ agent/run/ agent/onnx/ agent/graph/ agent/ops/bytes.h agent/device/device.h agent/device/registry.h agent/job.h lib/
agent/train             agent/train/ agent/data/ agent/store/ agent/run/ agent/comm/ agent/onnx/ agent/models/ agent/ops/ agent/graph/ agent/launch/metric.h agent/device/device.h agent/device/registry.h lib/
agent/commands          agent/ lib/
agent                   agent/ lib/
'
while read -r file; do
    best= rules=
    while read -r folder prefixes; do
        [ -n "$folder" ] || continue
        case $file in "$folder"/*) [ ${#folder} -gt ${#best} ] && best=$folder rules=$prefixes ;; esac
    done <<<"$allow"
    while read -r included; do
        fine=
        for prefix in $rules; do case $included in "$prefix"*) fine=1 ;; esac; done
        [ -n "$fine" ] || { echo "not ok $file includes $included: $best may include: $rules"; bad=1; }
    done < <(grep -ohE '^#include "[^"]+"' "$file" | cut -d'"' -f2)
done < <(git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' | grep -E '^(lib|operator|agent)/')
# Third-party headers: header pattern -> the only files that may include it.
owner() {
    git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' | grep -E '^(lib|operator|agent)/' |
        xargs grep -lE "^#include <($1)" 2>/dev/null | grep -vE "^($2)$" |
        while read -r file; do echo "not ok $file includes <$1: only $2 may"; done
}
out=$(
    owner 'curl/' 'lib/net/http_call\.[ch]'
    owner 'ares' 'lib/net/resolve\.c'
    owner 'yaml\.h' 'operator/manifest\.c'
    owner 'libwebsockets' 'lib/net/(server|socket)\.c'
    owner 'openssl/' 'lib/(digest|net/(http|tls|server|socket))\.c'
    owner 'oneapi/' 'agent/device/cpu/onednn/[a-z_]*\.[ch]'
    owner 'libav|libsw' 'agent/data/video_[a-z_]*\.[ch]'
    owner 'turbojpeg' 'agent/data/image_jpeg\.c'
    owner 'png\.h' 'agent/data/image_png\.c'
    owner 'zlib\.h' 'agent/data/gzip\.c'
    owner 'mpi\.h' 'agent/comm/mpi\.c'
    owner 'nvjpeg' 'agent/data/nvjpeg_library\.h'
    owner 'cuda|cudnn|cublas' 'agent/device/cuda/.*'
)
[ -z "$out" ] || { echo "$out"; bad=1; }
[ $bad -eq 0 ] && echo "ok includes"
exit $bad
