#!/usr/bin/env bash
# metrics.secure of the chart: the controller with the chart's arguments and roles on a real kube-apiserver 1.20 shows
# metrics to a token that may get /metrics, and to no other; not at the probes' port; bad tokens cost the API server
# little; a right that is taken away ends; without an API server no one reads.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
bin=$(tests/cluster/get-clients.sh) || exit 3
make -s "${BUILD:-build}/windlass" || { echo "not ok ${0##*/}: cannot be built"; exit 1; }
windlass=$PWD/${BUILD:-build}/windlass
folder=$(mktemp -d)
controller=
trap 'kill -9 $controller 2>/dev/null; tests/cluster/api-server.sh stop "$folder/api"; rm -rf "$folder"' EXIT
export HELM_CACHE_HOME=$folder/helm HELM_CONFIG_HOME=$folder/helm HELM_DATA_HOME=$folder/helm
tests/cluster/api-server.sh start "$folder/api" --owner $$ >/dev/null || exit 3
k() { "$folder/api/kubectl" "$@"; }
k create namespace windlass >/dev/null || exit 3
"$bin/helm" template windlass charts/windlass -n windlass --kube-version 1.20 --set image.registry=registry.test/x --set metrics.secure=true \
    >"$folder/chart.yaml" || exit 3
