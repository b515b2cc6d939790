#!/usr/bin/env bash
# az:// beside curl on the same Azurite, over TLS: one object of BENCH_MIB (1024) written and read, and BENCH_FILES
# (2000) small ones of 4 KB. By turns, BENCH_ROUNDS (3) times; the best of each counts. Prints a table, writes
# build/bench/azure.json. curl writes the object in one request and reads it in one; small files it takes three ways:
# a process each, one process with one connection after the other, one process with 16 at a time (-Z).
set -eu
cd "$(dirname "$0")/../.."
make -s CC="${CC:-gcc}" build/tests/azurite/store
mkdir -p build/bench
work=$(mktemp -d)
azurite=$work/azurite
mib=${BENCH_MIB:-1024} files=${BENCH_FILES:-2000} rounds=${BENCH_ROUNDS:-3} each=${BENCH_EACH:-200}
trap 'tests/azurite/start.sh stop "$azurite"; rm -rf "$work"' EXIT
while read -r line; do export "${line?}"; done < <(tests/azurite/start.sh start "$azurite" $$)
store=build/tests/azurite/store
here=az://films/tests/bench
base=https://127.0.0.1:$(cat "$azurite/port")/films/tests/bench
sas=$(python3 tests/azurite/az.py "$azurite" sas films tests rwdl 86400)
head -c "${mib}M" /dev/urandom >"$work/large"
head -c 4000 /dev/urandom >"$work/small"
# The signature stays out of the arguments here, too.
config() { # FILE put|get NAMES...
    local file=$1 what=$2
    shift 2
    { [ "$what" = get ] || echo 'header = "x-ms-blob-type: BlockBlob"'; for name in "$@"; do
        echo "url = \"$base/$name?$sas\""
        [ "$what" = get ] && echo 'output = "/dev/null"' || echo "upload-file = \"$work/${name%%/*}\""
    done; } >"$file"
}
curl=(curl -sS --fail --cacert "$azurite/ca.crt" --http1.1 -o /dev/null)
seconds() { # COMMAND...: how long it takes
    local start end
    start=$(date +%s.%N)
    "$@" >/dev/null
    end=$(date +%s.%N)
    awk "BEGIN { printf \"%.3f\", $end - $start }"
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
declare -A best
note() { # NAME SECONDS
    [ -n "${best[$1]:-}" ] && awk "BEGIN { exit !(${best[$1]} <= $2) }" || best[$1]=$2
    printf '# %-18s %8s s\n' "$1" "$2"
}
for _ in $(seq "$rounds"); do
    note curl_write "$(seconds "${curl[@]}" -K "$work/put-large")"
    note ours_write "$(seconds $store upload $here ours $((mib << 20)))"
    note curl_read "$(seconds "${curl[@]}" -K "$work/get-large")"
    note ours_read "$(seconds $store read $here large $((64 << 20)))"
    note curl_each_put "$(seconds one_each put)"
    note curl_one_put "$(seconds "${curl[@]}" -K "$work/put-many")"
    note curl_z_put "$(seconds "${curl[@]}" -Z --no-progress-meter --parallel-max 16 -K "$work/put-many")"
    note ours_put "$(seconds $store fill $here "$files" 4000 16)"
    note curl_each_get "$(seconds one_each get)"
    note curl_one_get "$(seconds "${curl[@]}" -K "$work/get-many")"
    note curl_z_get "$(seconds "${curl[@]}" -Z --no-progress-meter --parallel-max 16 -K "$work/get-many")"
    note ours_get "$(seconds $store drain $here "$files" 16)"
done
rate() { awk "BEGIN { printf \"%.1f\", $1 / ${best[$2]} }"; }
ratio() { awk "BEGIN { printf \"%.2f\", $2 / $1 }"; } # CURL OURS
row() { printf '%-50s %10s %10s %8s\n' "$@"; }
echo
row "Azurite 3.35, TLS, $(nproc) cores" curl ours ratio
row "$mib MiB written, MiB/s" "$(rate "$mib" curl_write)" "$(rate "$mib" ours_write)" \
    "$(ratio "$(rate "$mib" curl_write)" "$(rate "$mib" ours_write)")"
row "$mib MiB read, MiB/s" "$(rate "$mib" curl_read)" "$(rate "$mib" ours_read)" \
    "$(ratio "$(rate "$mib" curl_read)" "$(rate "$mib" ours_read)")"
for what in put get; do
    ours=$(rate "$files" ours_$what)
    for way in each one z; do
        count=$files
        [ $way = each ] && count=$each
        theirs=$(rate "$count" curl_${way}_$what)
        row "objects of 4 KB a second, $what, curl: $way" "$theirs" "$ours" "$(ratio "$theirs" "$ours")"
    done
done
for name in "${!best[@]}"; do echo "$name ${best[$name]}"; done |
    jq -Rn --arg date "$(date -u +%F)" --arg cpu "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)" \
        --argjson cores "$(nproc)" --argjson mib "$mib" --argjson files "$files" --argjson each "$each" \
        '{command: "tests/bench/azure.sh", date: $date, cpu: $cpu, cores: $cores, mib: $mib, files: $files, each: $each,
          seconds: ([inputs | split(" ") | {(.[0]): (.[1] | tonumber)}] | add)}' >build/bench/azure.json
