"""Data and networks for test_texts.sh.

  texts.py make FOLDER    tokenizer.json (WordPiece); reviews.csv and tests.csv (text, mood): whether a text has more good
                          words than bad ones, of other lengths; tags.jsonl, tagst.jsonl (words, tags): NAME behind "mr", and PLACE
                          behind "in"; bert.onnx, tagger.onnx: a small BERT, whose head sees [CLS] or each token; few.csv,
                          few.jsonl: of these the first 24; pair.onnx and its inputs a.npy, ids.npy, y.npy: two inputs,
                          of which the graph has the second one first; nomask.onnx, two.onnx.
  texts.py same FOLDER MODEL.onnx KIND   the weights of MODEL.onnx are those of PyTorch after 3 steps with all samples, in
                          float64. KIND: bert, tagger or pair."""
import csv, json, sys
import numpy as n, onnx, torch
from onnx import numpy_helper
from torch import nn

LENGTH, STEPS, RATE = 16, 3, 0.1
folder = sys.argv[2]
good, bad = ["good", "fine", "great", "loved"], ["bad", "poor", "awful", "hated"]
plain = ["the", "film", "was", "and", "plot", "walk", "##ed", "##s", "mr", "in", "smith", "oslo", "rome"]
vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + good + bad + plain


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.one, self.two, self.up, self.down = nn.LayerNorm(width), nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, hidden):
        b, t, w = x.shape
        q, k, v = (f(x).view(b, t, self.heads, w // self.heads).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = (q @ k.transpose(-1, -2) / (w // self.heads) ** 0.5 + hidden).softmax(-1)
        x = self.one(x + self.o((a @ v).transpose(1, 2).reshape(b, t, w)))
        return self.two(x + self.down(nn.functional.gelu(self.up(x))))


class Bert(nn.Module):
    def __init__(self, classes, every, has_mask=True, width=32):
        super().__init__()
        self.every, self.has_mask = every, has_mask
        self.words, self.places, self.types = nn.Embedding(len(vocabulary), width), nn.Embedding(LENGTH, width), nn.Embedding(2, width)
        self.norm, self.blocks, self.head = nn.LayerNorm(width), nn.ModuleList(Block(width, 2) for _ in range(2)), nn.Linear(width, classes)

    def forward(self, input_ids, attention_mask, token_type_ids):
        x = self.norm(self.words(input_ids) + self.types(token_type_ids) + self.places(torch.arange(input_ids.shape[1])))
        hidden = (1 - attention_mask[:, None, None, :].to(x.dtype)) * -10000 if self.has_mask else 0
        for block in self.blocks:
            x = block(x, hidden)
        return self.head(x if self.every else x[:, 0])


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.a, self.head = nn.Embedding(9, 6), nn.Linear(4, 6), nn.Linear(6, 3)

    def forward(self, ids, a):
        return self.head(torch.tanh(self.embed(ids).sum(1) + self.a(a)))


def networks():
    torch.manual_seed(3)
    return {"bert": Bert(2, False), "tagger": Bert(3, True), "nomask": Bert(2, False, has_mask=False), "pair": Pair()}


def ids_of(words):
    return [vocabulary.index(w) for w in words]


def pieces(word):
    return [word] if word in vocabulary else [word[:4], "##" + word[4:]]


def filled(rows, value):
    return torch.tensor([r + [value] * (LENGTH - len(r)) for r in rows])


def make():
    random = n.random.default_rng(4)
    networks_ = networks()

    def review():
        words = list(random.choice(good + bad + ["the", "film", "was", "walked"], random.integers(4, 15)))
        if random.random() < 0.5:  # neither long nor short
            words += ["and", "the", "plot"]
        moods = sum(w in good for w in words) - sum(w in bad for w in words)
        return (" ".join(words), "fine" if moods > 0 else "poor") if moods else review()

    def tagged():
        words, tags = [], []
        for _ in range(random.integers(2, 6)):
            before, name = random.choice(["mr", "in", "the"]), random.choice(["smith", "oslo", "rome", "walked", "walks"])
            words += [before, name]
            tags += ["O", {"mr": "NAME", "in": "PLACE", "the": "O"}[before]]
        return {"words": words, "tags": tags}

    for name, few, count in (("reviews", "few", 1500), ("tests", None, 300)):
        rows = [review() for _ in range(count)]
        for file, some in ((name, rows), (few, rows[:24])):
            if file:
                with open(f"{folder}/{file}.csv", "w") as to:
                    csv.writer(to).writerows([("text", "mood")] + some)
    for name, few, count in (("tags", "few", 800), ("tagst", None, 200)):
        rows = [json.dumps(tagged()) + "\n" for _ in range(count)]
        for file, some in ((name, rows), (few, rows[:24])):
            if file:
                open(f"{folder}/{file}.jsonl", "w").writelines(some)
    n.save(f"{folder}/a.npy", random.normal(size=(40, 4)).astype("f4"))
    n.save(f"{folder}/ids.npy", random.integers(0, 9, (40, 5)))
    n.save(f"{folder}/y.npy", random.integers(0, 3, 40))
    special = [{"id": i, "content": w, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False} for i, w in enumerate(vocabulary[:4])]
    json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
               "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
               "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
               "decoder": None, "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                                          "vocab": {w: i for i, w in enumerate(vocabulary)}}}, open(f"{folder}/tokenizer.json", "w"))
    example = torch.ones(2, LENGTH, dtype=torch.int64)
    for name, network in networks_.items():
        args = (example[:, :5], torch.zeros(2, 4)) if name == "pair" else (example, example, torch.zeros_like(example))
        names = ["ids", "a"] if name == "pair" else ["input_ids", "attention_mask", "token_type_ids"]
        torch.onnx.export(network.train(), args, f"{folder}/{name}.onnx", opset_version=14, input_names=names, output_names=["y"],
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, dynamic_axes={k: {0: "n"} for k in names + ["y"]})


def batch(kind):
    if kind == "pair":
        return (torch.tensor(n.load(f"{folder}/ids.npy")), torch.tensor(n.load(f"{folder}/a.npy")).double()), torch.tensor(n.load(f"{folder}/y.npy"))
    if kind == "bert":
        rows = list(csv.DictReader(open(f"{folder}/few.csv")))
        tokens = [[p for w in r["text"].split() for p in pieces(w)][:LENGTH - 2] for r in rows]
        y = torch.tensor([int(r["mood"] == "fine") for r in rows])
    else:
        rows = [json.loads(line) for line in open(f"{folder}/few.jsonl")]
        tokens = [[p for w in r["words"] for p in pieces(w)][:LENGTH - 2] for r in rows]
        tags = [[t for w, g in zip(r["words"], r["tags"]) for t in [["O", "NAME", "PLACE"].index(g)] + [-100] * (len(pieces(w)) - 1)][:LENGTH - 2] for r in rows]
        y = filled([[-100] + t + [-100] for t in tags], -100)
    rows = [[2] + ids_of(t) + [3] for t in tokens]
    return (filled(rows, 0), filled([[1] * len(r) for r in rows], 0), torch.zeros(len(rows), LENGTH, dtype=torch.int64)), y


def same(path, kind):
    network, worst = networks()[kind].double(), 0
    inputs, y = batch(kind)
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE)
    before = {k: v.clone() for k, v in network.state_dict().items()}
    for _ in range(STEPS):
        scores = network(*inputs)
        optimizer.zero_grad()
        nn.functional.cross_entropy(scores.transpose(1, 2) if y.dim() == 2 else scores, y).backward()
        optimizer.step()
    ours = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    after = network.state_dict()
    for name, theirs in after.items():
        step = (theirs - before[name]).abs().max().item()
        worst = max(worst, n.abs(ours[name] - theirs.numpy()).max() / (step + 1e-5))
    print(f"# {len(after)} tensors, the worst is {worst:.1e} of its change from PyTorch's")
    sys.exit(not worst < 1e-3)


make() if sys.argv[1] == "make" else same(sys.argv[3], sys.argv[4])
