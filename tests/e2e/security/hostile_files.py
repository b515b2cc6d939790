#!/usr/bin/env python3
"""Files that others with the right to write to a job's volume may put there, for test_hostile_files.sh: sizes that overflow
or are false, trees without end, files of terabytes that take no room, pipes, links.

    hostile_files.py make FOLDER    makes them in FOLDER, and prints a line for each job: NAME, INPUT, SCORER, the exit
                                    code that is wanted, and a pattern of its message, with tabs between them
    hostile_files.py named FILE     makes a network whose names would end their line or quotes, or act on a terminal
    hostile_files.py run MIB COMMAND...   runs it, and fails with a line if a process of it took more memory
"""
import gzip
import json
import os
import resource
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../data/models"))
from make import attribute, field, model, node, tensor, value  # noqa: E402

ROWS = "{npy: {path: data/rows}}"
TEXTS = "{table: {path: data/texts, format: JSONLines}}"
ECHO = '{command: {command: ["python3", "@DATA@/echo.py"]}}'
HUGE = 1 << 40
jobs = []


def job(name, feed, scorer, code, pattern):
    jobs.append((name, feed, scorer, str(code), pattern))


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def hole(path, size, head=b"", tail=b""):
    """A file of that size that takes almost no room on the disk."""
    put(path, head)
    os.truncate(path, size)
    with open(path, "r+b") as file:
        file.seek(size - len(tail))
        file.write(tail)


# ---- networks ------------------------------------------------------------------------------------


def int64s(name, dims, numbers):
    return b"".join(field(1, d) for d in dims) + field(2, 7) + field(8, name) + field(9, struct.pack(f"<{len(numbers)}q", *numbers))


def network(nodes, *initializers, feed=("n", 3)):
    return model(nodes, [value("x", feed)], [value("y", ["n", 3])], initializers)


def added(*made):
    """y = x + t, where nodes make t."""
    return [*made, node("Add", ["x", "t"], ["y"])]


def external(name, place, dims, **more):
    entries = {"location": place, **{key: str(number) for key, number in more.items()}}
    return (b"".join(field(1, d) for d in dims) + field(2, 1) + field(8, name)
            + b"".join(field(13, field(1, key) + field(2, text)) for key, text in entries.items()) + field(14, 1))


def function(name, nodes):
    return field(1, name) + field(4, "x") + field(5, "y") + b"".join(field(7, n) for n in nodes) + field(9, field(2, 13)) + field(10, "d")


def of_domain(op, to, source="x"):
    return field(1, source) + field(2, to) + field(3, to) + field(4, op) + field(7, "d")


def with_functions(nodes, *functions):
    return network(nodes) + field(8, field(1, "d") + field(2, 1)) + b"".join(field(25, f) for f in functions)


def branch(graph):
    """A node with a graph in it."""
    return field(1, "x") + field(2, "y") + field(4, "If") + field(5, field(1, "then_branch") + field(6, graph) + field(20, 5))


WHEN_RUN = {"fill": r"ConstantOfShape node .*shape 1099511627776x", "fill-terabytes": r"ConstantOfShape node|are incompatible", "expand": "Expand node|are incompatible",
            "tile": "Tile node|are incompatible", "range": "Range node .* elements", "pad": "Pad node .*shape", "pad-less": "Pad node .*pads",
            "one-hot": "OneHot node", "resize": "Resize node .*shape", "gather": "Gather node .*index", "reshape": "Reshape node .*too large"}


