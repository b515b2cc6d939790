#!/usr/bin/env bash
# Signatures in cosign's format, made by OpenSSL: ECDSA with P-256 over SHA-256. `cosign verify --key` and `cosign verify-blob
# --key` check them (docs/operate/releasing.md).
#   sign.sh key FOLDER                         makes FOLDER/release.key (keep it secret) and FOLDER/release.pub
#   sign.sh file KEY FILE...                   writes FILE.sig: the signature, in base64
#   sign.sh statement KEY FILE                 prints the in-toto statement in FILE with its signature (a DSSE envelope)
#   sign.sh image KEY LAYOUT REFERENCE FOLDER  signs the image of an OCI layout under the name REFERENCE (registry/name): writes
#                                              an OCI layout to FOLDER, whose tag is sha256-DIGEST.sig
set -euo pipefail

fail() { echo "sign.sh: $1" >&2; exit 3; }
digest_of() { sha256sum "$1" | cut -d' ' -f1; }
sign() { openssl dgst -sha256 -sign "$1" "$2" | base64 -w0; }
key_is_fit() { openssl pkey -in "$1" -noout -text 2>/dev/null | grep prime256v1 >/dev/null || fail "$1: a key of P-256 (prime256v1) is expected, as sign.sh key makes it"; }

# Adds a file to the layout's blobs and prints its digest.
add_blob() { # LAYOUT FILE
    local digest
    digest=$(digest_of "$2")
    cp "$2" "$1/blobs/sha256/$digest"
    echo "$digest"
}

make_key() { # FOLDER
    umask 077
    [ ! -e "$1/release.key" ] || fail "$1/release.key is there already"
    openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1/release.key"
    openssl pkey -in "$1/release.key" -pubout -out "$1/release.pub"
    chmod 644 "$1/release.pub"
}
sign_image() { # KEY LAYOUT REFERENCE FOLDER
    local key=$1 image to=$4 payload config manifest work
    image=$(jq -r '.manifests[0].digest' "$2/index.json")
    [[ $image =~ ^sha256:[0-9a-f]{64}$ ]] || fail "$2/index.json names no image"
    work=$(mktemp -d)
    # shellcheck disable=SC2064 # the folder of now
    trap "rm -rf '$work'" EXIT
    rm -rf "$to"
    mkdir -p "$to/blobs/sha256"
    jq -nScj --arg image "$image" --arg reference "$3" '{critical: {identity: {"docker-reference": $reference},
        image: {"docker-manifest-digest": $image}, type: "cosign container image signature"}, optional: null}' >"$work/payload"
    payload=$(add_blob "$to" "$work/payload")
    jq -nScj --arg layer "sha256:$payload" '{architecture: "", config: {}, created: "0001-01-01T00:00:00Z", history: [{created: "0001-01-01T00:00:00Z"}],
        os: "", rootfs: {diff_ids: [$layer], type: "layers"}}' >"$work/config"
    config=$(add_blob "$to" "$work/config")
    jq -nScj --arg config "sha256:$config" --arg layer "sha256:$payload" --arg signature "$(sign "$key" "$work/payload")" \
        --argjson sizes "[$(stat -c %s "$work/config"), $(stat -c %s "$work/payload")]" '{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
        config: {mediaType: "application/vnd.oci.image.config.v1+json", size: $sizes[0], digest: $config},
        layers: [{mediaType: "application/vnd.dev.cosign.simplesigning.v1+json", size: $sizes[1], digest: $layer,
            annotations: {"dev.cosignproject.cosign/signature": $signature}}]}' >"$work/manifest"
    manifest=$(add_blob "$to" "$work/manifest")
    jq -nSc --arg manifest "sha256:$manifest" --argjson size "$(stat -c %s "$work/manifest")" --arg tag "${image/:/-}.sig" '{schemaVersion: 2,
        manifests: [{mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $manifest, size: $size,
            annotations: {"org.opencontainers.image.ref.name": $tag}}]}' >"$to/index.json"
    echo '{"imageLayoutVersion":"1.0.0"}' >"$to/oci-layout"
}

case ${1:-} in
key) make_key "${2:?the folder}" ;;
file)
    key=${2:?the key}
    key_is_fit "$key"
    shift 2
    for file in "$@"; do sign "$key" "$file" >"$file.sig"; done
    ;;
statement)
    key_is_fit "${2:?the key}"
    work=$(mktemp)
    trap 'rm -f "$work"' EXIT
    "${0%/*}/provenance.py" pae "${3:?the statement}" >"$work"
    "${0%/*}/provenance.py" envelope "$3" "$(sign "$2" "$work")"
    ;;
image)
    key_is_fit "${2:?the key}"
    sign_image "$2" "${3:?the layout}" "${4:?the reference}" "${5:?the folder}"
    ;;
*)
    echo "usage: sign.sh key FOLDER | file KEY FILE... | statement KEY FILE | image KEY LAYOUT REFERENCE FOLDER" >&2
    exit 2
    ;;
esac
