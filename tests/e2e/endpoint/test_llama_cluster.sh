#!/usr/bin/env bash
# examples/llm on a real kubelet: llama.cpp's server in a worker's pod (batchscore.yaml), and a llama-server of its own that a job
# asks by its Service (kaito.yaml). Each text has its answer.
#   Of the two the commit chooses one, with 12 texts; in a soak both, with all 200.
set -u
namespace=llama
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
. tests/cluster/own.sh
image=localhost/windlass-test-llama:1
texts=$([ -z "${SOAK_ROUNDS:-}" ] && echo 12 || echo 200)
draw llama 1 pod service
examples/llm/fetch.sh "$work/data" >"$work/fetch" 2>&1 || { echo "skip test_llama_cluster: $(tail -n 1 "$work/fetch")"; exit 0; }
check "the chart installs" install_chart
# Debian sid's llama-server with what it loads, and nothing else: no shell, nothing of ours.
make_image() {
    local root=${XDG_CACHE_HOME:-$HOME/.cache}/windlass/llama folder=$work/image libraries=usr/lib/x86_64-linux-gnu kind=sse42 container
    ! grep -qw avx2 /proc/cpuinfo || kind=haswell
    mkdir -p "$folder/usr/bin" "$folder/$libraries"/{llama,ggml/backends0} "$folder/usr/lib64" &&
        ln -s usr/lib "$folder/lib" && ln -s usr/lib64 "$folder/lib64" &&
        cp -P "$root/usr/lib64"/* "$folder/usr/lib64" && cp "$root/usr/bin/llama-server" "$folder/usr/bin" &&
        find "$root/$libraries" -maxdepth 1 ! -type d -exec cp -P -t "$folder/$libraries" {} + &&
        cp "$root/$libraries/llama/libllama-server-impl.so" "$folder/$libraries/llama" &&
        cp "$root/$libraries/ggml/backends0/libggml-cpu-$kind.so" "$folder/$libraries/ggml/backends0" || return
    b() { STORAGE_DRIVER=vfs buildah --root "$work/storage" --runroot "$work/run" "$@"; }
    container=$(b from scratch) && b copy -q "$container" "$folder" / >/dev/null &&
        b config --env "LD_LIBRARY_PATH=/$libraries:/$libraries/llama:/$libraries/ggml/backends0" \
            --env "GGML_BACKEND_PATH=/$libraries/ggml/backends0/libggml-cpu-$kind.so" "$container" &&
        b commit -q --rm "$container" "$image" >/dev/null && b push -q "$image" "docker-archive:$work/llama.tar:$image" && import "$work/llama.tar"
}
make_image || exit 3
rm -r "$work/data/bin" # the pods have the image's
sed -i "$((texts + 2)),\$d" "$work/data/texts.csv"
tail -n +2 "$work/data/texts.csv" | jq -Rc 'split(",") | {custom_id: (.[2] + " " + .[3] + " " + .[0]), method: "POST", url: "/v1/chat/completions",
    body: {temperature: 0, max_tokens: 4, messages: [{role: "user", content: ("What are kind and topic of: " + .[1])}]}}' >"$work/data/requests.jsonl"
place=$(tests/cluster/volume.sh data "$work/data") || exit 3
completes() { # NAME
    local job=$1
    completed() { [[ "$(kubectl get bs "$job" -o 'jsonpath={.status.conditions[?(@.type=="Succeeded")].reason}')" == Completed ]]; }
    until_true 180 completed && return
    { kubectl get bs "$job" -o 'jsonpath={.status.conditions}'; kubectl get pods; kubectl logs -l "windlass.dev/job=$job" --all-containers --tail=5; } | sed 's/^/# /'
    return 1
}
in_pod() {
    sed "s#image: .*#image: $image#; s/max: 2/max: 1/" examples/llm/batchscore.yaml | kubectl apply -f - >/dev/null
    check "the example completes, with a llama-server in the worker's pod" completes texts
    check "all $texts answers are right" [ "$(tr -d '\r' <"$place/answers/answers.csv" | awk -F, 'NR > 1 && $4 == "\" " $2 " " $3 "\""' | wc -l)" = "$texts" ]
}
as_service() {
    kubectl apply -f - >/dev/null <<M
apiVersion: v1
kind: Pod
metadata: {name: phi, labels: {app: phi}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: server
      image: $image
      imagePullPolicy: Never
      command: [/usr/bin/llama-server, -m, /data/models/tiny.gguf, --host, 0.0.0.0, --port, "5000"]
      readinessProbe: {httpGet: {path: /health, port: 5000}, periodSeconds: 1}
      volumeMounts: [{name: data, mountPath: /data, readOnly: true}]
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
---
apiVersion: v1
kind: Service
metadata: {name: workspace-phi}
spec: {selector: {app: phi}, ports: [{port: 80, targetPort: 5000}]}
M
    # (The one-node cluster looks up no names: the Service's address stands for its name.)
    sed "s#data/answers#data/asked#; s#http://workspace-phi#http://$(kubectl get service workspace-phi -o 'jsonpath={.spec.clusterIP}')#" \
        examples/llm/kaito.yaml | kubectl apply -f - >/dev/null
    check "a job completes that asks a Service" completes ask-kaito
    check "each of the $texts texts has its answer" [ "$(jq -r 'select((.custom_id | split(" ") | .[:2] | join(" ")) ==
        (.response.body.choices[0].message.content | ltrimstr(" "))) | .custom_id' "$place/asked/output.jsonl" | wc -l)" = "$texts" ]
    check "in the order of the texts" cmp <(jq -r .custom_id "$place/asked/output.jsonl") <(jq -r .custom_id "$work/data/requests.jsonl")
}
! is_drawn pod || in_pod
! is_drawn service || as_service
exit $((failures > 0))