def networks(folder):
    shape = int64s("s", [2], [1 << 20, 1 << 20])
    many = {
        "fill": network(added(node("ConstantOfShape", ["s"], ["t"])), int64s("s", [2], [HUGE, HUGE])),
        "fill-terabytes": network(added(node("ConstantOfShape", ["s"], ["t"])), shape),
        "expand": network(added(node("Expand", ["w", "s"], ["t"])), tensor("w", [1, 1], [1]), shape),
        "tile": network(added(node("Tile", ["w", "s"], ["t"])), tensor("w", [1, 1], [1]), shape),
        "range": network(added(node("Range", ["a", "b", "c"], ["r"]), node("Cast", ["r"], ["t"], to=1)), int64s("a", [], [0]),
                         int64s("b", [], [1 << 62]), int64s("c", [], [1])),
        "pad": network(added(node("Pad", ["w", "s"], ["t"])), tensor("w", [1, 1], [1]), int64s("s", [4], [0, 0, 1 << 20, 1 << 20])),
        "pad-less": network(added(node("Pad", ["w", "s"], ["t"])), tensor("w", [1, 1], [1]), int64s("s", [4], [-1 << 62, 0, 1 << 62, 3])),
        "one-hot": network(added(node("OneHot", ["i", "d", "v"], ["t"])), int64s("i", [1], [0]), int64s("d", [], [1 << 60]), tensor("v", [2], [0, 1])),
        "resize": network(added(node("Resize", ["w", "", "f"], ["t"])), tensor("w", [1, 1], [1]), tensor("f", [2], [1e9, 1e9])),
        "gather": network(added(node("Gather", ["w", "i"], ["t"])), tensor("w", [1, 3], [1] * 3), int64s("i", [1], [-1 << 63])),
        "reshape": network(added(node("Reshape", ["w", "s"], ["t"])), tensor("w", [1, 3], [1] * 3), int64s("s", [3], [1 << 32, 1 << 32, 3])),
        "weights-overflow": network(added(node("Identity", ["w"], ["t"])), b"".join(field(1, HUGE) for _ in range(4)) + field(2, 1) + field(8, "w")),
        "weights-negative": network(added(node("Identity", ["w"], ["t"])), field(1, -3) + field(1, -1) + field(2, 1) + field(8, "w") + field(9, bytes(12))),
        "weights-short": network(added(node("Identity", ["w"], ["t"])), field(1, 3 << 20) + field(2, 1) + field(8, "w") + field(9, bytes(12))),
        "input-huge": network([node("Identity", ["x"], ["y"])], feed=("n", HUGE, HUGE)),
        "cycle": network([node("Add", ["x", "b"], ["a"]), node("Add", ["a", "x"], ["b"]), node("Identity", ["b"], ["y"])]),
        "itself": with_functions([of_domain("f", "y")], function("f", [of_domain("f", "y")])),
        "laughs": with_functions([of_domain("f0", "y")], *[function(f"f{i}", [of_domain(f"f{i + 1}", f"v{k}" if k < 9 else "y", f"v{k - 1}" if k else "x")
                                                           for k in range(10)]) for i in range(14)], function("f14", [node("Neg", ["x"], ["y"])])),
    }
    for name, data in many.items():
        put(f"{folder}/model/{name}.onnx", data)
    graph = field(1, node("Identity", ["x"], ["y"]))
    while len(graph) < 200000:  # thousands of levels
        graph = field(1, branch(graph))
    put(f"{folder}/model/nested.onnx", network([branch(graph)]))
    many["nested"] = None
    for name, why in WHEN_RUN.items():  # found when it runs: its items fail
        job(f"a network: {name}", ROWS, f"{{onnx: {{path: model/{name}.onnx, postprocess: {{type: Values}}}}}}", 1, why)
    for name in sorted(many.keys() - WHEN_RUN.keys()):
        job(f"a network: {name}", ROWS, f"{{onnx: {{path: model/{name}.onnx, postprocess: {{type: Values}}}}}}", 2,
            "the network's input is" if name == "input-huge" else rf"spec\.scorer\.onnx.*{name}\.onnx")


def endless(folder):
    """Hours of products, found when the coordinator tries it out; it may take a minute there (test_hostile_files.sh)."""
    nodes = [node("ConstantOfShape", ["s"], ["m0"]), *[node("MatMul", [f"m{i}", "m0"], [f"m{i + 1}"]) for i in range(5000)], node("ReduceSum", ["m5000"], ["t"])]
    put(f"{folder}/model/endless.onnx", network(added(*nodes), int64s("s", [2], [4096, 4096])))
    job("a network that does not end", ROWS, "{onnx: {path: model/endless.onnx, postprocess: {type: Values}}}", 2, r"spec\.scorer\.onnx\.path: model/endless\.onnx: one run of it.*more than 60 s")


