#!/usr/bin/env bash
# The chart's CRD templates are generated from crds/, and its version is the programs'.
cd "$(dirname "$0")/../.." || exit 3
bad=0
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
charts/make-crds.sh "$made" || { echo "not ok chart: charts/make-crds.sh failed"; exit 1; }
for file in "$made"/crd-*.yaml charts/windlass/templates/crd-*.yaml; do
    name=$(basename "$file")
    cmp -s "$made/$name" "charts/windlass/templates/$name" && continue
    echo "not ok charts/windlass/templates/$name is not what crds/ makes of it: run make chart"
    bad=1
    break
done
version=$(sed -n 's/^#define WINDLASS_VERSION "\(.*\)"$/\1/p' lib/base.h)
for key in version appVersion; do
    grep -qx "$key: $version" charts/windlass/Chart.yaml && continue
    echo "not ok charts/windlass/Chart.yaml: $key is not $version, the version in lib/base.h"
    bad=1
done
[ $bad -eq 0 ] && echo "ok chart"
exit $bad
