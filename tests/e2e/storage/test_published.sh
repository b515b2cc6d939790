#!/usr/bin/env bash
# Models from where they were published: https:// with a SHA-256, and oci:// from a real registry, Debian's docker-registry, also
# behind a token service (published_server.py); what is wrong with either is one line, and nothing half written is left.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
built build/tests/azurite/store || { echo "not ok the tool that the test needs is built"; exit 1; }
tool=$PWD/build/tests/azurite/store
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
finish() {
    # shellcheck disable=SC2046 # one word for each process
    kill $(jobs -p) 2>/dev/null
    rm -rf "$work"
}
trap finish EXIT
mkdir -p "$work"/{data,out,model,tmp,cache,home,docker,none}
export XDG_STATE_HOME=$work/state TMPDIR=$work/tmp DOCKER_CONFIG=$work/none WINDLASS_AUTHORITIES=$work/ca.crt
(. tests/cluster/lib.sh && cd "$work" && authority models && certificate server /CN=models IP:127.0.0.1) || exit 3
python3 tests/data/models/make.py "$work/model"
net=$work/model/invert.onnx
sha256=$(sha256sum <"$net" | cut -d' ' -f1)
wrong=${sha256//[0-4]/5}

port=$(. tests/cluster/lib.sh; free_port) locked=$(. tests/cluster/lib.sh; free_port)
registry=$(tests/cluster/deb.sh docker-registry) || { echo "not ok Debian's docker-registry comes"; exit 1; }
export XDG_CACHE_HOME=$work/cache
serve() { # NAME PORT LINES
    printf 'version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s}}\n%s\n' "$work/registry" "$3" >"$work/$1.yml"
    "$registry/usr/bin/docker-registry" serve "$work/$1.yml" >"$work/$1.log" 2>&1 &
    until_true 60 curl -sk "$4://127.0.0.1:$2/v2/" -o /dev/null
}
python3 -W ignore -c 'import crypt; print("user:" + crypt.crypt("open", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)))' >"$work/htpasswd"
check "a registry starts" serve open "$port" "http: {addr: 127.0.0.1:$port}" http
check "one with a password starts" serve locked "$locked" "http: {addr: 127.0.0.1:$locked, tls: {certificate: $work/server.crt, key: $work/server.key}}
auth: {htpasswd: {realm: models, path: $work/htpasswd}}" https
python3 tests/e2e/storage/published_server.py "$work/server.crt" "$work/server.key" "$net" "http://127.0.0.1:$port" >"$work/port" 2>>"$work/asked" &
until_true 60 test -s "$work/port"
host=127.0.0.1:$(cat "$work/port")
printf '{"auths": {"%s": {"auth": "dXNlcjpvcGVu"}, "127.0.0.1:%s": {"auth": "dXNlcjpvcGVu"}}}' "$host" "$locked" >"$work/docker/config.json"

# blob NAME FILE: prints its descriptor without the end.  manifest NAME TAG LAYERS: prints its digest.
blob() {
    local digest place
    digest=sha256:$(sha256sum <"$2" | cut -d' ' -f1)
    place=$(curl -s -X POST -D - -o /dev/null "http://127.0.0.1:$port/v2/$1/blobs/uploads/" | tr -d '\r' | sed -n 's/^[Ll]ocation: //p')
    curl -s -o /dev/null -X PUT -H 'Content-Type: application/octet-stream' --data-binary "@$2" "$place&digest=$digest"
    printf '"digest": "%s", "size": %s' "$digest" "$(stat -c %s "$2")"
}
manifest() {
    printf '{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": {"mediaType": "application/vnd.cncf.model.config.v1+json", %s}, "layers": [%s]}' \
        "$(blob "$1" "$work/config")" "$3" >"$work/manifest"
    curl -s -o /dev/null -X PUT -H 'Content-Type: application/vnd.oci.image.manifest.v1+json' --data-binary "@$work/manifest" "http://127.0.0.1:$port/v2/$1/manifests/$2"
    sha256sum <"$work/manifest" | cut -d' ' -f1
}
printf '{}' >"$work/config"
layer() { # NAME FILE TITLE [MEDIATYPE]
    printf '{"mediaType": "%s", %s, "annotations": {"%s": "%s"}}' "${4:-application/vnd.cncf.model.weight.v1.raw}" "$(blob "$1" "$2")" "${5:-org.opencontainers.image.title}" "$3"
}
good=$(manifest models/net v1 "$(layer models/net "$net" invert.onnx), $(layer models/net "$work/config" labels.txt)")
manifest models/two v1 "$(layer models/two "$net" a.onnx), $(layer models/two "$net" b.onnx)" >/dev/null
manifest models/pack v1 "$(layer models/pack "$net" deep/net.onnx '' org.cncf.model.filepath)" >/dev/null
manifest models/tar v1 "$(layer models/tar "$net" net.onnx application/vnd.cncf.model.weight.v1.tar)" >/dev/null
manifest models/broken v1 "$(layer models/broken "$net" net.onnx)" >/dev/null
manifest models/other v1 "$(layer models/other "$net" net.onnx)" >/dev/null

fetch() { rm -f "$work/got"; "$tool" fetch "$1" "${2:-}" "$work/got" >"$work/told" 2>"$work/err"; }
left() { find "$work/tmp" "$work/cache" -type f ! -name '*.lock' ! -name "$sha256"; }
gets() { fetch "$@" && cmp -s "$net" "$work/got" && [ -z "$(left)" ] && return; echo "# $(cat "$work/err") $(left)"; return 1; }
says() { # CODE TEXT PATH [SHA256]: one line, and nothing is left
    fetch "${@:3}"
    local code=$?
    [ $code -eq "$1" ] && grep -qF -- "$2" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -e "$work/got" ] && [ -z "$(left)" ] && return
    echo "# exit code $code: $(cat "$work/err") $(left)"
    return 1
}
anew() { rm -rf "$work/cache/windlass"; }

