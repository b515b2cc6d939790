#!/usr/bin/env bash
# A metadata service in a network of its own, at 169.254.169.254 and fe80::: none of the ways to write that address in a
# store's endpoint, and no name that has it, makes an agent connect to it; a name of an ordinary address does.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/start.sh
machines_begin windlass windlass-agent
windlass=$build/windlass
export WINDLASS_STORES_FOLDER=$work/stores
mkdir -p "$work/stores/films"
touch "$work/connections"
printf 'a2V5' >"$work/stores/films/azurestorageaccountkey"
ip -n "$net_prefix-4" addr add 169.254.169.254/16 dev eth0
ip -n "$net_prefix-1" route add 169.254.0.0/16 dev eth0
# Writes a line for each connection, and closes it.
cat >"$work/metadata.py" <<'P'
import socket, sys
server = socket.create_server(("", 443), family=socket.AF_INET6, dualstack_ipv6=True)
open(sys.argv[1] + ".ready", "w").close()
while True:
    connection, _ = server.accept()
    with open(sys.argv[1], "a") as file:
        file.write(connection.getsockname()[0] + "\n")
    connection.close()
P
net_run 4 python3 "$work/metadata.py" "$work/connections" >"$work/metadata.log" 2>&1 &
pids+=($!)
until_true 60 test -e "$work/connections.ready" || exit 3
# Every name is 169.254.169.254, but "plain", which is the same machine's ordinary address.
cat >"$work/names.py" <<'P'
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("10.77.0.1", 5353))
open(sys.argv[1] + ".ready", "w").close()
while True:
    question, sender = server.recvfrom(512)
    end = question.index(b"\0", 12) + 5
    address = "10.77.0.4" if question[13:18] == b"plain" else "169.254.169.254"
    is_ipv4 = question[end - 4:end - 2] == b"\0\1"
    record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address) if is_ipv4 else b""
    counts = b"\0\1" + (b"\0\1" if record else b"\0\0") + b"\0\0\0\0"
    server.sendto(question[:2] + b"\x81\x80" + counts + question[12:end] + record, sender)
P
net_run 1 python3 "$work/names.py" "$work/names" >"$work/names.log" 2>&1 &
pids+=($!)
until_true 60 test -e "$work/names.ready" || exit 3
export WINDLASS_NAME_SERVERS=10.77.0.1:5353
reads() { # ENDPOINT: what reading a result there says
    WINDLASS_STORES="[{\"account\":\"films\",\"endpoint\":\"$1\"}]" timeout 20 \
        nsenter --net="/run/netns/$net_prefix-1" -- "$windlass" verify az://films/ins/out 2>&1
}
connections() { [ "$(wc -l <"$work/connections")" = "$1" ]; }
refused() {
    local said
    said=$(reads "$1")
    [[ $said == *"link-local or a metadata service's; nothing is sent there"* ]] && connections 0 && return 0
    echo "# $said"
    return 1
}
for endpoint in https://169.254.169.254 https://2852039166 https://0xa9fea9fe https://0251.0376.0251.0376 https://169.254.43518 \
    'https://[::ffff:169.254.169.254]' 'https://[::ffff:a9fe:a9fe]' https://metadata.example https://169.254.169.254.nip.example; do
    check "nothing is sent to $endpoint" refused "$endpoint"
done
identity() { # the token of a workload identity goes to AZURE_AUTHORITY_HOST
    local said
    echo eyJ.a.b >"$work/federated"
    said=$(AZURE_TENANT_ID=t AZURE_CLIENT_ID=c AZURE_FEDERATED_TOKEN_FILE=$work/federated AZURE_AUTHORITY_HOST=https://login.example \
        WINDLASS_STORES='[{"account":"films","clientID":"c"}]' timeout 20 \
        nsenter --net="/run/netns/$net_prefix-1" -- "$windlass" verify az://films/ins/out 2>&1)
    [[ $said == *"nothing is sent there"* ]] && connections 0 && return 0
    echo "# $said"
    return 1
}
check "nor does an identity's token" identity
connects() {
    reads https://plain.example >"$work/said" 2>&1 &
    until_true 60 grep -q 10.77.0.4 "$work/connections"
}
check "an ordinary address is connected to" connects
exit $((failures > 0))
