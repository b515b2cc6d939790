#!/usr/bin/env bash
# A fault-injecting proxy in front of an API server that tests/cluster/api-server.sh or crd-server.sh started:
#   start.sh start CLUSTER-FOLDER [NAME]     prints a kubeconfig that goes through it
#   start.sh stop CLUSTER-FOLDER [NAME]
# The faults are rows of CLUSTER-FOLDER/NAME/faults, a JSON list that may change at any time (write another file and
# rename it); the first row that matches a request applies to it. No file: no faults. A row may have
#   method, path (a regular expression), watch (true|false)   which requests; default: all
#   share (0 to 1), times                                     how often
#   status, retryAfter, date, body                            this answer instead of the server's
#   stallSeconds                                              waits first, in seconds
#   untilChanged: true                                        with it: at most until the faults are written again
#   cutBefore: true                                           the server handles the request, the answer is lost
#   without: "if-none-match"                                  the server gets no such header
#   cutInside: true                                           the answer is cut in the middle of its body
#   lastModified: "Mon, 23 Nov 2026 10:00:00 GMT"             every blob has this time
#   hideNewest: N                                             a list of S3's lacks the objects of the last N seconds
#   lateSeconds: N                                        each piece of a watch comes so much later
#   cutAfterLines: N                                          a watch ends in the middle of its N-th piece
# CLUSTER-FOLDER/NAME/counts has how often each was applied, and the number of requests. SEED=N repeats the random
# choices.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
what=${1:?start or stop} cluster=$(cd "${2:?the folder of the cluster}" && pwd) folder=$cluster/${3:-proxy}
fail() { echo "start.sh: $1" >&2; exit 3; }
if [ "$what" = stop ]; then
    pid=$(cat "$folder/pid" 2>/dev/null) || exit 0
    kill "$pid" 2>/dev/null || true
    rm -f "$folder/pid" "$folder/port"
    exit 0
fi
if [ -d "$cluster/pki" ]; then
    pki=$cluster/pki client=admin upstream=$(cat "$cluster/port")
else
    pki=$cluster client=client upstream=$(sed -n 's#.*https://127.0.0.1:\([0-9]*\)".*#\1#p' "$cluster/kubeconfig")
fi
mkdir -p "$folder"
rm -f "$folder/port" "$folder/faults" "$folder/counts"
setsid python3 "$here/proxy.py" "$folder" "$upstream" "$pki/ca.crt" "$pki/server.crt" "$pki/server.key" \
    "$pki/$client.crt" "$pki/$client.key" >"$folder/log" 2>&1 </dev/null &
echo $! >"$folder/pid"
for _ in $(seq 100); do
    [ -s "$folder/port" ] && break
    kill -0 "$(cat "$folder/pid")" 2>/dev/null || fail "the proxy ended: $(tail -1 "$folder/log")"
    sleep 0.1
done
[ -s "$folder/port" ] || fail "the proxy does not listen after 10 s"
sed "s#127.0.0.1:$upstream#127.0.0.1:$(cat "$folder/port")#" "$cluster/kubeconfig" >"$folder/kubeconfig"
echo "$folder/kubeconfig"
