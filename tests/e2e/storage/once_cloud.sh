# shellcheck shell=bash disable=SC2034,SC2154 # what is set here is used there, and the other way round
# once_cloud.sh: like test_exactly_once.sh, with inputs and outputs on a real server of objects, behind a proxy that
# answers 500 to a request in twenty, loses the answer of another and cuts a third in the middle: at least one in ten in
# total. The undisturbed run, which it must equal byte for byte, goes straight to the server. For test_exactly_once_azure.sh
# and test_exactly_once_s3.sh, which source it after lib.sh with
#   $server, "azurite" or "s3", a folder of tests/; $in, $out, $stores, as once.sh; $batches_default; and the functions
#   remote upload|download|clear CONTAINER/PATH [LOCAL]; at PORT, which has stores find the server there; and $more_faults,
#   a JSON list of more rows for the proxy, if there are any.
# Their variables:
#   SOAK_SEED (1) decides which process dies when; ONCE_ROUNDS (1, in a soak SOAK_ROUNDS / 10): the number of runs of a
#   user's program, ONCE_OTHERS (0, in a soak a twentieth of that): the number of runs of networks after them, each
#   result an object; ONCE_BATCHES ($batches_default, in a soak 2000); ONCE_PARTS (1, in a soak 5): the number of processes
#   that share the rounds, beside each other, each with its own server; ONCE_PART: only one of them.
parts=${ONCE_PARTS:-$([ -z "${SOAK_ROUNDS:-}" ] && echo 1 || echo 5)}
if [ "$parts" -gt 1 ] && [ -z "${ONCE_PART:-}" ]; then
    logs=$(mktemp -d) running=()
    trap 'kill "${running[@]}" 2>/dev/null; wait; rm -rf "$logs"' EXIT
    for ((part = 0; part < parts; part++)); do
        ONCE_PART=$part bash "$0" >"$logs/$part" 2>&1 &
        running+=($!)
    done
    for ((part = 0; part < parts; part++)); do wait "${running[part]}" || failures=$((failures + 1)); done
    for ((part = 0; part < parts; part++)); do cat "$logs/$part"; done
    exit $((failures > 0))
fi
programs=${ONCE_ROUNDS:-$(((${SOAK_ROUNDS:-10} + 9) / 10))}
rounds=$((programs + ${ONCE_OTHERS:-$((${SOAK_ROUNDS:-0} / 200))}))
kind_of() { [ "$1" -le $programs ] && echo 2 || echo $((($1 - programs) % 2)); }
batches=${ONCE_BATCHES:-$([ -n "${SOAK_ROUNDS:-}" ] && echo 2000 || echo "$batches_default")}
seed=${SOAK_SEED:-1}
reset_output() {
    more_than=0
    [ ! -e "$work/out/result.json" ] || verify_output "$out" out
    rm -rf "$work/out"
    remote clear results/tests/out
}
collect_output() {
    rm -rf "$work/out"
    mkdir -p "$work/out"
    remote download results/tests/out "$work/out"
}
# Slower than a disk: each death comes after more items than the last, and none before windlass has reported one, as three
# deaths before the first mini-batch end a job.
more_than=0
may_hurt() {
    local count
    count=$(grep -oE ' [0-9]+ of [0-9]+ f' "$work/log" | tail -n 1 | cut -d ' ' -f 2)
    [ "${count:-0}" -gt $more_than ] || return
    more_than=$count
}
. tests/e2e/score/once.sh
place=$work/$server
finish() {
    [ -z "${proxy:-}" ] || kill "$proxy"
    "tests/$server/start.sh" stop "$place"
    rm -rf "$work"
}
trap finish EXIT
variables=$("tests/$server/start.sh" start "$place" $$) || { echo "not ok the server starts"; exit 1; }
while read -r line; do export "${line?}"; done <<<"$variables"
make_inputs
remote upload films/tests/in "$work/data"
rm -r "$work/data/photos" "$work/data/film.mp4"

mkdir -p "$place/proxy"
SEED=$seed python3 tests/proxy/proxy.py "$place/proxy" "$(cat "$place/port")" "$place/ca.crt" "$place/server.crt" \
    "$place/server.key" "$place/server.crt" "$place/server.key" >"$work/proxy.log" 2>&1 &
proxy=$!
disown
until_true 60 [ -s "$place/proxy/port" ]
jq -n --argjson more "${more_faults:-[]}" '[{share: 0.05, status: 500}, {share: 0.05, cutBefore: true}, {share: 0.05, cutInside: true}] + $more' \
    >"$place/proxy/faults"

kinds=()
for ((number = 1 + ${ONCE_PART:-0}; number <= rounds; number += parts)); do
    kind=$(kind_of "$number")
    [ -n "${kinds[kind]:-}" ] || quiet_run $kind
    kinds[kind]=quiet
done
at "$(cat "$place/proxy/port")"
for ((number = 1 + ${ONCE_PART:-0}; number <= rounds; number += parts)); do round "$number"; done
counted=$(jq -c . "$place/proxy/counts")
enough() { jq -e '(."500" + .lost + .inside) / .requests >= 0.09 and ."500" > 5 and .lost > 5 and .inside > 5' "$place/proxy/counts" >/dev/null; }
check "of the requests, $counted, one in ten failed, in each of the ways" enough
check "$killed processes were killed" [ "$killed" -gt 0 ]
