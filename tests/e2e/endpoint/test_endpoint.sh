#!/usr/bin/env bash
# scorer.endpoint by `windlass run`: a batch file goes through a model server that refuses, breaks and answers falsely; each request is
# answered once, in order, and failed ones are in errors.jsonl. Templates, selection, schemas, keys, limits.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
. tests/e2e/endpoint/lib.sh
trap 'stop_servers; rm -rf "$work"' EXIT
mkdir -p "$work/data"

# job NAME ENDPOINT-FIELDS INPUT OUTPUT-FIELDS MORE-OF-THE-SPEC: runs it; its exit code is in $code, its output in $out.
job() {
    out=$work/data/$1
    cat >"$work/$1.yaml" <<M
apiVersion: windlass.dev/v1beta1
kind: BatchScore
metadata: {name: $1}
spec:
  input: $3
  scorer: {endpoint: {$2}}
  output: {path: data/$1${4:+, $4}}
  workers: {min: 1, max: 1${gpus:+, gpus: $gpus}}
  ${5:-}
  volumes:
    - {name: data, persistentVolumeClaim: {claimName: data}}
M
    timeout 120 "$windlass" run -f "$work/$1.yaml" --state "$work/$1.state" "${options[@]}" >"$work/$1.said" 2>&1 </dev/null
    code=$?
    [ "$code" = "${wanted_code:-0}" ] || { tail -qn 5 "$work/$1.said" "$work/$1.state"/*.log 2>/dev/null | sed 's/^/# /'; }
}
options=()
says() { grep -q -- "$2" "$work/$1.said" || { tail -n 4 "$work/$1.said" | sed 's/^/# /'; false; }; }
lines='{table: {path: data/requests.jsonl, format: JSONLines}}'
batch 300 >"$work/data/requests.jsonl"

# ---- a well server
start_server well latency=5 spread=20 || exit 3
job well "url: 'http://127.0.0.1:$port', concurrency: 32" "$lines"
check "a batch file is answered, in order" in_order "$out/output.jsonl" 300
check "and each request asked once" [ "$(asked_again "$work/well")" = 0 ]
check "no request has failed" [ ! -s "$out/errors.jsonl" ]
check "an output line is OpenAI's" jq -es 'all(.response.status_code == 200 and .error == null and (.id | startswith("batch_req_")))
    and (map(.id) | unique | length) == 300' <"$out/output.jsonl" >/dev/null
told='.requests | .answers == 300 and .tokensIn == 2100 and .tokensCached == 600 and .tokensOut == 1500 and .retries == 0
    and .medianMilliseconds >= 5 and .medianMilliseconds <= .p99Milliseconds'
check "summary.json has what they have cost" jq -e "$told" "$out/summary.json" >/dev/null
job v1 "url: 'http://127.0.0.1:$port/v1', concurrency: Auto, cost: {perMillionInputTokens: 10, perMillionOutputTokens: 20.5}" "$lines"
check "and in money" [ "$(jq -r '.requests | .cost + " " + .costPer1000' "$out/summary.json")" = "0.05175 0.1725" ]
check "a server's /v1 is not repeated; the number in flight is found" in_order "$out/output.jsonl" 300

# ---- a server with faults: each is asked again, none is lost
start_server odd latency=2 busy=10 error=5 reset=5 half=5 wrong=5 slow=2 false=10 seed=7 || exit 3
job odd "url: 'http://127.0.0.1:$port', concurrency: 16, tries: 12" "$lines"
check "refusals, 500, resets, half and wrong answers, slow bytes and false names change nothing" in_order "$out/output.jsonl" 300
# 10 % of all requests are refused, 15 % broken (500, resets, half answers), 5 % wrong: each is counted and sent again.
check "and each is counted: $(jq -c '.requests | [.requests, .answers, .busy, .broken, .unfit, .retries]' "$out/summary.json")" \
    jq -e '.requests | .busy > 9 and .broken > 15 and .unfit > 4 and .retries == .busy + .broken + .unfit and .requests == 300 + .retries
        and .answers == 300 + .unfit' "$out/summary.json"
start_server storm latency=1 busy=50 after=1 seed=3 || exit 3
batch 20 >"$work/data/few.jsonl"
gpus=2 job storm "url: 'http://127.0.0.1:$port', concurrency: 8, tries: 2, cost: {perGpuHour: 3600}" '{table: {path: data/few.jsonl, format: JSONLines}}'
check "a server that is busy most of the time is waited for: no try is counted" in_order "$out/output.jsonl" 20
check "two GPUs have their price, too" jq -e '.requests | .gpuSeconds >= 2 and .gpuSeconds % 2 == 0 and .cost == "\(.gpuSeconds)"' "$out/summary.json"
check "and the report has it" grep -qE 'time of GPUs</td>.*<td>cost</td><td class="n">[0-9]+</td>' "$out/report.html"
start_server large latency=1 big=20 || exit 3
job large "url: 'http://127.0.0.1:$port', concurrency: 4" '{table: {path: data/few.jsonl, format: JSONLines}}'
check "answers of 10 MB" in_order "$out/output.jsonl" 20

# ---- requests that fail
start_server hangs latency=60000 || exit 3
batch 2 >"$work/data/two.jsonl"
job hangs "url: 'http://127.0.0.1:$port', concurrency: 2, tries: 2, timeoutSeconds: 1, readyTimeoutSeconds: 1" \
    '{table: {path: data/two.jsonl, format: JSONLines}}' "" "errorThreshold: -1"
check "they are counted, too" jq -e '.requests | [.timeouts, .retries, .answers] == [4, 2, 0]' "$out/summary.json"
check "rows that get no answer fail; the worker does not give up" [ "$(grep -c 'custom_id.*imed\? \?out' "$out/errors.jsonl")" = 2 ]
start_server forbids forbid=q-0 || exit 3
job forbids "url: 'http://127.0.0.1:$port', concurrency: 1, tries: 2" '{table: {path: data/few.jsonl, format: JSONLines}}' "" "errorThreshold: -1"
check "403 for the first row is about that row" [ "$(jq -r '[.custom_id, .error.code] | join(" ")' "$out/errors.jsonl") $(wc -l <"$out/output.jsonl")" = \
    "id-0 http_403 19" ]
start_server broken error=100 || exit 3
job broken "url: 'http://127.0.0.1:$port', concurrency: 8, tries: 2" '{table: {path: data/few.jsonl, format: JSONLines}}' "" "errorThreshold: -1"
check "errors.jsonl has each failed request, with its custom_id" [ "$(jq -r '[.custom_id, .error.code] | join(" ")' "$out/errors.jsonl" | sort -V)" = \
    "$(for ((i = 0; i < 20; i++)); do echo "id-$i http_500"; done)" ]
wanted_code=1 job stops "url: 'http://127.0.0.1:$port', concurrency: 1, tries: 1" "$lines" "" "errorThreshold: 0"
check "beyond the threshold the job has failed, with the server's words" says stops "500 Internal Server Error: as asked"
{
    batch 3
    echo 'not json'
    echo '{"custom_id": "b", "method": "GET", "url": "/x", "body": {}}'
    echo '{"custom_id": "c", "url": "x", "body": {}}'
    echo '{"custom_id": "d", "url": "/x", "body": 1}'
    echo '{"url": "/x", "body": {}}'
} >"$work/data/bad.jsonl"
start_server fine || exit 3
job bad "url: 'http://127.0.0.1:$port'" '{table: {path: data/bad.jsonl, format: JSONLines}}' "" "errorThreshold: -1"
check "invalid lines fail alone" in_order "$out/output.jsonl" 3
check "and say what they lack" [ "$(jq -r .error.message "$out/errors.jsonl" | grep -c 'bad.jsonl:[0-9]*: \(the line is not\|method\|url\|body\|custom_id\)')" = 5 ]
check "the first is named by its line" grep -q "5 of 8 lines are invalid requests and will fail; the first is line 4: bad.jsonl:396: the line is not one JSON value" "$work"/bad.state/*.log
{
    batch 2
    printf '{"custom_id": "vast", "method": "POST", "url": "/x", "body": {"a": "'
    head -c $((32 << 20)) /dev/zero | tr '\0' x
    echo '"}}'
} >"$work/data/vast.jsonl"
job vast "url: 'http://127.0.0.1:$port'" '{table: {path: data/vast.jsonl, format: JSONLines}}' "" "errorThreshold: -1"
check "a body of more than 32 MiB fails alone" in_order "$out/output.jsonl" 2
check "with its bound" [ "$(jq -r '.custom_id + " " + .error.message' "$out/errors.jsonl")" = "vast vast.jsonl:264: body has more than 32 MiB" ]
{ batch 5 && batch 2; } >"$work/data/twice.jsonl"
wanted_code=2 job twice "url: 'http://127.0.0.1:$port'" '{table: {path: data/twice.jsonl, format: JSONLines}}'
check "a custom_id twice ends the job before anything is asked" says twice 'lines [12] and [67] both have the custom_id "id-[01]": give each line one of its own'

# ---- a model, a key, an address without a server
start_server model model=other || exit 3
job model "url: 'http://127.0.0.1:$port', concurrency: 16" "$lines" "" "errorThreshold: -1"
check "a model that the server does not know is asked for once" [ "$(grep -c refused "$work/model.asked")" = 1 ]
check "and named in each line of errors.jsonl" [ "$(grep -c 'The model `m` does not exist' "$out/errors.jsonl")" = 300 ]
start_server key key=s3cret || exit 3
wanted_code=1 job nokey "url: 'http://127.0.0.1:$port', concurrency: 16" "$lines"
check "without its key the job ends with one line" says nokey "401 Unauthorized: Incorrect API key provided: the server wants another key"
check "and one request" [ "$(grep -c refused "$work/key.asked")" = 1 ]
mkdir -p "$work/secrets/llm"
printf 's3cret\r\n\n' >"$work/secrets/llm/token"
printf 'wr0ngwr0ng' >"$work/secrets/llm/wrong"
printf 'a-s3cret\nX-Other: 1' >"$work/secrets/llm/lines"
options=(--secrets "$work/secrets")
job withkey "url: 'http://127.0.0.1:$port', key: {secretName: llm, key: token}" "$lines"
check "a key of a Secret, without the line ends of its file" in_order "$out/output.jsonl" 300
check "that is in no file of the job" [ -z "$(grep -rl s3cret "$work/withkey.state" "$out" "$work/withkey.said")" ]
wanted_code=1 job wrongkey "url: 'http://127.0.0.1:$port', key: {secretName: llm, key: wrong}" "$lines"
check "a wrong key that the server repeats is masked" says wrongkey 'Incorrect API key provided: \*\*\*\*\*\*\*\*\*\*: the server'
check "in each file of the job" [ -z "$(grep -rl wr0ng "$work/wrongkey.state" "$work/wrongkey.said" "$out" 2>/dev/null)" ]
wanted_code=1 job linekey "url: 'http://127.0.0.1:$port', key: {secretName: llm, key: lines}" "$lines"
check "a key of two lines is refused" says linekey "the key of spec.scorer.endpoint.key has a control character"
options=()
wanted_code=2 job metadata "url: 'http://[::ffff:169.254.169.254]:80'" "$lines"
check "and so is a metadata service's address" says metadata "link-local addresses and those of metadata services are refused"
wanted_code=1 job absent "url: 'http://127.0.0.1:9', readyTimeoutSeconds: 2" "$lines"
check "a server that is never there" says absent "http://127.0.0.1:9 has not answered for 2 s: .*onnect"

# ---- templates
printf 'id,text\n7,"so ""good"""\n8,bad {x}\n' >"$work/data/texts.csv"
start_server rows || exit 3
job rows "url: 'http://127.0.0.1:$port', request: {path: /v1/chat/completions, template: {model: m, 'n': '{id}', messages: [{role: user, content: 'Is it {{good}}? {text}'}]}},
    response: {select: {answer: /choices/0/message/content, tokens: /usage/total_tokens}}" '{table: {path: data/texts.csv}}' \
    "format: CSV, key: [id], appendRowFileName: answers.csv"
check "a template over a table, what is selected beside its columns" diff "$out/answers.csv" - <<<$'id,answer,tokens\r
7,"Is it {good}? so ""good""",12\r
8,Is it {good}? bad {x},12\r'
mkdir -p "$work/data/pictures"
printf '\x89PNG\r\n\x1a\n....' >"$work/data/pictures/a.png"
printf 'GIF89a' >"$work/data/pictures/b.gif"
job files "url: 'http://127.0.0.1:$port', request: {template: {messages: [{content: '{data}'}]}}, response: {select: {seen: /choices/0/message/content}}" \
    '{files: {path: data/pictures}}'
check "pictures are sent as data URLs, a result for each" [ "$(jq -r .seen "$out/a.png.json" "$out/b.gif.json")" = \
    "data:image/png;base64,$(base64 <"$work/data/pictures/a.png")"$'\n'"data:image/gif;base64,$(base64 <"$work/data/pictures/b.gif")" ]
job schema "url: 'http://127.0.0.1:$port', tries: 3, request: {template: {messages: [{content: '{text}'}]}},
    response: {select: {answer: /choices/0/message/content}, schema: {properties: {answer: {maxLength: 7}}}}" '{table: {path: data/texts.csv}}' \
    "format: JSONLines, key: [id]" "errorThreshold: -1"
check "an answer that does not fit the schema is asked for again, and fails" [ "$(jq -r .cause "$out/failed.jsonl") $(grep -c '^so' "$work/rows.asked")" = \
    "the answer does not fit the schema: /answer: 9 is not within maxLength 7 3" ]

cat >"$work/data/kinds.jsonl" <<'L'
{"custom_id": "vector", "method": "POST", "url": "/v1/embeddings", "body": {"model": "m", "input": "four"}}
{"custom_id": "answer", "method": "POST", "url": "/v1/responses", "body": {"model": "m", "input": "hello"}}
{"custom_id": "order", "method": "POST", "url": "/v1/rerank", "body": {"model": "m", "query": "a", "prompt": "b", "documents": ["c"]}}
{"custom_id": "rest", "method": "POST", "url": "/v1/completions", "body": {"model": "m", "prompt": "once upon"}}
L
job kinds "url: 'http://127.0.0.1:$port'" '{table: {path: data/kinds.jsonl, format: JSONLines}}'
check "embeddings, responses, reranks and completions go out as they are" [ "$(jq -r '[.custom_id, .response.body.data[0].embedding[0] //
    .response.body.choices[0].message.content] | join(" ")' "$out/output.jsonl" | paste -sd ' ')" = "vector 4 answer hello order b rest once upon" ]
job parquet "url: 'http://127.0.0.1:$port', request: {template: {messages: [{content: '{text}'}]}}, response: {select: {answer: /choices/0/message/content}}" \
    '{table: {path: data/texts.csv}}' "format: Parquet, key: [id], appendRowFileName: answers.parquet"
job again "url: 'http://127.0.0.1:$port', request: {template: {messages: [{content: '{id}: {answer}'}]}}, response: {select: {said: /choices/0/message/content}}" \
    '{table: {path: data/parquet, pattern: "*.parquet", format: Parquet}}' "format: CSV, key: [answer], appendRowFileName: said.csv"
check "answers become columns of Parquet, and rows of Parquet requests" diff "$out/said.csv" - <<<$'answer,said\r
"so ""good""","7: so ""good"""\r
bad {x},8: bad {x}\r'
mkdir -p "$work/data/words"
printf 'one' >"$work/data/words/1.txt"
printf 'two "2"' >"$work/data/words/2.txt"
job said "url: 'http://127.0.0.1:$port', request: {template: {messages: [{content: '{name}: {text}'}]}}, response: {select: {seen: /choices/0/message/content}}" \
    '{files: {path: data/words}}'
check "texts are sent as texts" [ "$(jq -r .seen "$out/1.txt.json" "$out/2.txt.json" | paste -sd ' ')" = '1.txt: one 2.txt: two "2"' ]

start_server short short=100 || exit 3
job short "url: 'http://127.0.0.1:$port'" '{table: {path: data/few.jsonl, format: JSONLines}}'
check "answers that end at the limit of tokens are kept, and counted" [ "$code $(jq .requests.cut "$out/summary.json")" = "0 20" ]
check "and the end says so" grep -q '^  cut      20 answers end at a limit of tokens, and are kept as they came$' "$work/short.said"
check "there were none before" [ "$(jq .requests.cut "$work/data/well/summary.json")" = 0 ]

# ---- made anew in another form: the error file of the batch goes
start_server forms || exit 3
job forms "url: 'http://127.0.0.1:$port'" '{table: {path: data/few.jsonl, format: JSONLines}}'
check "a batch has its error file" [ "$code" = 0 -a -e "$out/errors.jsonl" ]
options=(--restart)
job forms "url: 'http://127.0.0.1:$port', request: {template: {messages: [{content: '{custom_id}'}]}}" '{table: {path: data/few.jsonl, format: JSONLines}}'
options=()
check "a template has none, and the batch's does not stay (code $code)" [ "$code" = 0 -a ! -e "$out/errors.jsonl" -a ! -e "$out/output.jsonl" ]
check "nor does result.json name it" [ "$(jq '[.reports[].name | select(. == "errors.jsonl")] | length' "$out/result.json")" = 0 ]

# ---- a second run of a slow request
start_server hung hang=q-7 || exit 3
job hedge "url: 'http://127.0.0.1:$port', concurrency: 4, hedge: true" '{table: {path: data/few.jsonl, format: JSONLines}}'
check "with hedge a request without an answer is sent again when nothing else waits" in_order "$out/output.jsonl" 20
# (the worker that still waits for the hung one may be ended before it says that it has sent it)
check "and no other is" jq -e --argjson again "$(asked_again "$work/hung")" \
    '$again == 0 and (.requests | (.requests | . == 20 or . == 21) and .answers == 20)' "$out/summary.json"

# ---- several servers, limits
start_server lacks model=other || exit 3
first=$port
start_server has latency=5 || exit 3
job mixed "urls: ['http://127.0.0.1:$first', 'http://127.0.0.1:$port/v1'], concurrency: 8" "$lines"
check "what one server does not know is asked at another, whose path differs" in_order "$out/output.jsonl" 300
check "and the first was asked" grep -q refused "$work/lacks.asked"
job dead "urls: ['http://127.0.0.1:9', 'http://127.0.0.1:$port'], concurrency: 8, readyTimeoutSeconds: 3" "$lines"
check "the first server may be away at the start" in_order "$out/output.jsonl" 300
start_server one latency=20 || exit 3
first=$port
start_server two latency=20 || exit 3
job both "urls: ['http://127.0.0.1:$first', 'http://127.0.0.1:$port', 'http://127.0.0.1:9'], concurrency: 8" "$lines"
check "two servers share the requests, a third is away" [ "$(wc -l <"$work/one.asked")" -gt 100 -a "$(wc -l <"$work/two.asked")" -gt 100 ]
check "and each is answered once" in_order "$out/output.jsonl" 300
batch 60 >"$work/data/some.jsonl"
start_server limited || exit 3
started=$(date +%s%N)
options=(--workers 2)
job limited "url: 'http://127.0.0.1:$port', concurrency: 1, limits: {requestsPerMinute: 600}" '{table: {path: data/some.jsonl, format: JSONLines}}'
options=()
check "a limit per minute" in_order "$out/output.jsonl" 60
# Ten a second take 5.8 s behind the first of each worker. The first worker may send ten a second until it knows of the
# second, which knows at once, so both never send more than fifteen: 3.9 s. Each with a limit of its own would take 2.9 s.
took=$((($(date +%s%N) - started) / 1000000))
check "is of both workers together (${took} ms)" [ "$took" -ge 3800 ]
batch 9 >"$work/data/nine.jsonl"
started=$(date +%s%N)
job tokens "url: 'http://127.0.0.1:$port', limits: {tokensPerMinute: 1800}" '{table: {path: data/nine.jsonl, format: JSONLines}}'
check "a limit of tokens" in_order "$out/output.jsonl" 9
# A body of 58 bytes counts as 15 tokens, and 135 at 30 a second take 4.4 s.
took=$((($(date +%s%N) - started) / 1000000))
check "is kept, too (${took} ms)" [ "$took" -ge 4300 ]
# ---- as docs/operate/model-servers.md has it in five minutes: its request and its manifest, but for the port
start_server page || exit 3
mkdir -p "$work/five/work"
awk '/^## /{ on = /five minutes/ } on && /^       /' docs/operate/model-servers.md | cut -c 8- >"$work/five/blocks"
grep '^{' "$work/five/blocks" >"$work/five/work/requests.jsonl"
sed -n '/^apiVersion/,/claimName/p' "$work/five/blocks" | sed "s/:8000/:$port/" >"$work/five/ask.yaml"
(cd "$work/five" && timeout 120 "$windlass" run -f ask.yaml --state "$work/five.state" >"$work/five.said" 2>&1 </dev/null)
check "the manifest of the page runs as it is" [ $? = 0 ]
check "and answers its request where the page says" [ "$(jq -r '.custom_id + " " + .response.body.choices[0].message.content' \
    "$work/five/work/answers/output.jsonl")" = "a Hello" ]
check "with an error file" [ -e "$work/five/work/answers/errors.jsonl" ]
# ---- without a manifest
start_server plain key=s3cret || exit 3
cp "$work/data/requests.jsonl" "$work/My Requests.jsonl"
out=$work/my-requests-answers
timeout 120 "$windlass" batch "$work/My Requests.jsonl" --url "http://127.0.0.1:$port" --concurrency 8 --key llm/token --secrets "$work/secrets" \
    --state "$work/batch.state" >"$work/batch.said" 2>&1
check "windlass batch sends a file" in_order "$out/output.jsonl" 300
timeout 120 "$windlass" batch "$work/My Requests.jsonl" --url "http://127.0.0.1:$port" --concurrency 8 --key llm/token --secrets "$work/secrets" \
    --state "$work/batch.state" >"$work/batch.said" 2>&1
check "and nothing twice" [ "$(wc -l <"$work/plain.asked")" = 300 ]
"$windlass" batch "$work/My Requests.jsonl" --url http://llm:8000/v1 --print >"$work/printed.yaml"
check "--print prints a manifest that is valid" "$windlass" check -f "$work/printed.yaml" >/dev/null
"$windlass" import "$work/My Requests.jsonl" >"$work/imported.yaml"
check "windlass import makes the same manifest of it" diff <(grep -v '^#' "$work/imported.yaml") \
    <(grep -v '^#' "$work/printed.yaml" | sed 's#http://llm:8000/v1#http://NAME-THE-SERVER#')
check "and says what it lacks" grep -q '^#   spec.scorer.endpoint.url: ' "$work/imported.yaml"
"$windlass" import "$work/My Requests.jsonl" --name A_b >"$work/batch.said" 2>&1
check "an error names the file" grep -qF "$work/My Requests.jsonl: the manifest of it" "$work/batch.said"
"$windlass" batch "$work/none.jsonl" --url http://llm >"$work/batch.said" 2>&1
check "a file that is not there: usage" [ $? = 2 ]
verify_outputs "$work/data"
exit $((failures > 0))
