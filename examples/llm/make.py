#!/usr/bin/env python3
"""Makes data/models/tiny.gguf, a language model of 1 MB, and data/texts.csv, 200 texts: make.py FOLDER

The model is made, not trained: one layer of attention looks at all words alike, so that what comes out of it is the mean of
what the words mean. It answers with a kind (spam, ham), then a topic (money, sport, weather), then the end. Its words are
those below; all others mean nothing to it. The form of the file: GGUF version 3 (gguf.md of github.com/ggml-org/ggml)."""
import array, os, random, struct, sys

KINDS = {"spam": ["free", "winner", "click", "prize", "urgent", "offer"],
         "ham": ["meeting", "tomorrow", "regards", "attached", "lunch", "minutes"]}
TOPICS = {"money": ["bank", "invoice", "loan", "price"], "sport": ["match", "team", "goal", "race"],
          "weather": ["rain", "storm", "sunny", "snow"]}
FILLING = ["the", "about", "please", "with", "your", "and", "for", "this", "now", "see"]
SIZE, HEADS, HIDDEN = 64, 2, 32
# What each place of a word's vector is for.
ONE, IS_KIND, IS_TOPIC, MEAN_ONE, EVIDENCE = 0, 1, 2, 3, 8  # evidence of answer i: EVIDENCE + i; its mean: + 16
ANSWERS = list(KINDS) + list(TOPICS)


def pieces():
    """The tokens: special ones, bytes, letters, and every beginning of every word, from which a tokenizer builds the word."""
    tokens = [("<unk>", 2), ("<s>", 3), ("</s>", 3)] + [("<0x%02X>" % i, 6) for i in range(256)]
    words = ANSWERS + [w for group in (KINDS, TOPICS) for words in group.values() for w in words]
    plain = [chr(c) for c in range(97, 123)] + ["\u2581"]
    for word in words:
        plain += ["\u2581" + word[:end] for end in range(1, len(word) + 1)]
    return tokens + [(text, 1) for text in dict.fromkeys(plain)]


def matrix(rows, cells):
    data = array.array("f", [0.0]) * (rows * SIZE)
    for row, column, value in cells:
        data[row * SIZE + column] = value
    return data


def tensors(tokens):
    place = {text: i for i, (text, _) in enumerate(tokens)}
    embedding = [(i, ONE, 1.0) for i in range(len(tokens))]
    for number, answer in enumerate(ANSWERS):
        embedding.append((place["\u2581" + answer], IS_KIND if answer in KINDS else IS_TOPIC, 1.0))
        for word in KINDS.get(answer, []) + TOPICS.get(answer, []):
            embedding.append((place["\u2581" + word], EVIDENCE + number, 1.0))
    value = [(MEAN_ONE, ONE, 1.0)] + [(EVIDENCE + 16 + i, EVIDENCE + i, 1.0) for i in range(len(ANSWERS))]
    output = [(place["</s>"], IS_TOPIC, 1000.0)]
    for number, answer in enumerate(ANSWERS):
        row = place["\u2581" + answer]
        output.append((row, EVIDENCE + 16 + number, 1.0))
        output.append((row, MEAN_ONE, 10.0) if answer in KINDS else (row, IS_KIND, 100.0))
    ones, none = array.array("f", [1.0]) * SIZE, matrix(SIZE, [])
    unit = matrix(SIZE, [(i, i, 1.0) for i in range(SIZE)])
    hidden = array.array("f", [0.0]) * (HIDDEN * SIZE)
    block = {"attn_norm": (ones, [SIZE]), "attn_q": (none, [SIZE, SIZE]), "attn_k": (none, [SIZE, SIZE]),
             "attn_v": (matrix(SIZE, value), [SIZE, SIZE]), "attn_output": (unit, [SIZE, SIZE]), "ffn_norm": (ones, [SIZE]),
             "ffn_gate": (hidden, [SIZE, HIDDEN]), "ffn_up": (hidden, [SIZE, HIDDEN]), "ffn_down": (hidden, [HIDDEN, SIZE])}
    made = {"token_embd.weight": (matrix(len(tokens), embedding), [SIZE, len(tokens)]),
            "output_norm.weight": (ones, [SIZE]), "output.weight": (matrix(len(tokens), output), [SIZE, len(tokens)])}
    made.update({"blk.0.%s.weight" % name: given for name, given in block.items()})
    return made


def text_of(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


NUMBER, WHOLE, REAL, FLAG, TEXT, LIST = 4, 5, 6, 7, 8, 9


def value_of(kind, value):
    if kind == TEXT:
        return text_of(value)
    return struct.pack({NUMBER: "<I", WHOLE: "<i", REAL: "<f", FLAG: "<?"}[kind], value)


def entry(key, kind, value):
    if isinstance(value, list):
        return text_of(key) + struct.pack("<IIQ", LIST, kind, len(value)) + b"".join(value_of(kind, v) for v in value)
    return text_of(key) + struct.pack("<I", kind) + value_of(kind, value)


def write_model(path):
    tokens = pieces()
    template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    entries = [("general.architecture", TEXT, "llama"), ("general.name", TEXT, "tiny"), ("llama.context_length", NUMBER, 4096),
               ("llama.embedding_length", NUMBER, SIZE), ("llama.block_count", NUMBER, 1),
               ("llama.feed_forward_length", NUMBER, HIDDEN), ("llama.attention.head_count", NUMBER, HEADS),
               ("llama.attention.layer_norm_rms_epsilon", REAL, 1e-5), ("llama.rope.dimension_count", NUMBER, SIZE // HEADS),
               ("tokenizer.ggml.model", TEXT, "llama"), ("tokenizer.ggml.tokens", TEXT, [t for t, _ in tokens]),
               ("tokenizer.ggml.scores", REAL, [float(-i) for i in range(len(tokens))]),
               ("tokenizer.ggml.token_type", WHOLE, [kind for _, kind in tokens]),
               ("tokenizer.ggml.bos_token_id", NUMBER, 1), ("tokenizer.ggml.eos_token_id", NUMBER, 2),
               ("tokenizer.ggml.unknown_token_id", NUMBER, 0), ("tokenizer.chat_template", TEXT, template)]
    made = tensors(tokens)
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(made), len(entries)) + b"".join(entry(*e) for e in entries)
    data = b""
    for name, (values, shape) in made.items():
        head += text_of(name) + struct.pack("<I%dQ" % len(shape), len(shape), *shape) + struct.pack("<IQ", 0, len(data))
        data += values.tobytes() + b"\0" * (-values.itemsize * len(values) % 32)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32) + data)


def write_texts(path):
    dice = random.Random(7)
    with open(path, "w") as file:
        file.write("id,text,kind,topic\n")
        for number in range(200):
            kind, topic = dice.choice(list(KINDS)), dice.choice(list(TOPICS))
            words = dice.sample(KINDS[kind], 3) + dice.sample(TOPICS[topic], 2) + dice.sample(FILLING, 5)
            dice.shuffle(words)
            file.write("%d,%s,%s,%s\n" % (number, " ".join(words), kind, topic))


folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
os.makedirs(os.path.join(folder, "models"), exist_ok=True)
write_model(os.path.join(folder, "models", "tiny.gguf"))
write_texts(os.path.join(folder, "texts.csv"))
