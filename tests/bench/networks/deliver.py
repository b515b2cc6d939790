#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many networks of a folder a BatchScore delivers.

    deliver.py FOLDER [NAME...]     all *.onnx below it, or those whose path has one of these words

Each network becomes a job of the lines that `windlass-agent model check` prints, as they are, where they name a choice (the form
of a detector) with its first, over four items that are made here: pictures of noise, texts, rows, slices or sounds. A second job
gives its outputs as they are (type Raw), which must be those of ONNX Runtime for the same items. Prints a line for each network
and the sums. BUILD, KEEP=FOLDER for what the jobs leave."""
import hashlib
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", "..", ".."))
BUILD = os.path.realpath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
AGENT, WINDLASS = os.path.join(BUILD, "windlass-agent"), os.path.join(BUILD, "windlass")
ITEMS, NEAR = 4, 1e-3
SIDES, LENGTHS = (64, 224, 640), (8, 512, 16000)  # of free axes, as `model check` tries them
TEXTS = ["the cat sat", "the dog ran", "a cat and a dog", "the dog sat, the cat ran."]


def run(command, seconds=180):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return 124, "", f"longer than {seconds} s"


# ---- items ----------------------------------------------------------------------------------------------------------

def write_png(path, width, height, pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + pixels[3 * width * y:3 * width * (y + 1)] for y in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def write_npy(path, kind, shape, values):
    descr, code = {"float32": ("<f4", "f"), "float64": ("<f8", "d"), "float16": ("<f2", "e"), "int64": ("<i8", "q"),
                   "int32": ("<i4", "i"), "uint8": ("|u1", "B"), "int8": ("|i1", "b"), "bool": ("|b1", "?")}[kind]
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}{code}", *values))


def half(value):
    return struct.unpack("<H", struct.pack("<e", value))[0]


def tensor(kind, dims, values):
    spelled = [str(int(v)) for v in values] if kind.endswith("int64") else [half(v) for v in values] if kind == "float16" else values
    return {"type": kind, "dims": dims, "data": spelled}


def drawn(draw, kind, count):
    if kind == "string":
        return [draw.choice(["a", "b", "cat"]) for _ in range(count)]
    if kind.startswith("float"):
        return [struct.unpack("f", struct.pack("f", draw.uniform(0, 1)))[0] for _ in range(count)]
    return [draw.randrange(2) for _ in range(count)]


class Items:
    """Four items for a network: files in a folder, `spec.input`, and what ONNX Runtime gets for each of them."""

    def __init__(self, facts, at, folder):
        self.facts, self.at, self.folder, self.runs = facts, at, folder, [{} for _ in range(ITEMS)]
        self.draw = random.Random(19)
        told = facts.get("pictures") or ""  # how detectors of its form take pictures
        self.is_blue_first = "BGR" in told
        self.is_signed = "Signed" in told
        self.is_unit = "Byte" not in told and not any(one["type"] == "uint8" for one in facts["inputs"] if one["isDefault"])
        os.makedirs(folder)
        states = facts["hasStates"]
        {"picture": self.pictures, "tokens": self.texts, "columns": self.steps if states else self.rows,
         "array": self.steps if states else self.slices}[facts["items"]]()
        for entry in facts["inputs"]:
            if not entry["isDefault"] and not states:
                self.constant(entry)

    def fed(self):
        return [entry for entry in self.facts["inputs"] if entry["isDefault"]]

    def sizes(self, entry, first=1):
        """Its shape for one item."""
        return [first if i == 0 and size < 0 else LENGTHS[self.at] if size < 0 else size for i, size in enumerate(entry["shape"])]

    def constant(self, entry):
        dims = [max(size, 1) for size in entry["shape"]] if "state" in entry else self.sizes(entry)
        value = entry.get("constant", 0)
        values = ["" if entry["type"] == "string" else value] * math.prod(dims)
        for one in self.runs:
            one[entry["name"]] = tensor(entry["type"], dims, values)

    def pictures(self):
        entry = self.fed()[0]
        shape = entry["shape"]
        bare = [-1] * (4 - len(shape)) + shape  # of one picture without an axis for the items
        is_last = bare[1] not in (1, 3)
        height, width, channels = (bare[1], bare[2], bare[3]) if is_last else (bare[2], bare[3], bare[1])
        height, width = (SIDES[self.at] if side < 0 else side for side in (height, width))
        for i, one in enumerate(self.runs):
            pixels = bytes(self.draw.randrange(256) for _ in range(width * height * 3))
            if channels == 1:
                pixels = bytes(v for v in pixels[:width * height] for _ in range(3))
            write_png(f"{self.folder}/p{i}.png", width, height, pixels)
            step = 1 if channels == 3 else 3
            planes = (2, 1, 0) if self.is_blue_first else (0, 1, 2)
            values = list(pixels[::step]) if channels == 1 else [v for c in planes for v in pixels[c::3]]
            if is_last and channels == 3:
                values = [v for k in range(0, len(pixels), 3) for v in (pixels[k + c] for c in planes)]
            values = [v / 127.5 - 1 for v in values] if self.is_signed else [v / 255 for v in values] if self.is_unit else values
            sizes = [height, width, channels] if is_last else [channels, height, width]
            count = max(bare[0], 1)
            one[entry["name"]] = tensor(entry["type"], sizes if len(shape) == 3 else [count] + sizes, values * count)
        self.input = "{files: {path: data/items}}"

    def texts(self):
        with open(f"{self.folder}/a.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS)
        lines = os.path.join(os.path.dirname(self.folder), "lines")
        with open(lines, "w", encoding="utf-8") as file:
            file.writelines(text + "\n" for text in TEXTS)
        words = os.path.join(os.path.dirname(os.path.dirname(self.folder)), "model", "tokenizer.json")
        with open(lines, encoding="utf-8") as file:
            told = subprocess.run([AGENT, "model", "tokenize", words], stdin=file, capture_output=True, text=True, check=True).stdout
        for one, line in zip(self.runs, told.splitlines()):
            ids = json.loads(line)["ids"]
            for entry in self.fed():
                name = entry["name"].lower()
                values = [1] * len(ids) if "mask" in name else [0] * len(ids) if "type" in name or "segment" in name else \
                    list(range(len(ids))) if "position" in name else ids
                one[entry["name"]] = tensor(entry["type"], [1, len(ids)], values)
        self.input = "{table: {path: data/items, format: JSONLines}}"

    def rows(self):
        with open(f"{self.folder}/a.jsonl", "w", encoding="utf-8") as file:
            for one in self.runs:
                row = {}
                for entry in self.fed():
                    dims = self.sizes(entry)
                    count = math.prod(dims[1:])
                    values = drawn(self.draw, entry["type"], count)
                    cells = [bool(v) for v in values] if entry["type"] == "bool" else values
                    row[entry["name"]] = cells[0] if count == 1 else cells
                    one[entry["name"]] = tensor(entry["type"], dims, values * dims[0] if dims else values)
                file.write(json.dumps(row) + "\n")
        self.input = "{table: {path: data/items, format: JSONLines}}"

    def slices(self):
        entry = self.fed()[0]
        dims = self.sizes(entry)
        count = math.prod(dims[1:])
        values = [drawn(self.draw, entry["type"], count) for _ in self.runs]
        for one, own in zip(self.runs, values):
            one[entry["name"]] = tensor(entry["type"], dims, own * dims[0])
        write_npy(f"{self.folder}/a.npy", entry["type"], [ITEMS] + dims[1:], [v for own in values for v in own])
        self.input = "{npy: {path: data/items}}"

    def steps(self):
        """Three steps each; ONNX Runtime gets the first of them, and zeros as states."""
        entry = next(one for one in self.facts["inputs"] if "freeAxes" in one)
        dims = self.sizes(entry)
        size = entry.get("size", math.prod(dims[1:]))
        with open(f"{self.folder}/a.jsonl", "w", encoding="utf-8") as file:
            for one in self.runs:
                samples = drawn(self.draw, entry["type"], 3 * size)
                file.write(json.dumps({"samples": samples}) + "\n")
                one[entry["name"]] = tensor(entry["type"], dims, samples[:size])
        for other in self.facts["inputs"]:
            if other is not entry:
                self.constant(other)
        self.input = "{table: {path: data/items, format: JSONLines}}"


# ---- jobs -----------------------------------------------------------------------------------------------------------

def job(work, source, lines, mode):
    """Runs it; why it failed, or None."""
    shutil.rmtree(f"{work}/data/out", ignore_errors=True)
    shutil.rmtree(f"{work}/state", ignore_errors=True)
    with open(f"{work}/job.yaml", "w", encoding="utf-8") as file:
        file.write("apiVersion: windlass.dev/v1beta1\nkind: BatchScore\nmetadata: {name: delivered}\nspec:\n" +
                   f"  input: {source}\n{lines}  output: {{path: data/out{mode}}}\n  workers: {{min: 1, max: 1}}\n  volumes:\n" +
                   "    - {name: data, persistentVolumeClaim: {claimName: data}}\n    - {name: model, persistentVolumeClaim: {claimName: model}}\n")
    code, out, err = run([WINDLASS, "run", "-f", f"{work}/job.yaml", "--state", f"{work}/state"])
    said = [line for line in (out + err).strip().splitlines() if line.strip()]
    failed = [line for line in said if (" failed: " in line or ": spec." in line or line.startswith("windlass")) and "log: " not in line]
    return None if code == 0 else (failed or said or [f"exit code {code}"])[-1][-300:]


def printed(network, facts):
    """(its lines, what was chosen): as `model check` prints them."""
    text = run([AGENT, "model", "check", network])[1]
    lines, chosen = text[text.index("manifest   "):].replace("manifest   ", "  ", 1).replace("VOLUME", "model"), []
    choice = re.search(r"^ +postprocess: \{type: Boxes\}  # form: (\w+)( or )?", lines, re.M)
    if choice and choice.group(2):
        lines = lines.replace("{type: Boxes}", f"{{type: Boxes, form: {choice.group(1)}}}", 1)
        chosen.append(f"form: {choice.group(1)}")
    if "# columns: [...]" in lines:
        names = [entry["name"] for entry in facts["inputs"] if entry["isDefault"]]
        lines = lines.replace("# columns: [...]", f"columns: [{', '.join(map(json.dumps, names))}]", 1)
        chosen.append("columns")
    return lines, " and ".join(chosen)


def raw(lines, outputs):
    """The same lines, with outputs as they are."""
    kept = "".join(line + "\n" for line in lines.splitlines() if not re.match(r" +(# or )?(postprocess|outputs?):", line))
    names = f"        outputs: [{', '.join(map(json.dumps, outputs))}]\n" if outputs else ""
    return kept + names + "        postprocess: {type: Raw}\n"


def flat(value):
    return [v for one in value for v in flat(one)] if isinstance(value, list) else [value]


def close(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return str(a) == str(b) or (a is None and str(b) in ("NaN", "Infinity", "-Infinity"))
    if a is None or b is None:
        return a is b
    return abs(float(a) - float(b)) <= NEAR * max(1, abs(float(b)))


def compare(path, told, has_states):
    """What differs first between the rows of a job and ONNX Runtime's outputs; None: nothing."""
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if len(rows) != ITEMS:
        return f"{len(rows)} rows of {ITEMS}"
    compared = 0
    for i, (row, wanted) in enumerate(zip(rows, told)):
        for name, values in wanted.items():
            if name not in row:
                continue
            seen = flat(row[name][:1] if has_states and isinstance(row[name], list) else row[name])
            if has_states and len(seen) != len(values):
                continue
            values = values[:len(seen)] if len(values) > len(seen) else values  # a network of a fixed number of items
            bad = [(a, b) for a, b in zip(seen, values) if not close(a, b)]
            if len(seen) != len(values) or bad:
                return f"item {i}, {name}: {bad[:1] or (len(seen), len(values))}"
            compared += 1
    return None if compared else "nothing could be compared"


