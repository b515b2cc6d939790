#!/usr/bin/env bash
# A real Azurite over TLS, in a separate folder:
#   start.sh start FOLDER [PID]   starts it, with the accounts films and results and in each the container tests;
#                                 prints the environment (NAME=VALUE lines) in which stores find it. It ends with PID.
#   start.sh stop FOLDER          ends it; start continues on the same port (other keys: remove FOLDER/accounts before)
# FOLDER/{port,ca.crt,server.crt,server.key,accounts} and FOLDER/stores/ACCOUNT/azurestorageaccountkey, as a mounted
# Secret. The certificate is for 127.0.0.1 and *.blob.windlass.test.
#   AZURITE_KEEPS=yes       what it holds is on the disk, and there again when it has been stopped and started; otherwise
#                           it is in memory alone, which is a fifth less work for each request
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../cluster/lib.sh"
what=${1:?start or stop}
mkdir -p "${2:?a folder}"
folder=$(cd "$2" && pwd)
if [ "$what" = stop ]; then
    finish azurite KILL
    exit 0
fi
main=$("$here/get.sh")
command -v openssl >/dev/null && command -v python3 >/dev/null || need_packages openssl python3
cd "$folder"
finish azurite KILL # one that still runs would hold the port without an owner
authority windlass-test
certificate server /CN=azurite "DNS:*.blob.windlass.test,DNS:login.windlass.test,IP:127.0.0.1"
key() { head -c 64 /dev/urandom | base64 -w0; }
[ -f accounts ] || (umask 077 && printf 'films:%s;results:%s' "$(key)" "$(key)" >accounts)
for account in films results; do
    mkdir -p "stores/$account"
    tr ';' '\n' <accounts | sed -n "s/^$account:\([^:]*\).*/\1/p" >"stores/$account/azurestorageaccountkey"
done
place=(--inMemoryPersistence)
[ -z "${AZURITE_KEEPS:-}" ] || { mkdir -p data && place=(--location "$folder/data"); }
# The containers; fails if it is another program that answers on the port, which it took a moment before.
containers() {
    local account
    echo "$port" >port
    for account in films results; do
        python3 "$here/az.py" "$folder" container "$account" tests >&2 || return 1
    done
}
for _ in 1 2 3; do
    port=$(cat port 2>/dev/null) || port=$(free_port)
    export AZURITE_ACCOUNTS
    AZURITE_ACCOUNTS=$(cat accounts)
    launch azurite node "$main" --silent --blobHost 127.0.0.1 --blobPort "$port" "${place[@]}" \
        --cert "$folder/server.crt" --key "$folder/server.key" --oauth basic --disableTelemetry ${AZURITE_OPTIONS:-}
    unset AZURITE_ACCOUNTS
    # (The one before, which has just been killed, may take a connection and no request.)
    if wait_for 60 azurite bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" && wait_for 60 azurite containers; then break; fi
    finish azurite KILL
    rm -f port
    port=
done
[ -n "$port" ] || fail "azurite does not start: $(tail -3 "$folder/log/azurite.log")"
[ -z "${3:-}" ] || end_with "$3"
cat <<VARIABLES
WINDLASS_BLOB_ENDPOINT=https://127.0.0.1:$port/ACCOUNT
WINDLASS_AUTHORITIES=$folder/ca.crt
WINDLASS_STORES_FOLDER=$folder/stores
VARIABLES
