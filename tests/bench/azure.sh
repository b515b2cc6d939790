#!/usr/bin/env bash
# az:// against curl on the same Azurite, over TLS: one object of BENCH_MIB (1024) written and read, and BENCH_FILES
# (2000) small ones of 4 KB (BENCH_PARTS="large small"). They alternate BENCH_ROUNDS (3) times; the best time of each
# counts. "cpu" is the processor time of Azurite and client together: which is steadier on a busy machine. Prints a
# table, writes build/bench/azure.json. curl writes the object in one request and reads it in one; it transfers small
# files in three ways: a process for each (BENCH_EACH=200 of them), one process with one connection, one with 16 at a
# time (-Z).
set -eu
cd "$(dirname "$0")/../.."
make -s CC="${CC:-gcc}" build/tests/azurite/store
mkdir -p build/bench
work=$(mktemp -d)
azurite=$work/azurite
mib=${BENCH_MIB:-1024} files=${BENCH_FILES:-2000} rounds=${BENCH_ROUNDS:-3} each=${BENCH_EACH:-200}
trap 'tests/azurite/start.sh stop "$azurite"; rm -rf "$work"' EXIT
while read -r line; do export "${line?}"; done < <(AZURITE_KEEPS=yes tests/azurite/start.sh start "$azurite" $$)
store=build/tests/azurite/store
here=az://films/tests/bench
base=https://127.0.0.1:$(cat "$azurite/port")/films/tests/bench
sas=$(python3 tests/azurite/az.py "$azurite" sas films tests rwdl 86400)
head -c "${mib}M" /dev/urandom >"$work/large"
head -c 4000 /dev/urandom >"$work/small"
# The signature is not among the arguments here either.
config() { # FILE put|get NAMES...
    local file=$1 what=$2
    shift 2
    { [ "$what" = get ] || echo 'header = "x-ms-blob-type: BlockBlob"'; for name in "$@"; do
        echo "url = \"$base/$name?$sas\""
        [ "$what" = get ] && echo 'output = "/dev/null"' || echo "upload-file = \"$work/${name%%/*}\""
    done; } >"$file"
}
curl=(curl -sS --fail --cacert "$azurite/ca.crt" --http1.1 -o /dev/null)
server_cpu() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$(cat "$azurite/pids/azurite.pid")/stat"; }
seconds() { # COMMAND...: its duration, and the processor seconds of all processes
    local before=$(server_cpu)
    TIMEFORMAT='%R %U %S'
    { time "$@" >/dev/null 2>&3; } 3>&2 2>"$work/time"
    awk -v server="$(awk "BEGIN { print $(server_cpu) - $before }")" \
        'END { printf "%.3f %.3f\n", $1, $2 + $3 + server }' "$work/time"
}
mapfile -t names < <(seq -f 'small/%06g' 0 $((files - 1)))
config "$work/put-large" put large
config "$work/get-large" get large
config "$work/put-many" put "${names[@]}"
config "$work/get-many" get "${names[@]}"
for number in $(seq 0 $((each - 1))); do
    config "$work/put-$number" put "${names[number]}"
    config "$work/get-$number" get "${names[number]}"
done
one_each() { for number in $(seq 0 $((each - 1))); do "${curl[@]}" -K "$work/$1-$number"; done; }
declare -A best cpu
note() { # NAME COMMAND...
    local wall all
    read -r wall all < <(seconds "${@:2}")
    [ -n "${best[$1]:-}" ] && awk "BEGIN { exit !(${best[$1]} <= $wall) }" || best[$1]=$wall
    [ -n "${cpu[$1]:-}" ] && awk "BEGIN { exit !(${cpu[$1]} <= $all) }" || cpu[$1]=$all
    printf '# %-18s %8s s, cpu %8s s\n' "$1" "$wall" "$all"
}
parts=${BENCH_PARTS:-large small}
large() {
    note curl_write "${curl[@]}" -K "$work/put-large"
    note ours_write $store upload $here ours $((mib << 20))
    note curl_read "${curl[@]}" -K "$work/get-large"
    note ours_read $store read $here large $((64 << 20))
}
small() {
    note curl_each_put one_each put
    note curl_one_put "${curl[@]}" -K "$work/put-many"
    note curl_z_put "${curl[@]}" -Z --no-progress-meter --parallel-max 16 -K "$work/put-many"
    note ours_put $store fill $here "$files" 4000 16
    note curl_each_get one_each get
    note curl_one_get "${curl[@]}" -K "$work/get-many"
    note curl_z_get "${curl[@]}" -Z --no-progress-meter --parallel-max 16 -K "$work/get-many"
    note ours_get $store drain $here "$files" 16
}
for _ in $(seq "$rounds"); do
    for part in $parts; do $part; done
done
rate() { awk "BEGIN { printf \"%.1f\", $1 / $2 }"; }
row() { printf '%-46s %10s %10s %8s %10s\n' "$@"; }
compare() { # NAME CURL COUNT OURS COUNT
    [ -n "${best[$2]:-}" ] || return 0
    local theirs ours theirs_cpu ours_cpu
    theirs=$(rate "$3" "${best[$2]}") ours=$(rate "$5" "${best[$4]}")
    theirs_cpu=$(rate "$3" "${cpu[$2]}") ours_cpu=$(rate "$5" "${cpu[$4]}")
    row "$1" "$theirs" "$ours" "$(awk "BEGIN { printf \"%.2f\", $ours / $theirs }")" \
        "$(awk "BEGIN { printf \"%.2f\", $ours_cpu / $theirs_cpu }")"
}
echo
row "Azurite 3.35, TLS, $(nproc) cores" curl ours ratio "cpu ratio"
compare "$mib MiB written, MiB/s" curl_write "$mib" ours_write "$mib"
compare "$mib MiB read, MiB/s" curl_read "$mib" ours_read "$mib"
for what in put get; do
    compare "4 KB $what a second, curl: a process each" curl_each_$what "$each" ours_$what "$files"
    compare "4 KB $what a second, curl: one process" curl_one_$what "$files" ours_$what "$files"
    compare "4 KB $what a second, curl: -Z, 16 at a time" curl_z_$what "$files" ours_$what "$files"
done
for name in "${!best[@]}"; do echo "$name ${best[$name]} ${cpu[$name]}"; done |
    jq -Rn --arg date "$(date -u +%F)" --arg cpu "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)" \
        --argjson cores "$(nproc)" --argjson mib "$mib" --argjson files "$files" --argjson each "$each" \
        '{command: "tests/bench/azure.sh", date: $date, cpu: $cpu, cores: $cores, mib: $mib, files: $files, each: $each,
          runs: ([inputs | split(" ") | {(.[0]): {seconds: (.[1] | tonumber), cpu_seconds: (.[2] | tonumber)}}] | add)}' \
        >build/bench/azure.json
