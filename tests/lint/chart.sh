#!/usr/bin/env bash
# The chart's CRD templates are generated from crds/, and its version is the programs'. Each field of the definitions that
# names a Secret, an image, an account or a node's folder is one of those that an administrator's jobPolicy is about.
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
fields() {
    /usr/bin/python3 - crds/batchscore.yaml crds/disttrain.yaml <<'P'
import sys, yaml
ASKED = {"secretName", "image", "serviceAccountName", "hostPath", "identity"}


def walk(schema, path):
    for name, value in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        if name in ASKED:
            print(here)
        elif name == "imagePullSecrets":
            print(here + "[].name")
        walk(value, here)
    if "items" in schema:
        walk(schema["items"], path + "[]")


for file in sys.argv[1:]:
    definition = yaml.load(open(file), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    walk(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"], "")
P
}
named=$(fields | sort -u)
[ "$(wc -l <<<"$named")" -gt 10 ] || { echo "not ok chart: crds/ cannot be read"; bad=1; }
for field in $named; do
    grep -qF "\"$field\"}" operator/kinds/job/guard/job_policy.c && cut -d' ' -f3 charts/windlass/templates/_job-policy.tpl | grep -qxF "$field" && continue
    echo "not ok spec.$field is not in job_policy.c, or not in _job-policy.tpl: a jobPolicy would not see it"
    bad=1
done
[ $bad -eq 0 ] && echo "ok chart"
exit $bad