def weights_elsewhere(folder):
    nodes = added(node("Identity", ["w"], ["t"]))
    hole(f"{folder}/model/zeros.bin", 4 << 40)
    os.symlink("/etc/passwd", f"{folder}/model/link.bin")
    os.mkfifo(f"{folder}/model/pipe.bin")
    for name, why, place in (("up", "the name of a file in the model's own folder", external("w", "../../../../etc/passwd", [3])),
                             ("absolute", "the name of a file in the model's own folder", external("w", "/etc/passwd", [3])),
                             ("link", r"link\.bin", external("w", "link.bin", [3])), ("pipe", "not a regular file", external("w", "pipe.bin", [3])),
                             ("terabytes", "more than three quarters of the memory here", external("w", "zeros.bin", [1 << 20, 1 << 19])),
                             ("beyond", "beyond the end", external("w", "zeros.bin", [3], offset=(1 << 62) + 1, length=12)),
                             ("negative", "not a number", external("w", "zeros.bin", [3], offset=-4))):
        put(f"{folder}/model/{name}.onnx", network(nodes, place))
        job(f"weights in another file: {name}", ROWS, f"{{onnx: {{path: model/{name}.onnx, postprocess: {{type: Values}}}}}}", 2, rf"{name}\.onnx.*{why}")
    # (One byte of the file is weights of 64 KiB, again and again: what is read is counted, not what is there.)
    put(f"{folder}/model/again.onnx", network(added(node("Identity", ["w0"], ["t"])), *[external(f"w{i}", "zeros.bin", [1 << 26]) for i in range(9)]))
    job("weights in another file: again and again", ROWS, "{onnx: {path: model/again.onnx, postprocess: {type: Values}}}", 2, r"again\.onnx.*more than three quarters of the memory here")


def files_of_a_network(folder):
    hole(f"{folder}/model/zeros.onnx", 4 << 40)
    os.mkfifo(f"{folder}/model/fifo.onnx")
    os.symlink("loop.onnx", f"{folder}/model/loop.onnx")
    for name, why in (("zeros", "at most 2147483648"), ("fifo", "not a regular file"), ("loop", "symbolic links|links")):
        job(f"not a file of a network: {name}", ROWS, f"{{onnx: {{path: model/{name}.onnx, postprocess: {{type: Values}}}}}}", 2, rf"{name}\.onnx.*({why})")
    put(f"{folder}/model/plain.onnx", network([node("Identity", ["x"], ["y"])]))
    hole(f"{folder}/model/labels.txt", 1 << 40)
    os.mkfifo(f"{folder}/model/pipe.txt")
    for name in "labels", "pipe":
        job(f"labels: {name}", ROWS, f"{{onnx: {{path: model/plain.onnx, postprocess: {{type: Classes, labels: model/{name}.txt}}}}}}", 2, rf"model/{name}\.txt")


# ---- tokenizers ----------------------------------------------------------------------------------

WORDS = {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##a": 2}}


def unigram(*tokens):
    return {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0]] + [[token, -1] for token in tokens]}}