def runtime_says(runtime, network, facts, work):
    """(items, ONNX Runtime's outputs for them), at the first sizes that it takes; or (None, why)."""
    why = ""
    for at in range(len(SIDES)):
        shutil.rmtree(f"{work}/data", ignore_errors=True)
        items = Items(facts, at, f"{work}/data/items")
        with open(f"{work}/runs.json", "w", encoding="utf-8") as file:
            json.dump(items.runs, file)
        code, out, err = run(["node", f"{HERE}/deliver.cjs", runtime, network, f"{work}/runs.json"])
        if code == 0:
            return items, json.loads(out)
        why = why or (err.strip().splitlines() or ["?"])[-1][:200]
    return None, why


# ---- one network ----------------------------------------------------------------------------------------------------

def deliver(runtime, network, work):
    """(verdict, what there is to say)"""
    code, out, err = run([AGENT, "model", "check", network, "--json"])
    if code != 0:
        return "refused", (err.strip().splitlines() or ["?"])[-1][-250:]
    facts = json.loads(out)
    if "items" not in facts:
        return "empty", "no inputs or outputs"
    items, told = runtime_says(runtime, network, facts, work)
    if items is None:
        return "no peer", told
    lines, choice = printed(network, facts)
    likely = re.search(r"^ +postprocess: \{type: (\w+)", lines, re.M)
    kind = likely.group(1) if likely else None
    if kind == "Text":
        with open(f"{work}/model/characters.txt", "w", encoding="utf-8") as file:
            classes = int(re.search(r"with (\d+) classes", lines).group(1))
            file.writelines(f"{i}\n" for i in range(classes - 1))
    fault = "no type of result fits" if kind is None else job(
        work, items.input, lines, ", mode: PerFile" if kind in ("Image", "Mask") else ", mode: AppendRow")
    outputs = [name for name in told[0]]
    same = job(work, items.input, raw(lines, None), ", mode: AppendRow") and job(work, items.input, raw(lines, outputs), ", mode: AppendRow")
    for fit in facts["fits"]:
        if not same or "outputs" not in fit:
            break
        same = job(work, items.input, raw(lines, fit["outputs"]), ", mode: AppendRow")
        outputs = fit["outputs"]
    same = same or compare(f"{work}/data/out/rows.txt", told, facts["hasStates"])
    about = f"{facts['items']}{', states' if facts['hasStates'] else ''} to {kind or 'Raw'}{', ' + choice if choice else ''}"
    if fault and not same:
        return "raw only", f"{about}: {fault}"
    if same:
        return "other" if not fault else "failed", f"{about}: {same}{'; ' + fault if fault else ''}"
    return "delivered", about


