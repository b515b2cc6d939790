#!/usr/bin/env python3
"""Makes small networks of texts, and a tokenizer (Python's standard library only).

    make_texts.py FOLDER   writes FOLDER/mean.onnx       ids, mask, types [N, T] -> masked mean of vectors [N, 4]
                                  FOLDER/states.onnx     the same -> last_hidden_state [N, T, 4], and that as pooler_output
                                  FOLDER/unmasked.onnx   ids [N, T] -> mean of vectors [N, 4]
                                  FOLDER/padding.onnx    ids, mask, types -> tokens of the text, and places of its row [N, 2]
                                  FOLDER/tokenizer.json  WordPiece of letters, digits and a few words
"""
import json
import struct
import sys

from make import field, model, node, tensor, value

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "dog", "ran", ".", ","]
VOCABULARY = WORDS + [chr(97 + i) for i in range(26)] + ["##" + chr(97 + i) for i in range(26)]


def whole(name, dims):
    return value(name, dims, 7)


def axis(name, number):
    return field(1, 1) + field(2, 7) + field(8, name) + field(9, struct.pack("<q", number))


def vector(token):
    return [((token * 7 + k * 13) % 29) / 8 - 1.5 for k in range(4)]


def main(folder):
    table = tensor("table", [len(VOCABULARY), 4], [v for t in range(len(VOCABULARY)) for v in vector(t)])
    second = tensor("second", [2, 4], [0.0] * 4 + [1.0, 0.5, 0.25, -1.0])
    one, last = axis("one", 1), axis("last", 2)
    mean = [node("Gather", ["table", "input_ids"], ["words"]), node("Gather", ["second", "token_type_ids"], ["sides"]),
            node("Add", ["words", "sides"], ["both"]), node("Cast", ["attention_mask"], ["mask"], to=1),
            node("Unsqueeze", ["mask", "last"], ["wide"]), node("Mul", ["both", "wide"], ["own"]),
            node("ReduceSum", ["own", "one"], ["sum"], keepdims=0), node("ReduceSum", ["mask", "one"], ["count"], keepdims=1),
            node("Div", ["sum", "count"], ["y"])]
    ids = [whole(n, ["N", "T"]) for n in ("input_ids", "attention_mask", "token_type_ids")]
    padding = [node("Cast", ["attention_mask"], ["mask"], to=1), node("ReduceSum", ["mask", "one"], ["tokens"], keepdims=1),
               node("Equal", ["input_ids", "input_ids"], ["all"]), node("Cast", ["all"], ["places"], to=1),
               node("ReduceSum", ["places", "one"], ["width"], keepdims=1), node("Concat", ["tokens", "width"], ["y"], axis=1)]
    made = {
        "padding": model(padding, ids, [value("y", ["N", 2])], [one]),
        "mean": model(mean, ids, [value("y", ["N", 4])], [table, second, one, last]),
        "states": model(mean[:-1] + [node("Div", ["sum", "count"], ["pooler_output"]),
                                     node("Identity", ["both"], ["last_hidden_state"])], ids,
                        [value("last_hidden_state", ["N", "T", 4]), value("pooler_output", ["N", 4])],
                        [table, second, one, last]),
        "unmasked": model([node("Gather", ["table", "x"], ["words"]), node("ReduceMean", ["words"], ["y"], axes=[1], keepdims=0)],
                          [whole("x", ["N", "T"])], [value("y", ["N", 4])], [table]),
    }
    for name, bytes_of in made.items():
        with open(f"{folder}/{name}.onnx", "wb") as file:
            file.write(bytes_of)
    special = [{"id": i, "content": w, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                "special": True} for i, w in enumerate(WORDS[:4])]
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}, "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {w: i for i, w in enumerate(VOCABULARY)}},
    }
    with open(f"{folder}/tokenizer.json", "w") as file:
        json.dump(tokenizer, file)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