def tokenizers(folder):
    put(f"{folder}/model/ids.onnx", model([node("Cast", ["input_ids"], ["y"], to=1)], [value("input_ids", ["n", "t"], 7)], [value("y", ["n", "t"])]))
    put(f"{folder}/texts/a.jsonl", json.dumps({"text": "a" * 1000}) + '\n{"text": "b"}\n')
    deep = "[" * 200000
    replace = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 60000}
    regex = {"type": "Split", "pattern": {"Regex": "(a+a+)+b"}, "behavior": "Removed", "invert": False}
    refused = {
        "deep": ('{"model": ' + deep, r"not JSON.*depth"),
        "lists": ('{"model": [' + "[]," * (20 << 20) + "[]]}", "MiB of memory"),
        "one-token": (json.dumps(unigram("a" * (1 << 20))), "a token has 1048576 bytes"),
        "many-tokens": (json.dumps(unigram(*[f"{i:06}" + "a" * 900 for i in range(40000)])), "the tokens have .* bytes"),
        "added": (json.dumps({"model": WORDS, "added_tokens": [{"id": 3, "content": "a" * 60000}]}), "a token has 60000 bytes"),
        "sequences": (json.dumps({"model": WORDS, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Sequence", "normalizers": [replace] * 9}] * 9}}), "more than 64 steps"),
        "padding": (json.dumps({"model": WORDS, "padding": {"strategy": {"Fixed": 1 << 60}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "a"}}), "Fixed|padding"),
        "ids": (json.dumps({"model": {"type": "WordPiece", "vocab": {"[UNK]": 1 << 60}}}), "a whole number of 0 to"),
    }
    for name, (text, why) in refused.items():
        put(f"{folder}/model/{name}.json", text)
        job(f"a tokenizer: {name}", TEXTS, f"{{onnx: {{path: model/ids.onnx, tokenizer: {{path: model/{name}.json, columns: [text]}}, postprocess: {{type: Values}}}}}}", 2, rf"model/{name}\.json.*({why})")
    hole(f"{folder}/model/zeros.json", 1 << 40)
    os.mkfifo(f"{folder}/model/pipe.json")
    for name in "zeros", "pipe":
        job(f"a tokenizer: {name}", TEXTS, f"{{onnx: {{path: model/ids.onnx, tokenizer: {{path: model/{name}.json, columns: [text]}}, postprocess: {{type: Values}}}}}}", 2, rf"model/{name}\.json")
    ends = {"type": "BPE", "vocab": {f"<0x{i:02X}>": i for i in range(256)}, "merges": [], "byte_fallback": True}
    put(f"{folder}/long/a.jsonl", json.dumps({"text": "b" * 300000}) + "\n")
    for name, size in ("ends", 16000), ("short-ends", 64):
        put(f"{folder}/model/{name}.json", json.dumps({"model": {**ends, "continuing_subword_prefix": "a" * size, "end_of_word_suffix": "a" * size}}))
    of_long = "{table: {path: data/long, format: JSONLines}}"
    scorer = "{onnx: {path: model/ids.onnx, tokenizer: {path: model/%s.json, columns: [text]}, postprocess: {type: Values}}}"
    job("a tokenizer: a prefix of 16,000 bytes for each character", of_long, scorer % "ends", 2, r"model/ends\.json.*continuing_subword_prefix: has 16000 bytes")
    job("a tokenizer: 64 bytes for each character", of_long, scorer % "short-ends", 2, r"a\.jsonl:0: .*becomes more than 16777216 tokens")
    put(f"{folder}/model/wide.json", json.dumps({"model": WORDS, "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Replace", "pattern": {"String": "a"}, "content": "\ufdfa" * 20000}, {"type": "NFKC"}]}}))
    job("a tokenizer: 18 characters of each", TEXTS, scorer % "wide", 1, r"a\.jsonl:0: .*a run of more than")
    # These are tokenizers, but no text comes to its end: its row is a failed item, and so the job fails.
    for name, tree, why in (("growth", {"model": WORDS, "normalizer": {"type": "Sequence", "normalizers": [replace] * 60}}, "the text grows to more than 128 MiB"),
                            ("backtracking", {"model": WORDS, "pre_tokenizer": regex}, "takes more than .* steps")):
        put(f"{folder}/model/{name}.json", json.dumps(tree))
        job(f"a tokenizer: {name}", TEXTS, f"{{onnx: {{path: model/ids.onnx, tokenizer: {{path: model/{name}.json, columns: [text]}}, postprocess: {{type: Values}}}}}}", 1, rf"a\.jsonl:0: .*{why}")