k apply -n windlass -f "$folder/chart.yaml" >/dev/null 2>&1
for name in prometheus stranger; do k create serviceaccount $name -n windlass >/dev/null || exit 3; done
k create clusterrolebinding prometheus --clusterrole=windlass-metrics-reader --serviceaccount=windlass:prometheus >/dev/null || exit 3
token_of() {
    "$folder/api/curl" "/api/v1/namespaces/windlass/serviceaccounts/$1/token" -X POST -H 'Content-Type: application/json' \
        -d '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["https://kubernetes.default.svc"]}}' | jq -re .status.token
}
cat >"$folder/conf" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:$(cat "$folder/api/port")", certificate-authority: $folder/api/pki/ca.crt}}]
users: [{name: test, user: {token: "$(token_of windlass)"}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
current-context: test
CONFIG
read -r pages metrics < <(python3 -c '
import socket
held = [socket.socket() for _ in range(2)]
for s in held: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in held])')
mapfile -t arguments < <(k get deployment -n windlass windlass -o json | jq -r '.spec.template.spec.containers[0].args[]')
check "the chart names the port" eval '[[ " ${arguments[*]} " == *" --metrics-listen=[::]:8444 "* ]]'
"$windlass" "${arguments[@]}" --metrics-listen="127.0.0.1:$metrics" --kubeconfig="$folder/conf" --lease-namespace=windlass --listen="127.0.0.1:$pages" \
    >"$folder/log" 2>&1 &
controller=$!
page() { curl -s -o "$folder/page" -w '%{http_code}' --max-time 20 "$@"; }
ready() { [ "$(page "http://127.0.0.1:$pages/healthz")" = 200 ]; }
until_true 60 ready || { sed 's/^/# /' "$folder/log"; echo "not ok it starts"; exit 1; }
secure=https://127.0.0.1:$metrics/metrics
prometheus=$(token_of prometheus)
# 429: this address has had its questions of this second.
at_once() { page -k -H "Authorization: Bearer $1" "$secure"; }
answered() { code=$(at_once "$1"); [ "$code" != 429 ]; }
with() { until_true 60 answered "$1"; echo "$code"; }
check "the probes' port has no metrics" [ "$(page "http://127.0.0.1:$pages/metrics")" = 404 ]
check "who may get /metrics reads them" eval '[ "$(with "$prometheus")" = 200 ] && grep -q "^windlass_build_info" "$folder/page"'
check "a token that may not: 403" eval '[ "$(with "$(token_of stranger)")" = 403 ] && ! grep -q windlass_ "$folder/page"'
check "no token: 401" [ "$(page -k "$secure")" = 401 ]
check "an invalid one: 401" [ "$(with "${prometheus%?????}aaaaa")" = 401 ]
check "bytes that are not ASCII: 401" [ "$(with "$(printf '\377\376')")" = 401 ]
check "another scheme: 401" [ "$(page -k -u a:b "$secure")" = 401 ]
check "no other page" [ "$(page -k -H "Authorization: Bearer $prometheus" "https://127.0.0.1:$metrics/healthz")" = 404 ]
check "nothing without TLS" [ "$(page "http://127.0.0.1:$metrics/metrics")" != 200 ]
check "nor with TLS 1.2" [ "$(page -k --tls-max 1.2 "$secure")" = 000 ]

##### Debian's Prometheus scrapes it, with the chart's alerts #####################################
debian=$(tests/cluster/deb.sh prometheus) || { echo "not ok Debian's Prometheus comes"; exit 1; }
promtool=$debian/usr/bin/promtool
printf %s "$prometheus" >"$folder/token"
port=$(. tests/cluster/lib.sh && free_port)
cat >"$folder/prometheus.yml" <<CONFIG
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$PWD/charts/windlass/files/alerts.yaml]
scrape_configs:
  - {job_name: windlass, scheme: https, tls_config: {insecure_skip_verify: true}, bearer_token_file: $folder/token, static_configs: [{targets: ["127.0.0.1:$metrics"]}]}
CONFIG
check "promtool accepts the alerts" "$promtool" check config "$folder/prometheus.yml"
check "each alert fires where it should, and only there" "$promtool" test rules tests/data/alerts/tests.yaml
"$debian/usr/bin/prometheus" --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/tsdb" --web.listen-address="127.0.0.1:$port" \
    >"$folder/prometheus.log" 2>&1 &
controller="$controller $!"
ask() { curl -s --max-time 20 "http://127.0.0.1:$port/api/v1/$1" "${@:2}"; }
scraped() { [ "$(ask query --data-urlencode 'query=windlass_build_info' | jq '.data.result | length')" = 1 ]; }
check "it is scraped with the token" until_true 60 scraped
evaluated() { ask rules | jq -e '[.data.groups[].rules[].health] | length >= 8 and all(. == "ok")' >/dev/null; }
check "every alert is evaluated" until_true 60 evaluated
# Each query of the board is valid, and each metric in it and in the alerts is one that the page has.
board=charts/windlass/files/dashboard.json
queries() { jq -r '.panels[].targets[].expr' $board; }
valid() { while read -r query; do ask query --data-urlencode "query=$query" | jq -e '.status == "success"' >/dev/null || { echo "# $query"; return 1; }; done < <(queries); }
check "every query of the dashboard is valid" valid
known() {
    local name
    for name in $( (queries; cat charts/windlass/files/alerts.yaml) | grep -oE '\b(windlass|process)_[a-z_]+' | sort -u); do
        grep -qE "^# TYPE ${name%_bucket} " "$folder/scraped" || { echo "# no metric $name"; return 1; }
    done
}
check "the page is there" eval '[ "$(with "$prometheus")" = 200 ] && cp "$folder/page" "$folder/scraped"'
check "no metric of the dashboard or the alerts is unknown" known
loads() { jq -e '.uid and .title and (.schemaVersion >= 30) and ([.panels[].id] | length == (unique | length)) and
    ([.panels[] | .gridPos | .x + .w <= 24] | all) and ([.panels[].targets[].refId] | all) and (.templating.list[0].type == "datasource")' $board >/dev/null; }
check "the dashboard is one that Grafana loads" loads
linked() { # each alert has its section
    local name
    for name in $(sed -n 's/^ *- alert: //p' charts/windlass/files/alerts.yaml); do grep -qx "## $name" docs/operate/runbooks.md || return 1; done
}
check "each alert has a runbook" linked

# 60 made-up tokens, and meanwhile a reader whose token is known.
made_up() {
    local i codes= began=$SECONDS
    for i in $(seq 60); do codes="$codes $(at_once "made-up-$i")"; done
    [[ $codes == *429* || $SECONDS -gt $((began + 5)) ]] && [[ $codes != *200* ]] && [ "$(with "$prometheus")" = 200 ]
}
# A certificate as cert-manager makes it: an RSA key, valid for a day, signed by an authority that is not a root, whose own
# certificate comes behind it. signed FOLDER ROOT: makes both files, and ROOT.crt.
signed() {
    local at=$folder/signed
    mkdir -p "$1" "$at"
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj "/CN=root" -keyout "$at/root.key" -out "$2.crt" 2>/dev/null &&
        openssl req -newkey rsa:2048 -nodes -subj "/CN=between" -keyout "$at/between.key" -out "$at/between.csr" 2>/dev/null &&
        openssl x509 -req -in "$at/between.csr" -CA "$2.crt" -CAkey "$at/root.key" -CAcreateserial -days 1 \
            -extfile <(echo basicConstraints=critical,CA:TRUE) -out "$at/between.crt" 2>/dev/null &&
        openssl req -newkey rsa:2048 -nodes -subj /CN=metrics.test -keyout "$1/tls.key" -out "$at/leaf.csr" 2>/dev/null &&
        openssl x509 -req -in "$at/leaf.csr" -CA "$at/between.crt" -CAkey "$at/between.key" -CAcreateserial -days 1 \
            -extfile <(echo subjectAltName=DNS:metrics.test) -out "$at/leaf.crt" 2>/dev/null &&
        cat "$at/leaf.crt" "$at/between.crt" >"$1/tls.crt"
}
# A second controller with a certificate of the administrator's.
given() {
    signed "$folder/tls" "$folder/root" || return 1
    "$windlass" controller --metrics-listen=127.0.0.1:0 --metrics-tls="$folder/nothing" --kubeconfig="$folder/conf" --listen=127.0.0.1:0 >"$folder/other" 2>&1
    [ $? = 2 ] && grep -q "nothing/tls.crt" "$folder/other" || return 1
    other=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$windlass" controller --metrics-listen="127.0.0.1:$other" --metrics-tls="$folder/tls" --kubeconfig="$folder/conf" --lease-namespace=windlass \
        --listen=127.0.0.1:0 >"$folder/other" 2>&1 &
    controller="$controller $!"
    trusted() { # ROOT
        [ "$(page --cacert "$1.crt" --resolve "metrics.test:$other:127.0.0.1" -H "Authorization: Bearer $prometheus" "https://metrics.test:$other/metrics")" = 200 ]
    }
    until_true 60 trusted "$folder/root"
}
check "with a certificate that is given, which a reader can check" given
renewed() {
    signed "$folder/new" "$folder/next" && mv "$folder/new/"* "$folder/tls/" && until_true 60 trusted "$folder/next" && ! trusted "$folder/root"
}
check "one that is renewed in its file is taken without a restart" renewed
check "made-up tokens are limited; a known reader reads on" made_up
check "probes answer" ready
k delete clusterrolebinding prometheus >/dev/null
ended() { [ "$(with "$prometheus")" = 403 ]; }
check "a right that was taken away ends within seconds" until_true 60 ended
tests/cluster/api-server.sh stop "$folder/api" >/dev/null
check "without the API server no one new reads" [ "$(with "another-token")" = 503 ]
# shellcheck disable=SC2086 # two numbers
kill $controller
wait
exit $((failures > 0))