##### https://
check "https:// with its SHA-256" gets "https://$host/good.onnx" "$sha256"
kept() { : >"$work/asked"; gets "https://$host/good.onnx" "$sha256" && [ ! -s "$work/asked" ]; }
check "the second process takes it from the cache, without a request" kept
damaged() { printf x >>"$work/cache/windlass/models/$sha256" && gets "https://$host/good.onnx" "$sha256" && grep -q /good.onnx "$work/asked" && kept; }
check "a damaged file of the cache is fetched anew" damaged
linked() { printf secret >"$work/home/secret" && ln -sf "$work/home/secret" "$work/cache/windlass/models/$sha256" && ln -sf "$work/home/secret" "$work/cache/windlass/models/$sha256.part" && gets "https://$host/good.onnx" "$sha256" && [ "$(cat "$work/home/secret")" = secret ] && kept; }
check "links in the cache are not followed" linked
once() {
    anew
    : >"$work/asked"
    local pids=() i
    for i in 1 2 3 4; do "$tool" fetch "https://$host/good.onnx" "$sha256" "$work/got$i" >/dev/null & pids+=($!); done
    for i in "${pids[@]}"; do wait "$i" || return 1; done
    cmp -s "$net" "$work/got4" && [ "$(grep -c /good.onnx "$work/asked")" -eq 1 ]
}
check "four processes at once fetch it once" once
check "without a cache that can be written" env XDG_CACHE_HOME=/proc/none "$tool" fetch "https://$host/good.onnx" "$sha256" "$work/got"
anew
check "a redirect, whose query is a signature" gets "https://$host/moved.onnx" "$sha256"
anew
resumed() { gets "https://$host/cut.onnx" "$sha256" && [ "$(grep -c '/cut.onnx bytes=[1-9]' "$work/asked")" -eq 2 ]; }
check "an answer that breaks off is gone on with" resumed
anew
check "not with another state of the file" gets "https://$host/changing.onnx" "$sha256"
anew
check "https:// without a SHA-256" says 2 "https://$host/good.onnx: needs sha256 beside it" "https://$host/good.onnx"
check "another SHA-256" says 2 "https://$host/good.onnx: its SHA-256 is $sha256, not $wrong" "https://$host/good.onnx" "$wrong"
check "no such file" says 3 "https://$host/none.onnx: the server answered 404" "https://$host/none.onnx" "$sha256"
check "answers that always break off" says 3 "https://$host/cut-always.onnx: " "https://$host/cut-always.onnx" "$sha256"
check "redirects without an end" says 2 "more than 5 redirects" "https://$host/round.onnx" "$sha256"
check "a redirect to plain HTTP" says 2 '"http://127.0.0.1/x": expected https:// and a host' "https://$host/plain.onnx" "$sha256"
check "a redirect to a metadata service" says 3 "169.254.169.254, which is link-local or a metadata" "https://$host/metadata.onnx" "$sha256"