# ---- data ----------------------------------------------------------------------------------------


def npy_head(text):
    text = text.encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text


def arrays(folder):
    floats = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
    put(f"{folder}/rows/a.npy", npy_head(floats % "2, 3") + bytes(24))
    for name, data, why in (("overflow", npy_head(floats % f"{1 << 62}, 3"), "too large"), ("slices", npy_head(floats % f"1, {HUGE}, {HUGE}"), "larger than"),
                            ("short", npy_head(floats % f"{HUGE}, 3") + bytes(24), "truncated"), ("digits", npy_head(floats % ("9" * 20000)), "invalid header"),
                            ("object", npy_head("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }") + b"cos\nsystem\n(S'id'\ntR.", "its elements are")):
        put(f"{folder}/npy-{name}/a.npy", data)
        job(f"an array: {name}", f"{{npy: {{path: data/npy-{name}}}}}", "{onnx: {path: model/plain.onnx, postprocess: {type: Values}}}", 2, rf"npy-{name}/a\.npy.*{why}")
    os.makedirs(f"{folder}/npy-pipe")
    os.mkfifo(f"{folder}/npy-pipe/a.npy")
    job("an array that is a pipe", "{npy: {path: data/npy-pipe}}", "{onnx: {path: model/plain.onnx, postprocess: {type: Values}}}", 2, "data/npy-pipe")


def tables(folder):
    table = "{table: {path: data/%s, format: %s}}"
    put(f"{folder}/echo.py", """import json, sys
sys.stdin.readline()
print('{"ready":true}', flush=True)
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "results": [len(json.dumps(item)) for item in request["items"]]}), flush=True)
""")
    hole(f"{folder}/csv-line/a.csv", 10 << 30, b"a,b\n1,2\n")
    job("a CSV row of 10 GiB", table % ("csv-line", "CSV"), ECHO, 2, r"a\.csv: the row at byte .* is longer than")
    hole(f"{folder}/csv-quote/a.csv", 10 << 30, b'a,b\n1,"2\n')
    job("a CSV row of 10 GiB with an open quote", table % ("csv-quote", "CSV"), ECHO, 2, r"a\.csv: the row at byte .* is longer than")
    hole(f"{folder}/csv-head/a.csv", 10 << 30)
    job("a CSV header of 10 GiB", table % ("csv-head", "CSV"), ECHO, 2, r"a\.csv.*header")
    put(f"{folder}/csv-columns/a.csv", ",".join(f"c{i}" for i in range(12000)) + "\n" + "," * 11999 + "\n")
    job("a CSV header of 12,000 columns", table % ("csv-columns", "CSV"), ECHO, 2, r"a\.csv: the header is longer than 65536 bytes")
    put(f"{folder}/csv-pipe/.keep", "")
    os.mkfifo(f"{folder}/csv-pipe/a.csv")
    job("a CSV file that is a pipe", table % ("csv-pipe", "CSV"), ECHO, 2, "data/csv-pipe")
    hole(f"{folder}/json-line/a.jsonl", 1 << 30, b'{"a": 1}\n')
    job("a JSON row of 1 GiB", table % ("json-line", "JSONLines"), ECHO, 1, r"a\.jsonl:9: row of 1073741815 bytes, at most 67108864")
    put(f"{folder}/json-deep/a.jsonl", '{"text": ' + "[" * 1000000 + "]" * 1000000 + "}\n")
    job("a JSON row of a million levels", "{table: {path: data/json-deep, format: JSONLines}}", "{onnx: {path: model/ids.onnx, tokenizer: {path: model/good.json, columns: [text]}, postprocess: {type: Values}}}", 1, r"a\.jsonl:0")
    put(f"{folder}/json-lists/a.jsonl", '{"text": "a"}\n{"text": [' + "[]," * (20 << 20) + "[]]}\n")
    job("a JSON row of 20 million lists", "{table: {path: data/json-lists, format: JSONLines}}", "{onnx: {path: model/ids.onnx, tokenizer: {path: model/good.json, columns: [text]}, postprocess: {type: Values}}}", 1, r"a\.jsonl:14: .*MiB of memory")
    put(f"{folder}/model/good.json", json.dumps({"model": WORDS}))
    put(f"{folder}/list/names.txt", "".join(f"{'../' * 20}etc/passwd\n/etc/passwd\nf{i}\n" for i in range(3)))
    put(f"{folder}/list/f0", "x")


