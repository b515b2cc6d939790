#!/usr/bin/env bash
# Token and keys of a pod are files: no variable of any container has one, a user's program finds none, and a pod whose
# files cannot be removed runs no program. Pods of all kinds as `windlass check --pods` prints them; and processes that
# begin as such pods do: our init container's copy, then the agent.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/e2e/spec_defaults.sh
. tests/e2e/start.sh
for program in windlass windlass-agent windlass-shim; do
    built "${BUILD:-build}/$program" || { echo "not ok ${0##*/}: cannot be built"; exit 1; }
done
begin_here
make_certificate "$work" || exit 3
token=token$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')

##### the pods ########################################################################################################
# Variables that a Secret fills are the user's own (spec.secrets), and no value refers to one of ours.
no_variables() { # FILE
    "$build/windlass" check -f "$1" --pods >"$work/pods.json" 2>"$work/said" || { sed 's/^/# /' "$work/said"; return 1; }
    jq -e '[.items[].spec | (.containers + (.initContainers // []))[].env // [] | .[]
        | select((.valueFrom.secretKeyRef and (.name | IN("WINDLASS_TOKEN", "WINDLASS_TLS_KEY", "WINDLASS_SIGNING_KEY")))
            or ((.value // "") | test("^(|[^$]|.*[^$])[$][(]WINDLASS_(TOKEN|TLS_KEY|SIGNING_KEY)[)]")))] == []' "$work/pods.json" >/dev/null
}
# The volume itself is mounted once: in our init container where the agent runs in the user's image, else in the agent.
# (The init container of a model server brings the program that starts the server, and the agent keeps its own image.)
given_once() {
    jq -e 'all(.items[].spec; select(any(.volumes[]; .name == "windlass-secrets"))
        | (if any(.containers[]; .name == "server") then "agent"
           elif any(.initContainers // [] | .[]; .name == "windlass-install") then "windlass-install"
           else .containers[0].name end) as $holder
        | [.containers + (.initContainers // []) | .[] | select(any(.volumeMounts // [] | .[]; .name == "windlass-secrets")).name]
            == [$holder])' "$work/pods.json" >/dev/null
}
for file in examples/*/*.yaml tests/data/good-manifests/*.yaml tests/data/sweeps/*.yaml; do
    grep -q '^kind: \(BatchScore\|DistTrain\|Sweep\)' "$file" || continue
    "$build/windlass" check -f "$file" >/dev/null 2>&1 || continue
    check "no variable of its pods has a secret: $file" no_variables "$file"
    check "and programs' containers have no volume of them" given_once
done

##### a program ########################################################################################################
mkdir -p "$work/data/in" "$work/given" "$work/hub" "$work/pod"
for i in $(seq -w 20); do echo "row $i" >"$work/data/in/f$i"; done
printf %s "$token" | tee "$work/given/token" >"$work/hub/token"
cp "$work/key.pem" "$work/hub/tls.key"
cat >"$work/score.py" <<'P'
import glob, json, os, sys
sys.stdin.readline()
print('{"ready":true}', flush=True)
folder, token = sys.argv[1], sys.argv[2][::-1] # (its arguments are in the agent's environment)
found = [path for path in glob.glob(folder + "/**", recursive=True) if os.path.isfile(path) and token in open(path, errors="replace").read()]
for process in glob.glob("/proc/[0-9]*"):
    try:
        if token in open(process + "/environ", errors="replace").read() and "score.py" not in open(process + "/cmdline").read():
            found.append(process)
    except OSError:
        pass
found += [name for name, value in os.environ.items() if token in value]
for text in sys.stdin:
    request = json.loads(text)
    print(json.dumps({"id": request["id"], "results": [f"found {found}" for _ in request["items"]]}), flush=True)
P
spec_schema crds/batchscore.yaml "$work/schema.json"
spec=$(fill_spec "$work/schema.json" "$(jq -cn --arg work "$work" --arg token "$(rev <<<"$token")" '{input: {files: {path: "data/in"}}, miniBatchSize: 4,
    scorer: {command: {command: ["python3", "\($work)/score.py", "\($work)/pod", $token]}}, output: {path: "data/out", mode: "AppendRow", appendRowFileName: "rows.txt"}}')")
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
pod() { # NAME SECRETS COMMAND...
    env -i PATH="$PATH" TMPDIR="$work" data="$work/data" WINDLASS_JOB=secrets WINDLASS_RUN=0123456789abcdef WINDLASS_UID=uid WINDLASS_SPEC="$spec" \
        WINDLASS_SECRETS="$2" WINDLASS_WORKER="$1" WINDLASS_THREADS=1 WINDLASS_TLS_CERTIFICATE="$(cat "$work/certificate.pem")" \
        WINDLASS_BIND="127.0.0.1:$port" WINDLASS_COORDINATOR="127.0.0.1:$port" WINDLASS_COORDINATOR_SHA256="$sha256" \
        WINDLASS_TERMINATION_LOG="$work/words-$1" "${@:3}" >"$work/$1.log" 2>&1 &
    pids+=($!)
}
check "the init container copies them" "$build/windlass-agent" install --secrets "$work/given" "$work/pod"
check "into the folder of the pod" cmp "$work/given/token" "$work/pod/secrets/token"
pod coordinator "$work/hub" "$build/windlass-agent" coordinate
pod worker "$work/pod/secrets" "$build/windlass-shim" score
codes=
for p in "${pids[@]}"; do
    until_true 60 eval "! kill -0 $p 2>/dev/null"
    wait "$p"
    codes="$codes $?"
done
pids=()
check "coordinator and worker read them (codes$codes)" [ "$codes" = " 0 0" ]
check "the program found none" eval '[ "$(sort -u "$work/data/out/rows.txt")" = "found []" ]'
shown() { grep -rlsF -e "$token" -e "$(sed -n 2p "$work/key.pem")" "$work"/*.log "$work"/words-* "$work/data/out"; }
no_log() { # (not every pod leaves a last word)
    [ -s "$work/coordinator.log" ] && [ -s "$work/worker.log" ] && [ -s "$work/data/out/rows.txt" ] && [ -z "$(shown)" ]
}
check "no log, last word or output has one" no_log
echo "it is $token" >"$work/words-made"
check "(one that had it would be found)" [ "$(shown)" = "$work/words-made" ]
rm "$work/words-made"
check "nothing is left of them" [ -z "$(find "$work/pod/secrets" "$work/hub" -type f)" ]
[ $failures = 0 ] || { tail -n 5 "$work"/*.log "$work/data/out/rows.txt" | cut -c1-300 | sed 's/^/# /'; }
# A read-only volume stays: no program of a user runs where it is mounted. A folder that is not writable is a fault.
stays() {
    mkdir -p "$work/stays"
    printf %s "$token" >"$work/stays/token"
    chattr +i "$work/stays/token" 2>/dev/null || { echo "# this file system has no immutable files"; return 0; }
    pod late "$work/stays" "$build/windlass-shim" score
    wait "${pids[-1]}"
    local code=$?
    chattr -i "$work/stays/token"
    [ $code != 0 ] && grep -q "stays/token: cannot be removed" "$work/late.log"
}
check "an agent that cannot remove a file runs no program" stays
exit $((failures > 0))