def main(folder, words):
    runtime = subprocess.run([os.path.join(ROOT, "tests/onnxruntime.sh")], capture_output=True, text=True, check=True).stdout.strip()
    networks, seen, sums = [], set(), {}
    for path, _, names in os.walk(folder):
        networks += [os.path.join(path, name) for name in names if name.endswith(".onnx")]
    work = os.environ.get("KEEP") or tempfile.mkdtemp()
    for network in sorted(networks):
        if words and not any(word in network for word in words):
            continue
        with open(network, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        if digest in seen:
            continue
        seen.add(digest)
        own = os.path.join(work, "job")
        shutil.rmtree(own, ignore_errors=True)
        os.makedirs(f"{own}/model")
        shutil.copy(network, f"{own}/model/network.onnx")
        for name in os.listdir(os.path.dirname(network)):  # weights in a file of their own
            if ".data" in name or name.endswith((".bin", ".weights")):
                shutil.copy(os.path.join(os.path.dirname(network), name), f"{own}/model/")
        shutil.copy(os.path.join(work, "tokenizer.json"), f"{own}/model/") if os.path.exists(os.path.join(work, "tokenizer.json")) else \
            make_tokenizer(f"{own}/model/tokenizer.json")
        try:
            verdict, text = deliver(runtime, f"{own}/model/network.onnx", own)
        except (KeyError, ValueError, OSError, IndexError, subprocess.CalledProcessError) as fault:
            verdict, text = "tool", repr(fault)[:200]
        sums[verdict] = sums.get(verdict, 0) + 1
        print(f"{verdict}\t{os.path.relpath(network, folder)}\t{text}", flush=True)
    print(f"{len(seen)} networks: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(sums.items())))


def make_tokenizer(path):
    """Words of few ids, so that any network of texts has them."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "dog", "ran", ".", ",", "a", "and"]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": {"type": "Lowercase"},
                   "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
                   "model": {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(words)}, "unk_token": "[UNK]"}}, file)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
