# lib.sh: for tests of scorer.endpoint: a model server (tests/endpoint/model_server.c) and batch files.
server=$(realpath "${BUILD:-build}/tests/endpoint/model_server")
servers=()
# start_server NAME OPTION...: sets $port and $server_pid; what it has answered is in $work/NAME.asked
start_server() {
    local name=$1
    shift
    rm -f "$work/$name.port" # of the one before
    "$server" "record=$work/$name.asked" "$@" >"$work/$name.port" 2>"$work/$name.log" &
    server_pid=$!
    servers+=("$server_pid")
    until_true 60 test -s "$work/$name.port" || return 1
    port=$(cat "$work/$name.port")
}
stop_servers() {
    [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2>/dev/null
    servers=()
}
# batch COUNT: a batch file whose request N asks "q-N".
batch() {
    jq -nc --argjson n "$1" 'range($n) | {custom_id: "id-\(.)", method: "POST", url: "/v1/chat/completions",
        body: {model: "m", messages: [{role: "user", content: "q-\(.)"}]}}'
}
# in_order FILE COUNT: it has the answer of each request of `batch`, in order.
in_order() {
    jq -r '[.custom_id, .response.body.choices[0].message.content] | join(" ")' "$1" |
        cmp - <(for ((i = 0; i < $2; i++)); do echo "id-$i q-$i"; done)
}
# asked_twice NAME...: how many requests were answered more than once, in all.
asked_again() { cat "${@/%/.asked}" | sort | uniq -c | awk '{sum += $1 - 1} END {print sum + 0}'; }
