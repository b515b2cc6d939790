#!/usr/bin/env bash
# examples/llm as written: llama.cpp's server, started by each worker, answers for 200 texts, each as the model's words say; and as a
# server of its own that two workers share.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
windlass=$(realpath "${BUILD:-build}/windlass")
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
cp examples/llm/batchscore.yaml "$work/"
mkdir "$work/data"
examples/llm/fetch.sh "$work/data" >"$work/fetch" 2>&1 || { echo "skip test_llama: $(tail -n 1 "$work/fetch")"; exit 0; }
run() { timeout 170 "$windlass" run -f "$work/$1.yaml" --state "$work/$1.state" --workers "$2" >"$work/said" 2>&1 </dev/null || { sed 's/^/# /' "$work/said"; tail -qn 3 "$work/$1.state"/*.log | sed 's/^/# /'; false; }; }
# Each row: its id, kind and topic, and the answer, which must be kind and topic.
right() { [ "$(tr -d '\r' <"$1" | awk -F, 'NR > 1 && $4 == "\" " $2 " " $3 "\""' | wc -l)" = 200 ] || { head -n 5 "$1" | sed 's/^/# /'; false; }; }
check "the example runs: a llama-server for its worker" run batchscore 1
check "all 200 answers are right" right "$work/data/answers/answers.csv"
check "with tokens counted" [ "$(jq -c '.requests | [.answers, .tokensOut, .retries]' "$work/data/answers/summary.json")" = "[200,600,0]" ]
check "no server is left" [ -z "$(pgrep -f "llama-server.*$work")" ]
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$work/data/bin/llama-server" -m "$work/data/models/tiny.gguf" --port $port >"$work/server" 2>&1 &
server=$!
python3 - "$work" $port <<'P'
import re, sys
work, port = sys.argv[1:]
text = open(work + "/batchscore.yaml").read()
start, end = text.index("      server:"), text.index("      request:")
text = text[:start] + '      url: "http://127.0.0.1:%s"\n' % port + text[end:]
open(work + "/shared.yaml", "w").write(text.replace("data/answers", "data/shared"))
P
check "one server for two workers" run shared 2
check "all 200 answers are right" right "$work/data/shared/answers.csv"
verify_outputs "$work/data"
exit $((failures > 0))
