"""Makes the example's network, tokenizer and texts from the descriptions of Debian's packages, by latent semantic analysis:
the words of a text are counted, weighed by how rare they are, and mapped to the 48 directions in which texts differ most.

    apt-cache dumpavail >available && /usr/bin/python3 make.py available       (wants python3-numpy)
"""
import json, os, random, re, struct, sys
import numpy

WORDS, SIZE, TEXTS = 3000, 48, 2500
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
split = re.compile(r"\w+|[^\w\s]+").findall  # as the tokenizer's pre-tokenizer Whitespace does
STOP = set("a an and are as at be by can for from has have in is it its of on or that the this to was which with you your".split())


def packages(path):
    """(name, one line) of each package, without libraries' variants."""
    for block in open(path, encoding="utf-8").read().split("\n\n"):
        name, text = re.search(r"^Package: (.*)", block, re.M), re.search(r"^Description(?:-en)?: (.*(?:\n .*)*)", block, re.M)
        if name and text and not re.search(r"-(dev|dbg|dbgsym|doc|data|common|locale.*|l10n.*)$", name[1]):
            yield name[1], re.sub(r"\s+", " ", text[1]).strip()


def onnx(table):
    """ids [n, t] -> the rows of the table [n, t, SIZE]."""
    def varint(number):
        out = b""
        while number > 127:
            out, number = out + bytes([number & 127 | 128]), number >> 7
        return out + bytes([number])
    def field(number, value):
        return varint(number << 3) + varint(value) if isinstance(value, int) else varint(number << 3 | 2) + varint(len(value)) + value
    def value(name, kind, *names):
        dims = b"".join(field(1, field(2, n.encode()) if isinstance(n, str) else field(1, n)) for n in names)
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))
    weights = field(1, table.shape[0]) + field(1, table.shape[1]) + field(2, 1) + field(8, b"words") + field(9, table.astype("<f4").tobytes())
    node = field(1, b"words") + field(1, b"input_ids") + field(2, b"token_embeddings") + field(4, b"Gather")
    graph = field(1, node) + field(2, b"embeddings") + field(5, weights) + field(11, value(b"input_ids", 7, "n", "t"))
    graph += field(11, value(b"attention_mask", 7, "n", "t")) + field(12, value(b"token_embeddings", 1, "n", "t", table.shape[1]))
    return field(1, 7) + field(2, b"windlass examples/embeddings") + field(7, graph) + field(8, field(2, 13))


def main(path):
    texts = dict(packages(path))
    rows = {name: [word for word in split(text.lower())] for name, text in texts.items()}
    seen = {}
    for words in rows.values():
        for word in set(words):
            seen[word] = seen.get(word, 0) + 1
    known = sorted((w for w in seen if w not in STOP and w.isalpha() and len(w) > 1), key=lambda w: (-seen[w], w))[:WORDS - 2]
    at = {word: i + 2 for i, word in enumerate(known)}  # 0: padding, 1: any other word
    rare = numpy.zeros(WORDS)
    rare[2:] = [numpy.log(len(rows) / seen[word]) for word in known]
    together, names = numpy.zeros((WORDS, WORDS)), list(rows)
    for first in range(0, len(names), 2000):
        counts = numpy.zeros((min(2000, len(names) - first), WORDS))
        for k, name in enumerate(names[first:first + 2000]):
            for word in rows[name]:
                counts[k, at.get(word, 1)] += 1
        counts = numpy.log1p(counts) * rare
        counts /= numpy.maximum(numpy.linalg.norm(counts, axis=1, keepdims=True), 1e-9)
        together += counts.T @ counts
    values, vectors = numpy.linalg.eigh(together)
    table = rare[:, None] * vectors[:, :-SIZE - 1:-1]
    os.makedirs(f"{folder}/model", exist_ok=True)
    open(f"{folder}/model/model.onnx", "wb").write(onnx(table))
    tokenizer = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "decoder": None, "post_processor": None,
                 "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
                 "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[PAD]": 0, "[UNK]": 1, **at}}}
    json.dump(tokenizer, open(f"{folder}/model/tokenizer.json", "w"), separators=(",", ":"), ensure_ascii=False)
    import csv
    with open(f"{folder}/texts/packages.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["package", "text"])
        good = [name for name in sorted(names) if 40 < len(texts[name]) and sum(w in at for w in rows[name]) >= 4]
        out.writerows([name, texts[name]] for name in sorted(random.Random(19).sample(good, TEXTS)))


os.makedirs(f"{folder}/texts", exist_ok=True)
main(sys.argv[1])