# ---- Parquet -------------------------------------------------------------------------------------


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def zigzag(number):
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


class Thrift:
    """A structure of Thrift's compact protocol; fields in their order."""
    def __init__(self):
        self.data, self.last = b"", 0

    def add(self, number, kind, data):
        self.data += bytes([(number - self.last) << 4 | kind]) + data
        self.last = number
        return self

    def i32(self, number, it):
        return self.add(number, 5, zigzag(it))

    def i64(self, number, it):
        return self.add(number, 6, zigzag(it))

    def text(self, number, it):
        return self.add(number, 8, varint(len(it)) + it.encode())

    def struct(self, number, it):
        return self.add(number, 12, it.end())

    def list(self, number, kind, items):
        size = len(items)
        return self.add(number, 9, (bytes([size << 4 | kind]) if size < 15 else bytes([0xf0 | kind]) + varint(size)) + b"".join(items))

    def end(self):
        return self.data + b"\0"


def parquet(rows, page, codec=0, elements=None, chunk=None):
    """A file of one column of int64, whose only page is `page`; it says that it has so many rows."""
    column = Thrift().i32(1, 2).list(2, 5, [zigzag(0)]).list(3, 8, [varint(1) + b"a"]).i32(4, codec).i64(5, rows).i64(6, 1 << 50).i64(7, chunk or len(page)).i64(9, 4)
    group = Thrift().list(1, 12, [Thrift().i64(2, 4).struct(3, column).end()]).i64(2, 1 << 50).i64(3, rows)
    elements = elements or [Thrift().text(4, "schema").i32(5, 1).end(), Thrift().i32(1, 2).i32(3, 0).text(4, "a").end()]
    footer = Thrift().i32(1, 1).list(2, 12, elements).i64(3, rows).list(4, 12, [group.end()]).end()
    return b"PAR1" + page + footer + struct.pack("<I", len(footer)) + b"PAR1"


def page_head(size, unpacked, values):
    return Thrift().i32(1, 0).i32(2, unpacked).i32(3, size).struct(5, Thrift().i32(1, values).i32(2, 0).i32(3, 3).i32(4, 3)).end()


def dictionaries(columns, packed, count):
    """A file of one row of texts, each of a dictionary of so many empty ones."""
    head = Thrift().i32(1, 2).i32(2, 4 * count).i32(3, len(packed)).struct(7, Thrift().i32(1, count).i32(2, 0)).end()
    first = gzip.compress(b"\1\2\0")
    chunk = head + packed + Thrift().i32(1, 0).i32(2, 3).i32(3, len(first)).struct(5, Thrift().i32(1, 1).i32(2, 8).i32(3, 3).i32(4, 3)).end() + first
    elements = [Thrift().text(4, "schema").i32(5, columns).end()] + [Thrift().i32(1, 6).i32(3, 0).text(4, f"a{i}").end() for i in range(columns)]
    at = [4 + i * len(chunk) for i in range(columns)]
    chunks = [Thrift().i64(2, at[i]).struct(3, Thrift().i32(1, 6).list(2, 5, [zigzag(8)]).list(3, 8, [varint(2) + b"a%d" % i]).i32(4, 2).i64(5, 1)
                                        .i64(6, 1 << 40).i64(7, len(chunk)).i64(9, at[i] + len(head) + len(packed)).i64(11, at[i])).end() for i in range(columns)]
    group = Thrift().list(1, 12, chunks).i64(2, 1 << 40).i64(3, 1)
    footer = Thrift().i32(1, 1).list(2, 12, elements).i64(3, 1).list(4, 12, [group.end()]).end()
    return b"PAR1" + columns * chunk + footer + struct.pack("<I", len(footer)) + b"PAR1"


