#!/usr/bin/env bash
# scorer.endpoint by `windlass run` with a server behind an authority of its own (authority), behind a proxy (proxy), with headers,
# and with one that wants a certificate of its clients (clientCertificate) and speaks HTTP/2.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
. tests/e2e/endpoint/lib.sh
trap 'stop_servers; rm -rf "$work"' EXIT
mkdir -p "$work/data"
batch 5 >"$work/data/requests.jsonl"
# Signed by an authority that this machine does not know, for the name llm.test and for 127.0.0.1.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout "$work/ca.key" -out "$work/ca.crt" 2>/dev/null &&
    openssl req -newkey rsa:2048 -nodes -subj /CN=llm.test -keyout "$work/server.key" -out "$work/server.csr" 2>/dev/null &&
    openssl x509 -req -in "$work/server.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 2 -out "$work/server.crt" \
        -extfile <(echo 'subjectAltName = DNS:llm.test, IP:127.0.0.1') 2>/dev/null || exit 3
python3 tests/e2e/endpoint/tls_server.py "$work/server.crt" "$work/server.key" >"$work/ports" 2>"$work/connects" &
servers+=($!)
until_true 60 test -s "$work/ports" || exit 3
mkdir -p "$work/secrets/client"
openssl req -newkey rsa:2048 -nodes -subj /CN=lab-7 -keyout "$work/secrets/client/tls.key" -out "$work/client.csr" 2>/dev/null &&
    openssl x509 -req -in "$work/client.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 2 \
        -out "$work/secrets/client/tls.crt" 2>/dev/null || exit 3
node tests/e2e/endpoint/h2_server.cjs "$work/server.crt" "$work/server.key" "$work/ca.crt" >"$work/h2.port" 2>"$work/h2.posts" &
servers+=($!)
until_true 60 test -s "$work/h2.port" || exit 3
h2=$(cat "$work/h2.port")
read -r port proxy <"$work/ports"
authority=$(sed 's/^/        /' "$work/ca.crt")
# job NAME URL MORE: more is lines of the endpoint.
job() {
    out=$work/data/$1
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: $1}
spec:
  input: {table: {path: data/requests.jsonl, format: JSONLines}}
  scorer:
    endpoint:
      url: $2
      readyTimeoutSeconds: 20
$3
  output: {path: data/$1}
  workers: {min: 1, max: 1}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    timeout 120 "$windlass" run -f "$work/$1.yaml" --secrets "$work/secrets" --state "$work/$1.state" >"$work/$1.said" 2>&1 </dev/null
}
said() { [ "$(jq -r .response.body.choices[0].message.content "$out/output.jsonl" | sort | uniq -c | xargs)" = "${2:-5} $1" ]; }
pem="      authority: |
$authority"
job direct "https://127.0.0.1:$port" "$pem
      concurrency: 1
      headers: {X-Wanted: hello, X-Empty: ''}"
check "a server of an authority of its own answers, and hears a header" [ $? = 0 ]
check "each time" said hello
check "all by one connection" until_true 60 grep -qx 'posts 5' "$work/connects"
https_proxy=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 job behind https://llm.test:8443/v1 "$pem
      proxy: http://127.0.0.1:$proxy"
check "a name that the proxy alone knows is reached through it, whatever the environment says" [ $? = 0 ]
check "and is asked there" said nothing
check "by that name" grep -q '^CONNECT llm.test:8443 ' "$work/connects"
job unknown "https://127.0.0.1:$port" ""
check "without its authority nothing is sent" [ $? = 1 ]
check "and the reason is in the log" grep -qi 'certificate' "$work/unknown.said"
job strangers "https://127.0.0.1:$h2" "$pem"
check "a server that wants a certificate ends a job without" [ $? = 1 -a ! -s "$work/h2.posts" ]
check "with the field that it lacks" grep -q 'alert certificate required.*: see spec.scorer.endpoint.clientCertificate' "$work/strangers.said"
mkdir "$work/secrets/mixed"
cp "$work/secrets/client/tls.crt" "$work/secrets/mixed/tls.crt"
cp "$work/server.key" "$work/secrets/mixed/tls.key"
job mixed "https://127.0.0.1:$h2" "$pem
      clientCertificate: {secretName: mixed}"
check "a key that is not the certificate's ends it before anything is sent" [ $? = 1 -a ! -s "$work/h2.posts" ]
check "with the field" grep -q 'spec.scorer.endpoint.clientCertificate: the private key is not that of the (first) certificate' "$work/mixed.said"
batch 64 >"$work/data/requests.jsonl"
job client "https://127.0.0.1:$h2" "$pem
      concurrency: 16
      clientCertificate: {secretName: client}"
check "with one of a Secret it answers" [ $? = 0 ]
check "that client, each time" said lab-7 64
check "by HTTP/2: one connection has all requests" [ "$(awk '{ print $2 }' "$work/h2.posts" | sort | uniq -c | awk '{ print $1 }')" = 64 ]
check "up to 16 at a time" [ "$(awk '$3 > most { most = $3 } END { print most }' "$work/h2.posts")" -gt 8 ]
check "its key is in no file of the job" [ -z "$(grep -rlF "$(sed -n 2p "$work/secrets/client/tls.key")" "$work/client.state" "$work/data" "$work/client.said")" ]
[ $failures -eq 0 ] || tail -qn 4 "$work"/*.said "$work"/*.state/*.log | cut -c1-300 | sed 's/^/# /'
exit $((failures > 0))