##### oci://
export DOCKER_CONFIG=$work/docker
pinned() { anew; gets "oci://127.0.0.1:$locked/models/net:v1" && [ "$(cat "$work/told")" = "oci://127.0.0.1:$locked/models/net@sha256:$good" ]; }
check "oci:// by its tag, with a password; the digest is printed" pinned
check "by its digest, from the cache" gets "oci://127.0.0.1:$locked/models/net@sha256:$good"
anew
token() { gets "oci://$host/models/net:v1" && grep -q '^/token.*Basic' "$work/asked"; }
check "by a token service" token
check "a file by its name" gets "oci://$host/models/two:v1/b.onnx"
check "ModelPack's name of a file" gets "oci://$host/models/pack:v1/deep/net.onnx"
check "a tag that is not there" says 3 "oci://$host/models/net:v9: the registry has no tag v9 of models/net" "oci://$host/models/net:v9"
check "two files" says 2 "has 2 files named *.onnx; add one's name behind a slash: a.onnx, b.onnx" "oci://$host/models/two:v1"
check "a file that it lacks" says 2 "has no file of the name c.onnx; it has a.onnx, b.onnx" "oci://$host/models/two:v1/c.onnx"
anew
check "an archive" says 3 "its layer is an archive" "oci://$host/models/tar:v1"
check "a blob that breaks off" says 3 "oci://$host/models/broken@sha256:" "oci://$host/models/broken:v1"
check "a blob of other bytes" says 2 "not $sha256" "oci://$host/models/other:v1"
check "a SHA-256 beside oci://" says 2 "sha256 is for https://" "oci://$host/models/net:v1" "$sha256"
check "no tag" says 2 "expected oci://REGISTRY/NAME:TAG" "oci://$host/models/net"
export DOCKER_CONFIG=$work/none
check "no password" says 3 "has no auth for 127.0.0.1:$locked" "oci://127.0.0.1:$locked/models/net:v1"
printf '{"auths": {"127.0.0.1:%s": {"auth": "dXNlcjp3cm9uZw=="}}}' "$locked" >"$work/none/config.json"
check "a wrong password" says 3 "the registry answered 401: the credentials that it got" "oci://127.0.0.1:$locked/models/net:v1"
export DOCKER_CONFIG=$work/docker

##### a job
ffmpeg -v error -f lavfi -i testsrc2=size=32x32:rate=50 -frames:v 4 "$work/data/%02d.png" </dev/null
job() { # PATH [, sha256: ...]
    cat >"$work/job.yaml" <<YAML
apiVersion: windlass.dev/v1alpha1
kind: BatchScore
metadata: {name: models}
spec:
  input: {files: {path: data}}
  scorer: {onnx: {path: "$1"${2:-}, preprocess: {range: Byte}, postprocess: {type: Image, range: Byte}}}
  output: {path: out/$3}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
    - {name: out, persistentVolumeClaim: {claimName: out}}
YAML
    (cd "$work" && "$windlass" run -f job.yaml) >"$work/said" 2>&1 </dev/null
}
scores() { job "oci://$host/models/net:v1" "" oci && grep -q "oci://$host/models/net@sha256:$good" "$work/out/oci/.windlass/result.json" "$work/out/oci/result.json" 2>/dev/null && return; tail -3 "$work/said" | sed 's/^/# /'; return 1; }
same() { job "https://$host/good.onnx" ", sha256: $sha256" https && diff -rq "$work/out/oci" "$work/out/https" -x '*.json' -x '*.jsonl' -x '*.csv' -x '*.html' -x .windlass && return; tail -3 "$work/said" | sed 's/^/# /'; return 1; }
unpinned() { ! job "https://$host/good.onnx" "" none && grep -qF "spec.scorer.onnx.sha256: must be given for a path that is https://" "$work/said" && [ ! -e "$work/out/none" ]; }
check "a job's model by oci://; its result names the digest" scores
check "by https://, with the same outputs" same
check "a job with https:// and no SHA-256 is refused" unpinned
missing() { ! job "oci://$host/models/net:v9" "" none && grep -qF "spec.scorer.onnx.path: oci://$host/models/net:v9: the registry has no tag v9" "$work/said" && return; tail -3 "$work/said" | sed 's/^/# /'; return 1; }
check "a job whose tag is not there" missing
exit $((failures > 0))
