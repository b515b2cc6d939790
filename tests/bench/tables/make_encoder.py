"""Writes a network of MiniLM's size (6 layers of 384, 12 heads, 1,536 within) with weights drawn by a seed, as transformers exports
such encoders: make_encoder.py FILE.onnx WORDS"""
import os, random, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from make_models import FLOAT, INT64, Network, data, integer

LAYERS, SIZE, HEADS, WITHIN, PLACES = 6, 384, 12, 1536, 512


class Encoder(Network):
    def weights(self, dims, deviation, mean=0.0):  # a table of draws, since millions of them take minutes
        count = 1
        for d in dims:
            count *= d
        self.parameters += count
        return self.constant(dims, [mean + deviation * v for v in self.random.choices(DRAWS, k=count)])

    def whole(self, values):
        return self.constant([len(values)], values, INT64)

    def linear(self, x, rows, columns):
        product = self.node("MatMul", [x, self.weights([rows, columns], rows ** -0.5)])
        return self.node("Add", [product, self.weights([columns], 0.02)])

    def norm(self, x):
        return self.node("LayerNormalization", [x, self.weights([SIZE], 0.02, 1), self.weights([SIZE], 0.02)], axis=-1, epsilon=1e-12)

    def heads(self, x, order):
        split = self.node("Reshape", [x, self.whole([0, 0, HEADS, SIZE // HEADS])])
        return self.node("Transpose", [split], perm=order)

    def layer(self, x, mask):
        query, key, value = (self.linear(x, SIZE, SIZE) for _ in range(3))
        scores = self.node("MatMul", [self.heads(query, [0, 2, 1, 3]), self.heads(key, [0, 2, 3, 1])])
        scores = self.node("Add", [self.node("Mul", [scores, self.constant([1], [(SIZE / HEADS) ** -0.5])]), mask])
        seen = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), self.heads(value, [0, 2, 1, 3])])
        joined = self.node("Reshape", [self.node("Transpose", [seen], perm=[0, 2, 1, 3]), self.whole([0, 0, SIZE])])
        x = self.norm(self.node("Add", [x, self.linear(joined, SIZE, SIZE)]))
        within = self.linear(x, SIZE, WITHIN)
        erf = self.node("Add", [self.node("Erf", [self.node("Div", [within, self.constant([1], [2 ** 0.5])])]), self.constant([1], [1.0])])
        gelu = self.node("Mul", [self.node("Mul", [within, erf]), self.constant([1], [0.5])])
        return self.norm(self.node("Add", [x, self.linear(gelu, WITHIN, SIZE)]))


def of_type(name, kind, dims):
    shape = b"".join(data(1, data(2, d) if isinstance(d, str) else integer(1, d)) for d in dims)
    return data(1, name) + data(2, data(1, integer(1, kind) + data(2, shape)))


DRAW = random.Random(7)
DRAWS = [DRAW.gauss(0, 1) for _ in range(65536)]
net = Encoder("encoder", 7, 17)
words = net.node("Gather", [net.weights([int(sys.argv[2]), SIZE], 0.05), "input_ids"])
length = net.node("Slice", [net.node("Shape", ["input_ids"]), net.whole([1]), net.whole([2])])
places = net.node("Slice", [net.weights([PLACES, SIZE], 0.05), net.whole([0]), length, net.whole([0])])
x = net.norm(net.node("Add", [words, places]))
mask = net.node("Unsqueeze", [net.node("Cast", ["attention_mask"], to=FLOAT), net.whole([1, 2])])
mask = net.node("Mul", [net.node("Sub", [mask, net.constant([1], [1.0])]), net.constant([1], [10000.0])])
for _ in range(LAYERS):
    x = net.layer(x, mask)
net.nodes.append(data(1, data(1, x) + data(2, "last_hidden_state") + data(3, "last") + data(4, "Identity")))
graph = b"".join(net.nodes) + data(2, net.name) + b"".join(net.constants)
graph += b"".join(data(11, of_type(name, INT64, ["n", "t"])) for name in ("input_ids", "attention_mask"))
graph += data(12, of_type("last_hidden_state", FLOAT, ["n", "t", SIZE]))
open(sys.argv[1], "wb").write(integer(1, 8) + data(2, "windlass-bench") + data(7, graph) + data(8, integer(2, net.opset)))
print(f"{net.parameters} parameters")