def parquets(folder):
    import zlib
    table = "{table: {path: data/parquet-%s, format: Parquet}}"
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(1024)) + bomb.flush()
    groups = [Thrift().text(4, "schema").i32(5, 1).end()] + [Thrift().i32(3, 0).text(4, "g").i32(5, 1).end()] * 1000 + [Thrift().i32(1, 2).i32(3, 0).text(4, "a").end()]
    wide = [Thrift().text(4, "schema").i32(5, 1 << 30).end()] + [Thrift().i32(1, 2).i32(3, 0).text(4, f"a{i}").end() for i in range(200000)]
    cases = {
        "rows": (parquet(1 << 47, page_head(8, 8, 1) + bytes(8)), 2, "damaged"),
        "more-rows": (parquet(1 << 60, page_head(8, 8, 1) + bytes(8)), 2, "damaged"),
        "page": (parquet(1, page_head(8, 0x7fffffff, 1) + bytes(8), codec=2), 1, r"a\.parquet"),
        "gzip-bomb": (parquet(1, page_head(len(packed), 1 << 30, 1) + packed, codec=2), 1, r"a\.parquet"),
        "gzip-other-size": (parquet(1, page_head(len(packed), 8, 1) + packed, codec=2), 1, r"a\.parquet"),
        "page-beyond": (parquet(1, page_head(0x7fffffff, 0x7fffffff, 1) + bytes(8)), 1, r"a\.parquet"),
        "chunk-beyond": (parquet(1, page_head(8, 8, 1) + bytes(8), chunk=1 << 40), 2, "outside the file"),
        "deep": (parquet(1, page_head(8, 8, 1) + bytes(8), elements=groups), 2, "nested too deeply"),
        "wide": (parquet(1, page_head(8, 8, 1) + bytes(8), elements=wide), 2, "more than|schema"),
        "dictionaries": (dictionaries(4, gzip.compress(bytes(200 << 20)), 50 << 20), 1, "needs too much memory"),
    }
    for name, (data, code, why) in cases.items():
        put(f"{folder}/parquet-{name}/a.parquet", data)
        job(f"Parquet: {name}", table % name, ECHO, code, why)
    hole(f"{folder}/parquet-hole/a.parquet", 1 << 40, b"PAR1", struct.pack("<I", 0x7fffffff) + b"PAR1")
    job("Parquet: a terabyte of nothing", table % "hole", ECHO, 2, r"a\.parquet.*footer")


def make(folder):
    networks(folder)
    endless(folder)
    weights_elsewhere(folder)
    files_of_a_network(folder)
    tokenizers(folder)
    arrays(folder)
    tables(folder)
    parquets(folder)
    for line in jobs:
        print("\t".join(line))


def named(path):
    name = 'k", constant: [9]}\n\x1b[2J# \u202e{name: "z\\'
    nodes = [node("ReduceMean", ["image"], ["means"], axes=[2, 3], keepdims=0), node("Mul", ["means", name], [name + "2"])]
    put(path, model(nodes, [value("image", ["n", 3, "h", "w"]), value(name, [1])], [value(name + "2", ["n", 3])]))


def run(limit, command):
    pid = os.fork()
    if pid == 0:
        os.execvp(command[0], command)
    _, status, used = os.wait4(pid, 0)  # (with those that it has waited for)
    if used.ru_maxrss > limit << 10:
        print(f"# a process of it took {used.ru_maxrss >> 10} MiB")
        return 99
    if os.environ.get("SHOW"):
        print(f"# {used.ru_maxrss >> 10} MiB, {used.ru_utime + used.ru_stime:.1f} s", file=sys.stderr)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    makes = {"make": make, "named": named}.get(sys.argv[1])
    sys.exit(makes(sys.argv[2]) if makes else run(int(sys.argv[2]), sys.argv[3:]))
