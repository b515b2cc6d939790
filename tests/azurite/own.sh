# shellcheck shell=bash disable=SC2034
# own.sh: Azurite for an end-to-end script; sourced, in the repository's root. A script that runs alone starts it and
# ends it. In a run of tests/run.sh ($WINDLASS_SHARED) the first script starts it, the others use it at the same time,
# each below a folder of its own in the containers, and the runner ends it.
# Afterwards: $azurite is its folder (start.sh), with the keys of the accounts films and results; $place is the
# script's folder in each container ("tests/test_azure_names"); az COMMAND... makes requests (az.py); $work is a folder
# that is removed with the script, and so are the processes that it has started.
. tests/cluster/accounts.sh
work=$(mktemp -d)
proxy= # its process
leave_azurite() {
    # shellcheck disable=SC2046,SC2086 # one word for each process
    kill $(jobs -p) $proxy 2>/dev/null
    wait 2>/dev/null
    [ -n "${WINDLASS_SHARED:-}" ] || tests/azurite/start.sh stop "$azurite"
    rm -rf "$work"
}
trap leave_azurite EXIT
if [ -n "${WINDLASS_SHARED:-}" ]; then
    azurite=$WINDLASS_SHARED/azurite
    mkdir -p "$azurite"
    exec 7>"$WINDLASS_SHARED/azurite.lock"
    flock 7
    [ -s "$azurite/variables" ] || { (on_account azurite tests/azurite/start.sh start "$azurite") >"$azurite/new" && mv "$azurite/new" "$azurite/variables"; }
    exec 7>&-
else
    azurite=$work/azurite
    mkdir "$azurite"
    tests/azurite/start.sh start "$azurite" $$ >"$azurite/variables" || rm "$azurite/variables"
fi
[ -s "$azurite/variables" ] || { echo "not ok azurite starts"; exit 1; }
while read -r line; do export "${line?}"; done <"$azurite/variables"
place=tests/$(basename "$0" .sh)
az() { python3 tests/azurite/az.py "$azurite" "$@"; }
# through_proxy: requests of the script's programs go through a proxy of its own (tests/proxy/start.sh), which has no
# faults yet; those of az do not. faults JSON-LIST sets them.
through_proxy() {
    mkdir -p "$work/proxy"
    python3 tests/proxy/proxy.py "$work/proxy" "$(cat "$azurite/port")" "$azurite/ca.crt" "$azurite/server.crt" \
        "$azurite/server.key" "$azurite/server.crt" "$azurite/server.key" >"$work/proxy/log" 2>&1 &
    disown
    proxy=$!
    for _ in $(seq 600); do [ -s "$work/proxy/port" ] && break; sleep 0.1; done
    [ -s "$work/proxy/port" ] || { echo "not ok the proxy listens"; exit 1; }
    export WINDLASS_BLOB_ENDPOINT=https://127.0.0.1:$(cat "$work/proxy/port")/ACCOUNT
}
faults() { echo "$1" >"$work/proxy/faults.new" && mv "$work/proxy/faults.new" "$work/proxy/faults"; }
# hold REGEX COUNT FAULT: of the reads of paths that match, all after the first COUNT wait until faults are set again,
# at most 60 s; FAULT, an object, is that of every request. until_held: waits until one of them waits. A script holds one
# REGEX at a time.
stalls() { jq '.stall // 0' "$work/proxy/counts" 2>/dev/null || echo 0; }
hold() {
    held_before=$(stalls)
    faults "$(jq -nc --arg path "$1" --argjson count "$2" --argjson fault "$3" \
        '[$fault + {path: $path, method: "GET", times: $count}, $fault + {path: $path, method: "GET", stallSeconds: 60, untilChanged: true}, $fault]')"
}
until_held() { for _ in $(seq 600); do [ "$(stalls)" -gt "$held_before" ] && return; sleep 0.1; done; echo "# no read was held"; return 1; }
