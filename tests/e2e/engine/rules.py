"""Networks of PyTorch's exporter against its gradients in double precision (test_train_rules.sh).

  rules.py check AGENT FOLDER COUNT SEED     COUNT networks drawn by the seed; all: every one; ~WORD: those with it in the name
  rules.py names

Each gradient of a network may be 1e-4 of the tensor's largest number away from double precision, or twice as far as
PyTorch's own single precision is. A network is a function of its parts, so one line each."""
import concurrent.futures, random, sys, warnings
import numpy as n, torch
from torch import nn
import torch.nn.functional as f
from rules_compare import BATCH, CLASSES, check, export

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
P = lambda *shape: nn.Parameter(torch.randn(*shape) * 0.5)


NETWORKS = {}


def add(name, shape, run, opset=14, train=False, tokens=0, loss="cross-entropy", target=None, weights=None, shares=False, **parts):
    """parts: functions that make a module or parameter; shape: of one sample; tokens: the vocabulary, if they are; shares: the
    outputs are probabilities."""
    NETWORKS[name] = dict(shape=shape, run=run, opset=opset, train=train, tokens=tokens, loss=loss, target=target, weights=weights, shares=shares, parts=parts)


def head(width):
    return lambda: nn.Linear(width, CLASSES)


# ---- convolutions and pools
flat = lambda x: torch.tanh(x).flatten(2).mean(2)
for name, shape, make, width in (
        ("conv1d", (4, 9), lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1), 6),
        ("conv2d grouped, dilated", (4, 9, 8), lambda: nn.Conv2d(4, 6, 3, groups=2, dilation=2, padding=(1, 2)), 6),
        ("conv2d depthwise", (4, 7, 7), lambda: nn.Conv2d(4, 4, 5, groups=4, padding=2), 4),
        ("conv3d", (2, 5, 6, 4), lambda: nn.Conv3d(2, 4, (3, 2, 3), stride=(1, 2, 1)), 4),
        ("conv3d grouped", (4, 5, 4, 4), lambda: nn.Conv3d(4, 4, 3, padding=1, groups=2, dilation=(1, 1, 2)), 4),
        ("transposed 1d", (4, 6), lambda: nn.ConvTranspose1d(4, 6, 4, stride=3, padding=1, output_padding=1), 6),
        ("transposed 2d, grouped", (4, 5, 6), lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, groups=2), 6),
        ("transposed 2d, dilated", (4, 5, 6), lambda: nn.ConvTranspose2d(4, 6, 3, dilation=2), 6),
        ("transposed 3d", (2, 3, 4, 3), lambda: nn.ConvTranspose3d(2, 4, 2, stride=2), 4)):
    add(name, shape, lambda s, x: s.o(flat(s.c(x))), c=make, o=head(width))
for name, shape, pool, width in (
        ("max pool 1d", (4, 11), lambda: nn.MaxPool1d(3, 2, 1), 4),
        ("max pool 2d, ceil", (4, 8, 9), lambda: nn.MaxPool2d(3, 2, ceil_mode=True), 4),
        ("max pool 3d", (4, 6, 6, 6), lambda: nn.MaxPool3d(2), 4),
        ("average pool with its borders", (4, 8, 9), lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=True), 4),
        ("average pool without", (4, 8, 9), lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), 4),
        ("average pool 1d", (4, 12), lambda: nn.AvgPool1d(4), 4),
        ("adaptive average", (4, 8, 6), lambda: nn.AdaptiveAvgPool2d((4, 3)), 4),
        ("adaptive maximum", (4, 8, 6), lambda: nn.AdaptiveMaxPool2d(1), 4)):
    kind = {2: nn.Conv1d, 3: nn.Conv2d, 4: nn.Conv3d}[len(shape)]
    add(name, shape, lambda s, x: s.o(flat(s.p(s.c(x)))), c=lambda kind=kind: kind(4, 4, 3, padding=1), p=pool, o=head(width))
add("power pool", (4, 8, 8), lambda s, x: s.o(s.p(s.c(x).abs() + 0.5).flatten(2).mean(2)), c=lambda: nn.Conv2d(4, 4, 3), p=lambda: nn.LPPool2d(3, 2), o=head(4))

# ---- norms
for name, shape, norm, options in (
        ("layer norm", (5, 6), lambda: nn.LayerNorm(6), dict(opset=17)),
        ("layer norm as formula", (5, 6), lambda: nn.LayerNorm((5, 6)), {}),
        ("layer norm over two", (5, 6), lambda: nn.LayerNorm((5, 6), eps=1e-3), dict(opset=17)),
        ("group norm", (6, 5, 4), lambda: nn.GroupNorm(3, 6), {}),
        ("instance norm", (6, 5, 4), lambda: nn.InstanceNorm2d(6, affine=True), {}),
        ("instance norm 1d", (6, 9), lambda: nn.InstanceNorm1d(6, affine=True), {}),
        ("instance norm 3d", (6, 3, 4, 3), lambda: nn.InstanceNorm3d(6, affine=True), {}),
        ("batch norm 1d", (6, 5), lambda: nn.BatchNorm1d(6), dict(train=True)),
        ("batch norm 3d", (6, 3, 2, 4), lambda: nn.BatchNorm3d(6), dict(train=True))):
    wide = shape[-1]
    add(name, shape, lambda s, x: s.o(torch.tanh(s.m(s.i(x))).flatten(1)), i=lambda wide=wide: nn.Linear(wide, wide), m=norm,
        o=head(int(n.prod(shape))), **options)
add("root mean square norm", (5, 8), lambda s, x: s.o((x @ s.w * torch.rsqrt((x @ s.w).pow(2).mean(-1, keepdim=True) + 1e-6) * s.g).flatten(1)),
    w=lambda: P(8, 8), g=lambda: P(8), o=head(40))
class Rms(torch.autograd.Function):
    """RMSNormalization of opset 23: this exporter knows it only as a foreign operator."""

    forward = staticmethod(lambda ctx, x, scale, eps: rms(x, scale, eps))
    symbolic = staticmethod(lambda g, x, scale, eps: g.op("newer::RMSNormalization", x, scale, axis_i=-scale.type().dim(), epsilon_f=eps).setType(x.type()))


def rms(x, scale, eps):
    axes = tuple(range(-scale.dim(), 0))
    return x * torch.rsqrt(x.pow(2).mean(axes, keepdim=True) + eps) * scale


normed = lambda x, scale, eps: (Rms.apply if torch.onnx.is_in_onnx_export() else rms)(x, scale, eps)
add("rms norm of opset 23", (5, 8), lambda s, x: s.o(normed(s.i(x), s.g, 1e-5).flatten(1)), opset=23, i=lambda: nn.Linear(8, 8), g=lambda: P(8), o=head(40))
add("rms norm over two", (5, 8), lambda s, x: s.o(normed(s.i(x), s.g, 1e-2).flatten(1)), opset=23, i=lambda: nn.Linear(8, 8), g=lambda: P(5, 8), o=head(40))
add("weight norm", (4, 6), lambda s, x: s.o(flat(s.c(x))), c=lambda: nn.utils.weight_norm(nn.Conv1d(4, 5, 3)), o=head(5))

# ---- activations
for name, run in dict(
        elu=lambda x: f.elu(x, 0.7), selu=f.selu, celu=lambda x: f.celu(x, 1.3), mish=f.mish, silu=f.silu, hardswish=f.hardswish,
        hardsigmoid=f.hardsigmoid, softplus=lambda x: f.softplus(x, beta=2), softsign=f.softsign, gelu=f.gelu,
        gelu_tanh=lambda x: f.gelu(x, approximate="tanh"), logsoftmax=lambda x: f.log_softmax(x, 1), softmin=f.softmin,
        leaky=lambda x: f.leaky_relu(x, 0.2), relu6=f.relu6, hardtanh=f.hardtanh,
        tanhshrink=f.tanhshrink, logsigmoid=f.logsigmoid, glu=lambda x: torch.cat([f.glu(x, 1)] * 2, 1),
        hardshrink=f.hardshrink, softshrink=f.softshrink).items():
    add(name, (6,), lambda s, x, run=run: s.o(run(s.i(x))), i=lambda: nn.Linear(6, 8), o=head(8))
add("prelu per channel", (4, 6), lambda s, x: s.o(s.p(s.c(x)).mean(2)), c=lambda: nn.Conv1d(4, 5, 3), p=lambda: nn.PReLU(5), o=head(5))

# ---- recurrent
both = lambda out: torch.cat([out[0][:, -1], out[0][:, 0]], 1)
for name, make, width in (
        ("lstm", lambda: nn.LSTM(5, 6, batch_first=True), 12),
        ("lstm, two layers, both ways", lambda: nn.LSTM(5, 4, 2, batch_first=True, bidirectional=True), 16),
        ("lstm without biases", lambda: nn.LSTM(5, 6, batch_first=True, bias=False), 12),
        ("gru", lambda: nn.GRU(5, 6, batch_first=True), 12),
        ("gru, two layers, both ways", lambda: nn.GRU(5, 4, 2, batch_first=True, bidirectional=True), 16),
        ("rnn", lambda: nn.RNN(5, 6, batch_first=True), 12),
        ("rnn with relu, both ways", lambda: nn.RNN(5, 6, batch_first=True, nonlinearity="relu", bidirectional=True), 24)):
    add(name, (7, 5), lambda s, x: s.o(both(s.r(x))), r=make, o=head(width))
add("lstm, last states", (7, 5), lambda s, x: s.o(torch.cat([t.transpose(0, 1).flatten(1) for t in s.r(x)[1]], 1)),
    r=lambda: nn.LSTM(5, 4, batch_first=True, bidirectional=True), o=head(16))
add("gru, last state", (7, 5), lambda s, x: s.o(s.r(x)[1].transpose(0, 1).flatten(1)), r=lambda: nn.GRU(5, 4, batch_first=True, bidirectional=True), o=head(8))
add("lstm with a state that is learned", (7, 5), lambda s, x: s.o(s.r(x, (s.h.expand(-1, x.shape[0], -1).contiguous(), s.c.expand(-1, x.shape[0], -1).contiguous()))[0][:, -1]),
    r=lambda: nn.LSTM(5, 6, batch_first=True), h=lambda: P(1, 1, 6), c=lambda: P(1, 1, 6), o=head(6))
add("lstm cells by hand", (4, 5), lambda s, x: s.o(s.r(x[:, 1], s.r(x[:, 0]))[0]), r=lambda: nn.LSTMCell(5, 6), o=head(6))
add("tokens, embedding, gru", (9,), lambda s, x: s.o(s.r(s.e(x))[0].mean(1)), tokens=11, e=lambda: nn.Embedding(11, 5), r=lambda: nn.GRU(5, 6, batch_first=True), o=head(6))

# ---- attention
add("transformer block", (6, 8), lambda s, x: s.o(s.t(x).mean(1)), opset=17, t=lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, activation="gelu"), o=head(8))
add("attention with a mask", (6, 8), lambda s, x: s.o(s.a(x, x, x, attn_mask=torch.triu(torch.ones(6, 6, dtype=torch.bool), 1), need_weights=False)[0][:, -1]),
    a=lambda: nn.MultiheadAttention(8, 2, batch_first=True), o=head(8))
def einsum_attention(s, x):
    q, k, v = (torch.einsum("bnd,hde->bhne", x, w) for w in (s.q, s.k, s.v))
    return s.o(torch.einsum("bhnm,bhme->bne", f.softmax(torch.einsum("bhne,bhme->bhnm", q, k) / 2 + s.b[None, :, None], -1), v).flatten(1))
add("attention by einsum", (5, 6), einsum_attention, q=lambda: P(2, 6, 4), k=lambda: P(2, 6, 4), v=lambda: P(2, 6, 4), b=lambda: P(2, 5), o=head(20))
def causal_where(s, x):
    q, k, v = s.i(x).chunk(3, -1)
    scores = torch.where(torch.tril(torch.ones(6, 6)) > 0, q @ k.transpose(1, 2), torch.tensor(-1e9, dtype=x.dtype))
    return s.o((f.softmax(scores, -1) @ v)[:, -1])
add("attention with where", (6, 8), causal_where, i=lambda: nn.Linear(8, 24), o=head(8))
def rotary(s, x):
    y = s.i(x)
    angle = torch.arange(6).to(x.dtype)[:, None] * torch.tensor([1.0, 0.3]).to(x.dtype)
    a, b = y[..., ::2], y[..., 1::2]
    y = torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(2)
    return s.o(f.softmax(y @ y.transpose(1, 2), -1) @ y).mean(1)
add("rotary positions", (6, 5), rotary, i=lambda: nn.Linear(5, 4), o=head(4))
def linear_attention(s, x):
    q, k, v = (p.relu() + 0.1 for p in s.i(x).chunk(3, -1))
    k = torch.cumsum(k[..., :, None] * v[..., None, :], 1)
    return s.o((q[..., None, :] @ k).squeeze(2).mean(1))
add("linear attention", (6, 5), linear_attention, i=lambda: nn.Linear(5, 12), o=head(4))

def newer(op, plain, domain="newer", **attributes):
    """An operator that this exporter knows only as a foreign one; plain: its formula. newer: the standard's."""
    class Foreign(torch.autograd.Function):
        forward = staticmethod(lambda ctx, *inputs: plain(*inputs))
        symbolic = staticmethod(lambda g, *inputs: g.op(domain + "::" + op, *inputs, **attributes).setType(inputs[0].type()))
    return lambda *inputs: (Foreign.apply if torch.onnx.is_in_onnx_export() else plain)(*inputs)
def attention(heads, kv_heads, causal=False):
    def plain(q, k, v, mask=None):
        q, k, v = (t.reshape(*t.shape[:2], h, -1).transpose(1, 2) for t, h in ((q, heads), (k, kv_heads), (v, kv_heads)))
        k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if causal:
            scores = scores.masked_fill(torch.triu(torch.ones(scores.shape[2:], dtype=torch.bool), 1), -float("inf"))
        if mask is not None:
            scores = scores.masked_fill(~mask, -float("inf")) if mask.dtype == torch.bool else scores + mask
        return (f.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)
    return newer("Attention", plain, q_num_heads_i=heads, kv_num_heads_i=kv_heads, is_causal_i=int(causal))
lines = lambda width: lambda: nn.Linear(8, width)
for name, kv, causal, mask in (("fused attention", 2, False, None), ("fused attention, causal", 2, True, None), ("fused attention, grouped heads", 1, True, None),
                               ("fused attention with a mask", 2, False, lambda s: torch.tril(torch.ones(6, 6, dtype=torch.bool))), ("fused attention with a bias", 2, False, lambda s: s.b)):
    run = attention(2, kv, causal)
    more = {"b": lambda: P(6, 6)} if name.endswith("bias") else {}
    add(name, (6, 8), lambda s, x, run=run, mask=mask: s.o(run(s.q(x), s.k(x), s.v(x), *([mask(s)] if mask else [])).flatten(1)), opset=23,
        q=lines(8), k=lines(4 * kv), v=lines(4 * kv), o=head(48), **more)
def turned(interleaved):
    def plain(x, cos, sin, places):
        cos, sin, parts = cos[places][:, :, None], sin[places][:, :, None], x.reshape(*x.shape[:2], 2, -1)
        a, b = (parts[..., ::2], parts[..., 1::2]) if interleaved else parts.chunk(2, -1)
        first, second = a * cos - b * sin, a * sin + b * cos
        return (torch.stack([first, second], -1).flatten(3) if interleaved else torch.cat([first, second], -1)).flatten(2)
    return newer("RotaryEmbedding", plain, num_heads_i=2, interleaved_i=int(interleaved))
def by_places(s, x, run):
    angles = torch.arange(9)[:, None] * torch.tensor([1.0, 0.3])
    y = run(s.i(x), angles.cos().to(x.dtype), angles.sin().to(x.dtype), torch.arange(6)[None].expand(x.shape[0], -1))
    return s.o((f.softmax(y @ y.transpose(1, 2), -1) @ y).flatten(1))
for name, interleaved in (("fused rotary positions", False), ("fused rotary positions, interleaved", True)):
    add(name, (6, 8), lambda s, x, run=turned(interleaved): by_places(s, x, run), opset=23, i=lines(8), o=head(48))
swish, gated = newer("Swish", f.silu), newer("SwiGLU", lambda a, b: f.silu(a) * b)
add("fused swish", (8,), lambda s, x: s.o(swish(s.i(x))), opset=24, i=lines(8), o=head(8))
add("fused gated swish", (8,), lambda s, x: s.o(gated(s.i(x), s.j(x))), opset=28, i=lines(8), j=lines(8), o=head(8))

# ---- what ONNX Runtime's optimizers write
def microsoft(op, plain, **attributes):
    return newer(op, plain, "com.microsoft", **attributes)
def of_microsoft(name, run, shape=(6, 8), width=8, **parts):
    add("microsoft " + name, shape, lambda s, x: s.o(run(s, x).flatten(1)), opset=17, o=head(width * shape[0]), **parts)
biased = {"i": lines(8), "b": lambda: P(8)}
for name, op, plain, parts in (("gelu with its bias", "BiasGelu", lambda x, b: f.gelu(x + b), biased), ("fast gelu", "FastGelu", lambda x: f.gelu(x, approximate="tanh"), {"i": lines(8)}),
                               ("fast gelu with its bias", "FastGelu", lambda x, b: f.gelu(x + b, approximate="tanh"), biased), ("gelu", "Gelu", f.gelu, {"i": lines(8)}),
                               ("quick gelu", "QuickGelu", lambda x: x * torch.sigmoid(1.702 * x), {"i": lines(8)})):
    of_microsoft(name, lambda s, x, run=microsoft(op, plain), some="b" in parts: run(s.i(x), *([s.b] if some else [])), **parts)
for turned_a, turned_b in ((0, 0), (0, 1), (1, 0)):
    def plain(a, b, turned_a=turned_a, turned_b=turned_b):
        return 0.5 * (a.transpose(1, 2) if turned_a else a) @ (b.transpose(1, 2) if turned_b else b)
    of_microsoft(f"product {turned_a}{turned_b}", lambda s, x, run=microsoft("FusedMatMul", plain, transA_i=turned_a, transB_i=turned_b, alpha_f=0.5): torch.tanh(run(s.i(x), s.j(x))), (8, 8), 8,
                 i=lines(8), j=lines(8))
skips = {"i": lines(8), "scale": lambda: P(8), "shift": lambda: P(8), "added": lambda: P(8)}
of_microsoft("norm of a sum", lambda s, x, run=microsoft("SkipLayerNormalization", lambda x, y, g, h, b: f.layer_norm(x + y + b, (8,), g, h, 1e-5), epsilon_f=1e-5): run(x, s.i(x), s.scale, s.shift, s.added), **skips)
def root_norm(x, y, g, b):
    z = x + y + b
    return z / torch.sqrt((z * z).mean(-1, keepdim=True) + 1e-5) * g
of_microsoft("root norm of a sum", lambda s, x, run=microsoft("SkipSimplifiedLayerNormalization", root_norm, epsilon_f=1e-5): run(x, s.i(x), s.scale, s.added), **{k: v for k, v in skips.items() if k != "shift"})
def packed_attention(x, w, b):
    q, k, v = ((x @ w + b).chunk(3, -1)[i].reshape(*x.shape[:2], 2, 4).transpose(1, 2) for i in range(3))
    return (f.softmax(q @ k.transpose(2, 3) / 2, -1) @ v).transpose(1, 2).flatten(2)
of_microsoft("attention", lambda s, x, run=microsoft("Attention", packed_attention, num_heads_i=2): run(x, s.packed, s.row), packed=lambda: P(8, 24), row=lambda: P(24))
def heads_attention(q, k, v, b):
    q, k, v = ((t + part).reshape(*t.shape[:2], 2, 4).transpose(1, 2) for t, part in zip((q, k, v), b.chunk(3)))
    return (f.softmax(q @ k.transpose(2, 3) / 2, -1) @ v).transpose(1, 2).flatten(2)
of_microsoft("attention of heads", lambda s, x, run=microsoft("MultiHeadAttention", heads_attention, num_heads_i=2): run(s.q(x), s.k(x), s.v(x), s.row),
             q=lines(8), k=lines(8), v=lines(8), row=lambda: P(24))
def grouped_query(heads, kv_heads, turns=False, window=0, cap=0.0):
    """A decoder's first run: its cache is empty, and each row ends at its last token."""
    def plain(q, k, v, last, total, cos=None, sin=None):
        if k is None:
            q, k, v = q.split([heads * 4, kv_heads * 4, kv_heads * 4], -1)
        q, k, v = (t.reshape(*t.shape[:2], -1, 4).transpose(1, 2) for t in (q, k, v))
        if turns:
            q, k = (torch.cat([a * cos - b * sin, b * cos + a * sin], -1) for a, b in (t.chunk(2, -1) for t in (q, k)))
        k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
        scores = q @ k.transpose(2, 3) / 2
        scores = cap * torch.tanh(scores / cap) if cap else scores
        apart = torch.arange(6)[:, None] - torch.arange(6)
        scores = scores.masked_fill((apart < 0) | (apart >= (window or 6)), -float("inf"))
        return (f.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)
    def symbolic(g, q, k, v, last, total, *tables):
        none = lambda: g.op("prim::Constant").setType(torch._C.OptionalType.ofTensor())
        return g.op("com.microsoft::GroupQueryAttention", q, k or none(), v or none(), none(), none(), last, total, *tables, num_heads_i=heads, kv_num_heads_i=kv_heads,
                    do_rotary_i=int(turns), local_window_size_i=window or -1, softcap_f=cap).setType(q.type().with_sizes([None, 6, heads * 4]))
    Foreign = type("Foreign", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, *inputs: plain(*inputs)), "symbolic": staticmethod(symbolic)})
    def run(x, *parts):
        angles = torch.arange(6)[:, None] * torch.tensor([1.0, 0.3])
        tables = [angles.cos().to(x.dtype), angles.sin().to(x.dtype)] if turns else []
        inputs = (*parts, torch.full((x.shape[0],), 5, dtype=torch.int32), torch.tensor(6, dtype=torch.int32), *tables)
        return (Foreign.apply if torch.onnx.is_in_onnx_export() else plain)(*inputs)
    return run
of_microsoft("grouped queries", lambda s, x, run=grouped_query(4, 2): run(x, s.q(x), s.k(x), s.v(x)), width=16, q=lines(16), k=lines(8), v=lines(8))
of_microsoft("grouped queries, one input, turned", lambda s, x, run=grouped_query(2, 1, turns=True): run(x, s.i(x), None, None), i=lines(16))
of_microsoft("grouped queries, a window, a cap", lambda s, x, run=grouped_query(2, 2, window=2, cap=0.7): run(x, s.q(x), s.k(x), s.v(x)), q=lines(8), k=lines(8), v=lines(8))
def rows_of_tokens(x, which, words, places, kinds, g, h):
    return f.layer_norm(words[x] + places[: x.shape[1]] + kinds[which], (8,), g, h, 1e-5)
add("microsoft embedding", (6,), lambda s, x, run=microsoft("EmbedLayerNormalization", rows_of_tokens, epsilon_f=1e-5): s.o(run(x, x * 0 + 1, s.words, s.places, s.kinds, s.scale, s.shift).flatten(1)), opset=17, tokens=11,
    words=lambda: P(11, 8), places=lambda: P(9, 8), kinds=lambda: P(2, 8), scale=lambda: P(8), shift=lambda: P(8), o=head(48))

# ---- picking and placing
add("embedding and positions", (7,), lambda s, x: s.o(torch.tanh(s.e(x) + s.p).mean(1)), tokens=13, e=lambda: nn.Embedding(13, 6), p=lambda: P(7, 6), o=head(6))
add("tied embedding", (7,), lambda s, x: s.o((s.e(x).mean(1) @ s.e.weight.t())), tokens=13, e=lambda: nn.Embedding(13, 6), o=head(13))
add("index select", (6, 5), lambda s, x: s.o(torch.index_select(s.i(x), 1, torch.tensor([0, 3, 3])).flatten(1)), i=lambda: nn.Linear(5, 4), o=head(12))
add("gather", (6, 5), lambda s, x: s.o(torch.gather(s.i(x), 1, (x[:, :3, :4] > 0).long() * 2).flatten(1)), i=lambda: nn.Linear(5, 4), o=head(12))
add("gather n-d", (6, 5), lambda s, x: s.o(s.i(x)[:, torch.tensor([0, 2, 2]), torch.tensor([1, 3, 1])]), i=lambda: nn.Linear(5, 4), o=head(3))
add("scatter", (4, 5), lambda s, x: s.o(torch.scatter(s.i(x), 1, torch.tensor([[[0], [2]]]).expand(x.shape[0], 2, 6), s.j(x)[:, :2]).flatten(1)),
    i=lambda: nn.Linear(5, 6), j=lambda: nn.Linear(5, 6), o=head(24))
add("scatter, added", (4, 5), lambda s, x: s.o(torch.scatter_add(s.i(x), 1, (s.j(x)[:, :2] > 0).long(), s.j(x)[:, :2]).flatten(1)),
    opset=16, i=lambda: nn.Linear(5, 6), j=lambda: nn.Linear(5, 6), o=head(24))
def placed(s, x):
    y = s.i(x).clone()
    y[:, 1] = s.v
    y[:, 2:4, ::2] = y[:, 2:4, ::2] * 2
    return s.o(y.flatten(1))
add("places written", (4, 5), placed, i=lambda: nn.Linear(5, 6), v=lambda: P(6), o=head(24))
add("top k", (9,), lambda s, x: s.o(torch.topk(s.i(x), 4, 1)[0]), i=lambda: nn.Linear(9, 8), o=head(4))
add("k-max pooling over time", (7, 5), lambda s, x: s.o(torch.topk(s.i(x), 2, 1)[0].flatten(1)), i=lambda: nn.Linear(5, 6), o=head(12))
add("triangles", (5, 5), lambda s, x: s.o((torch.tril(s.i(x)) + torch.triu(s.j(x), 1)).flatten(1)), i=lambda: nn.Linear(5, 5), j=lambda: nn.Linear(5, 5), o=head(25))

# ---- reductions
for name, run in (("log sum exp", lambda y: torch.logsumexp(y, 1)), ("norm 1", lambda y: y.norm(1, 1)), ("norm 2", lambda y: y.norm(2, 1)),
                  ("maximum", lambda y: y.max(1)[0]), ("minimum", lambda y: y.amin(1)), ("product", lambda y: y.prod(1)),
                  ("deviation", lambda y: y.std(1)), ("cumulated", lambda y: y.cumsum(1)[:, 2]), ("mean of squares", lambda y: y.square().mean(1)),
                  ("cosine", lambda y: f.cosine_similarity(y[:, :2], y[:, 2:], 1)), ("normalized", lambda y: f.normalize(y, dim=1)[:, 1]),
                  ("softmax pooling", lambda y: (y.softmax(1) * y).sum(1)), ("variance", lambda y: y.var(1, unbiased=False))):
    add(name, (4, 5), lambda s, x, run=run: s.o(run(s.i(x))), i=lambda: nn.Linear(5, 6), o=head(6))

# ---- shapes
conv = lambda: nn.Conv2d(2, 4, 3, padding=1)
for name, run in (("pad", lambda y: f.pad(y, (1, 2, 0, 1), value=0.5)), ("pad, reflected", lambda y: f.pad(y, (2, 1, 1, 2), mode="reflect")),
                  ("pad, replicated", lambda y: f.pad(y, (2, 1, 1, 0), mode="replicate")),
                  ("nearest", lambda y: f.interpolate(y, scale_factor=2)), ("bilinear", lambda y: f.interpolate(y, size=(9, 7), mode="bilinear")),
                  ("bilinear, corners", lambda y: f.interpolate(y, scale_factor=2, mode="bilinear", align_corners=True)),
                  ("repeat", lambda y: y.repeat(1, 2, 1, 3)[:, :4]), ("slices with steps", lambda y: y[:, :, ::2, 1:-1:3]),
                  ("flip", lambda y: y.flip(2) * y), ("roll", lambda y: torch.roll(y, 2, 3) * y), ("split", lambda y: torch.cat(y.split([1, 3], 1)[::-1], 1).sin()),
                  ("pixel shuffle", lambda y: f.pixel_shuffle(y, 2).repeat(1, 4, 1, 1).cos()), ("pixel unshuffle", lambda y: f.pixel_unshuffle(y, 2)[:, :4]),
                  ("permuted", lambda y: y.permute(0, 1, 3, 2) @ y),
                  ("outer", lambda y: (y[:, :, :, :1] * y[:, :, :1]).tanh()), ("unfold", lambda y: y.unfold(3, 3, 1).prod(-1))):
    add(name, (2, 6, 6), lambda s, x, run=run: s.o((run(s.c(x)) * 1.5).tanh().square().flatten(2).mean(2)), c=conv, o=head(4))

# ---- formulas
for name, run in (("angles", lambda y: y.sin() + y.cos() + y.atan()), ("more angles", lambda y: (y.sigmoid() * 0.9).asin() + (y.sigmoid() * 0.9).acos() + (y * 0.5).tan()),
                  ("powers", lambda y: (y.abs() + 0.5) ** 1.7 + 2.0 ** y), ("logarithms", lambda y: (y.square() + 1).log() + torch.log1p(y.abs()) + torch.exp(-y)),
                  ("roots", lambda y: (y.square() + 0.2).sqrt() + torch.rsqrt(y.square() + 1)), ("remainder", lambda y: torch.fmod(y * 5, 1.7)),
                  ("clamped", lambda y: y.clamp(-0.3, 0.6) + torch.maximum(y, -y) + torch.minimum(y, y * 0.5)), ("erf", torch.erf),
                  ("capsule", lambda y: y * (y.square().sum(1, True) / (1 + y.square().sum(1, True)) / (y.square().sum(1, True) + 1e-7).sqrt()))):
    add(name, (6,), lambda s, x, run=run: s.o(run(s.i(x))), i=lambda: nn.Linear(6, 8), o=head(8))
add("learned bounds of clamp", (6,), lambda s, x: s.o(torch.clamp(s.i(x), s.l, s.h)), i=lambda: nn.Linear(6, 8), l=lambda: nn.Parameter(torch.tensor(-0.3)), h=lambda: nn.Parameter(torch.tensor(0.4)), o=head(8))
add("bilinear form", (4, 5), lambda s, x: s.o(torch.einsum("bi,oij,bj->bo", x[:, 0], s.w, x[:, 1])), w=lambda: P(4, 5, 5), o=head(4))
add("diagonal by einsum", (4, 4), lambda s, x: s.o(torch.einsum("bii->bi", s.i(x))), i=lambda: nn.Linear(4, 4), o=head(4))
add("trace by einsum", (4, 4), lambda s, x: s.o(torch.einsum("bikik,kj->bj", s.i(x).reshape(-1, 2, 2, 2, 2), s.w)), i=lambda: nn.Linear(4, 4), w=lambda: P(2, 5), o=head(5))
add("sums by einsum", (4, 5), lambda s, x: s.o(torch.einsum("bij,jk,l->bk", x, s.w, s.v) * 0.2), w=lambda: P(5, 4), v=lambda: P(3), o=head(4))

# ---- small forms of networks that people train
def unet(s, x):
    a = torch.tanh(s.a(x))
    b = torch.tanh(s.b(f.max_pool2d(a, 2)))
    return s.o(torch.cat([a, s.u(b)], 1).mean((2, 3)))
add("u-net", (2, 6, 6), unet, a=conv, b=lambda: nn.Conv2d(4, 6, 3, padding=1), u=lambda: nn.ConvTranspose2d(6, 4, 2, 2), o=head(8))
add("squeeze and excite", (2, 6, 6), lambda s, x: s.o((s.c(x) * f.hardsigmoid(s.e(s.c(x).mean((2, 3))))[:, :, None, None]).tanh().mean((2, 3))), c=conv, e=lambda: nn.Linear(4, 4), o=head(4))
add("mixer", (6, 8), lambda s, x: s.o((x + s.t(f.gelu(s.n(x)).transpose(1, 2)).transpose(1, 2)).mean(1)), opset=17, n=lambda: nn.LayerNorm(8), t=lambda: nn.Linear(6, 6), o=head(8))
add("convnext block", (4, 6, 6), lambda s, x: s.o((x + s.g * s.q(f.gelu(s.p(s.n(s.d(x).permute(0, 2, 3, 1))))).permute(0, 3, 1, 2)).mean((2, 3))), opset=17,
    d=lambda: nn.Conv2d(4, 4, 7, padding=3, groups=4), n=lambda: nn.LayerNorm(4), p=lambda: nn.Linear(4, 8), q=lambda: nn.Linear(8, 4), g=lambda: P(4, 1, 1), o=head(4))
add("inverted residual", (4, 6, 6), lambda s, x: s.o((x + s.c(f.relu6(s.b(f.hardswish(s.a(x)))))).mean((2, 3))), a=lambda: nn.Conv2d(4, 8, 1), b=lambda: nn.Conv2d(8, 8, 3, padding=1, groups=8), c=lambda: nn.Conv2d(8, 4, 1), o=head(4))
add("wavenet gates", (4, 12), lambda s, x: s.o((torch.tanh(s.a(f.pad(x, (4, 0)))) * torch.sigmoid(s.b(f.pad(x, (4, 0))))).mean(2)), a=lambda: nn.Conv1d(4, 5, 3, dilation=2), b=lambda: nn.Conv1d(4, 5, 3, dilation=2), o=head(5))
def experts(s, x):
    gates, which = torch.topk(s.g(x), 2, 1)
    return s.o((torch.zeros_like(s.g(x)).scatter(1, which, gates.softmax(1))[:, :, None] * torch.einsum("bi,eio->beo", x, s.w)).sum(1))
add("mixture of experts", (6,), experts, g=lambda: nn.Linear(6, 4), w=lambda: P(4, 6, 5), o=head(5))
add("siren", (4,), lambda s, x: s.o(torch.sin(3 * s.b(torch.sin(3 * s.a(x))))), a=lambda: nn.Linear(4, 8), b=lambda: nn.Linear(8, 8), o=head(8))
def decoder(s, x):
    states, last = s.e(x)
    weights = f.softmax(torch.bmm(states, last.transpose(0, 1).transpose(1, 2)), 1)
    return s.o(torch.cat([(weights * states).sum(1), s.d(s.z.expand(x.shape[0], 3, -1), last)[0][:, -1]], 1))
add("sequence to sequence", (6, 4), decoder, e=lambda: nn.GRU(4, 5, batch_first=True), d=lambda: nn.GRU(3, 5, batch_first=True), z=lambda: P(1, 1, 3), o=head(10))
add("deep sets", (7, 4), lambda s, x: s.o(torch.cat([f.elu(s.i(x)).sum(1), f.elu(s.i(x)).max(1)[0]], 1)), i=lambda: nn.Linear(4, 6), o=head(12))
add("highway", (6,), lambda s, x: s.o(torch.sigmoid(s.g(x)) * f.relu(s.i(x)) + (1 - torch.sigmoid(s.g(x))) * x), g=lambda: nn.Linear(6, 6), i=lambda: nn.Linear(6, 6), o=head(6))
def temporal(s, x):
    y = x
    for c, d in ((s.a, 1), (s.b, 2), (s.c, 4)):
        y = y + torch.tanh(c(f.pad(y, (2 * d, 0))))
    return s.o(y[:, :, -1])
norm_conv = lambda d: lambda: nn.utils.weight_norm(nn.Conv1d(4, 4, 3, dilation=d))
add("temporal convolutions", (4, 12), temporal, a=norm_conv(1), b=norm_conv(2), c=norm_conv(4), o=head(4))
def translation(s, x):
    memory, begun = s.e(x[:, :4]), x[:, 4:]
    return s.o(s.d(begun, memory, tgt_mask=torch.triu(torch.full((4, 4), float("-inf"), dtype=x.dtype), 1)).mean(1))
add("transformer's decoder", (8, 8), translation, opset=17, e=lambda: nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True),
    d=lambda: nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, batch_first=True), o=head(8))
def twins(s, x):
    a, b = (torch.tanh(s.c(x[:, i])).flatten(2).mean(2) for i in range(2))
    return s.o(torch.cat([(a - b).abs(), a * b], 1))
add("siamese", (2, 3, 6, 6), twins, c=lambda: nn.Conv2d(3, 5, 3), o=head(10))
add("critic", (3, 8, 8), lambda s, x: s.o(f.leaky_relu(s.n(s.b(f.leaky_relu(s.a(x), 0.2))), 0.2).flatten(1)), loss="mean-squared", a=lambda: nn.Conv2d(3, 4, 4, 2, 1),
    b=lambda: nn.Conv2d(4, 6, 4, 2, 1), n=lambda: nn.InstanceNorm2d(6, affine=True), o=head(24))
def graph_by_product(s, x):
    near = torch.eye(5, dtype=x.dtype).roll(1, 0) + torch.eye(5, dtype=x.dtype).roll(-1, 0) + torch.eye(5, dtype=x.dtype)
    near = near / near.sum(1, keepdim=True)
    return s.o((near @ s.b(torch.tanh(near @ s.a(x)))).mean(1))
add("graph, by its matrix", (5, 4), graph_by_product, a=lambda: nn.Linear(4, 6), b=lambda: nn.Linear(6, 6), o=head(6))
def graph_by_edges(s, x):
    start, end = torch.tensor([0, 1, 2, 3, 4, 0, 2]), torch.tensor([1, 2, 3, 4, 0, 2, 4])
    sent = torch.tanh(s.m(torch.cat([x[:, start], x[:, end]], 2)))
    summed = torch.zeros(x.shape[0], 5, 6, dtype=x.dtype).scatter_add(1, (torch.zeros_like(sent).long() + end[None, :, None]), sent)
    return s.o(f.elu(s.u(torch.cat([x, summed], 2))).sum(1))
add("graph, by its edges", (5, 4), graph_by_edges, opset=16, m=lambda: nn.Linear(8, 6), u=lambda: nn.Linear(10, 6), o=head(6))
def graph_attention(s, x):
    h, near = s.w(x), torch.eye(5).roll(1, 0) + torch.eye(5)
    scores = f.leaky_relu(s.a(h) + s.b(h).transpose(1, 2), 0.2).masked_fill(near == 0, -float("inf"))
    return s.o(f.elu(scores.softmax(-1) @ h).mean(1))
add("graph with attention", (5, 4), graph_attention, w=lambda: nn.Linear(4, 6), a=lambda: nn.Linear(6, 1), b=lambda: nn.Linear(6, 1, bias=False), o=head(6))
def factors(s, x):
    rows = torch.stack([e(x[:, i]) for i, e in enumerate((s.a, s.b, s.c))], 1)
    pairs = (rows.sum(1).square() - rows.square().sum(1)) / 2
    return s.o(torch.cat([pairs, torch.tanh(s.d(rows.flatten(1)))], 1))
table = lambda: nn.Embedding(7, 4)
add("factorization machine", (3,), factors, tokens=7, a=table, b=table, c=table, d=lambda: nn.Linear(12, 5), o=head(9))
def shuffled(s, x):
    y = s.a(x)
    y = y.reshape(y.shape[0], 2, 4, *y.shape[2:]).transpose(1, 2).flatten(1, 2)
    a, b = y.chunk(2, 1)
    return s.o(torch.cat([a, torch.tanh(s.b(b))], 1).mean((2, 3)))
add("channels shuffled", (4, 6, 6), shuffled, a=lambda: nn.Conv2d(4, 8, 1, groups=2), b=lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4), o=head(8))
def unrolled(s, x):
    for _ in range(4):
        x = x + 0.25 * torch.tanh(s.b(torch.tanh(s.a(x))))
    return s.o(x)
add("an equation in steps", (6,), unrolled, a=lambda: nn.Linear(6, 8), b=lambda: nn.Linear(8, 6), o=head(6))
def made_weights(s, x):
    w = s.h(x[:, 0]).reshape(-1, 5, 4)
    return s.o(torch.tanh(torch.bmm(w, x[:, 1:].transpose(1, 2))).mean(2))
add("weights that are made", (4, 4), made_weights, h=lambda: nn.Linear(4, 20), o=head(5))
def masked(s, x):
    mask = torch.ones(1, 1, 3, 3, dtype=x.dtype)
    mask[:, :, 1, 1:] = mask[:, :, 2] = 0
    return s.o(torch.tanh(f.conv2d(x, s.w * mask, s.b, padding=1)).mean((2, 3)))
add("masked convolution", (2, 6, 6), masked, w=lambda: P(4, 2, 3, 3), b=lambda: P(4), o=head(4))
def conv_lstm(s, x):
    h = c = torch.zeros(x.shape[0], 3, 5, 5, dtype=x.dtype)
    for t in range(3):
        i, o, g, u = s.c(torch.cat([x[:, t], h], 1)).chunk(4, 1)
        c = torch.sigmoid(g) * c + torch.sigmoid(i) * torch.tanh(u)
        h = torch.sigmoid(o) * torch.tanh(c)
    return s.o(h.mean((2, 3)))
add("recurrent convolutions", (3, 2, 5, 5), conv_lstm, c=lambda: nn.Conv2d(5, 12, 3, padding=1), o=head(3))
add("radial basis", (4,), lambda s, x: s.o(torch.exp(-(torch.cdist(x[:, None], s.c[None], compute_mode="donot_use_mm_for_euclid_dist").squeeze(1) * s.g) ** 2)), c=lambda: P(6, 4), g=lambda: P(6), o=head(6))
def windows(s, x):
    y = torch.roll(s.i(x), (-1, -1), (1, 2)).reshape(x.shape[0], 2, 2, 2, 2, 4).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 4)
    y = f.softmax(y @ y.transpose(1, 2) / 2 + s.b, -1) @ y
    y = torch.roll(y.reshape(x.shape[0], 2, 2, 2, 2, 4).permute(0, 1, 3, 2, 4, 5).reshape(x.shape[0], 4, 4, 4), (1, 1), (1, 2))
    return s.o(s.n(x + y).mean((1, 2)))
add("shifted windows", (4, 4, 4), windows, opset=17, i=lambda: nn.Linear(4, 4), b=lambda: P(4, 4), n=lambda: nn.LayerNorm(4), o=head(4))
add("latents that ask", (6, 5), lambda s, x: s.o(s.a(s.l.expand(x.shape[0], -1, -1), s.k(x), s.v(x), need_weights=False)[0].flatten(1)), l=lambda: P(1, 3, 8), k=lambda: nn.Linear(5, 8),
    v=lambda: nn.Linear(5, 8), a=lambda: nn.MultiheadAttention(8, 2, batch_first=True), o=head(24))
def state_space(s, x):
    step, y, state = f.softplus(s.d(x)), [], torch.zeros(x.shape[0], 4, 3, dtype=x.dtype)
    for t in range(5):
        state = state * torch.exp(-step[:, t, :, None] * s.a.exp()) + step[:, t, :, None] * s.b(x[:, t])[:, None] * x[:, t, :, None]
        y.append((state * s.c(x[:, t])[:, None]).sum(2) + s.e * x[:, t])
    return s.o(torch.stack(y, 1).mean(1))
add("state space", (5, 4), state_space, d=lambda: nn.Linear(4, 4), a=lambda: P(4, 3), b=lambda: nn.Linear(4, 3), c=lambda: nn.Linear(4, 3), e=lambda: P(4), o=head(4))
def pyramid(s, x):
    a = torch.tanh(s.a(x))
    b = torch.tanh(s.b(a))
    return s.o(torch.tanh(s.l(a) + f.interpolate(s.t(b), scale_factor=2, mode="nearest")).mean((2, 3)))
add("feature pyramid", (2, 8, 8), pyramid, a=lambda: nn.Conv2d(2, 4, 3, 2, 1), b=lambda: nn.Conv2d(4, 6, 3, 2, 1), l=lambda: nn.Conv2d(4, 5, 1), t=lambda: nn.Conv2d(6, 5, 1), o=head(5))
class Stays(nn.Module):
    """Its part is in eval() in a network in train()."""

    def __init__(self, part):
        super().__init__()
        self.part = part

    def train(self, mode=True):
        return super().train(False)

    def forward(self, x):
        return self.part(x)


add("a frozen norm in training", (3, 6, 6), lambda s, x: s.o(flat(s.m(s.d(torch.tanh(s.n(s.c(x))))))), train=True, c=lambda: nn.Conv2d(3, 5, 3), n=lambda: Stays(nn.BatchNorm2d(5)),
    d=lambda: nn.Conv2d(5, 5, 1), m=lambda: nn.BatchNorm2d(5), o=head(5))
add("a norm read twice", (2, 3, 6, 6), lambda s, x: s.o((flat(s.n(s.c(x[:, 0]))) - flat(s.n(s.c(x[:, 1])))).abs()), train=True, c=lambda: nn.Conv2d(3, 5, 3), n=lambda: nn.BatchNorm2d(5), o=head(5))
add("branches with norms", (4, 6, 6), lambda s, x: s.o(flat(s.a(s.c(x)) + s.b(s.d(x)) + s.e(x))), train=True, a=lambda: nn.BatchNorm2d(4), b=lambda: nn.BatchNorm2d(4),
    e=lambda: nn.BatchNorm2d(4), c=lambda: nn.Conv2d(4, 4, 3, padding=1, bias=False), d=lambda: nn.Conv2d(4, 4, 1, bias=False), o=head(4))
add("spectral norm", (6,), lambda s, x: s.o(s.i(x)), i=lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(6, 5)), o=head(5))
add("spectral norm by a hook", (3, 6, 6), lambda s, x: s.o(flat(s.c(x))), c=lambda: nn.utils.spectral_norm(nn.Conv2d(3, 5, 3)), o=head(5))
add("weight norm over all", (6,), lambda s, x: s.o(s.i(x)), i=lambda: nn.utils.weight_norm(nn.Linear(6, 5), dim=None), o=head(5))
add("standardized weights", (3, 6, 6), lambda s, x: s.o(flat(f.conv2d(x, (s.w - s.w.mean((1, 2, 3), keepdim=True)) / (s.w.std((1, 2, 3), keepdim=True) + 1e-5), s.b))),
    w=lambda: P(5, 3, 3, 3), b=lambda: P(5), o=head(5))
add("tied autoencoder", (6,), lambda s, x: s.o(f.linear(torch.tanh(f.linear(x, s.w, s.b)), s.w.t(), s.c)), w=lambda: P(4, 6), b=lambda: P(4), c=lambda: P(6), o=head(6))
add("one matrix three times", (6,), lambda s, x: s.o(torch.tanh(torch.tanh(x @ s.w) @ s.w) @ s.w.t()), w=lambda: P(6, 6), o=head(6))
add("one weight of two convolutions", (3, 6, 6), lambda s, x: s.o(f.conv_transpose2d(torch.tanh(f.conv2d(x, s.w, padding=1)), s.w, padding=1).mean((2, 3))), w=lambda: P(5, 3, 3, 3), o=head(3))
def layers_of_one(r):
    for name in ("weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"):
        setattr(r, name + "1", getattr(r, name + "0"))
    return r
add("layers of one weight", (7, 6), lambda s, x: s.o(s.r(x)[0][:, -1]), r=lambda: layers_of_one(nn.GRU(6, 6, 2, batch_first=True)), o=head(6))
add("one layer three times", (6, 8), lambda s, x: s.o(s.t(s.t(s.t(x))).mean(1)), opset=17, t=lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), o=head(8))
add("weights joined", (6,), lambda s, x: s.o(f.linear(x, torch.cat([s.a, s.b]), torch.cat([s.c, s.c]))), a=lambda: P(2, 6), b=lambda: P(2, 6), c=lambda: P(2), o=head(4))
add("a weight in pieces", (6,), lambda s, x: s.o(torch.cat([f.linear(x, s.w[:3]), f.linear(x, s.w[3:]), x @ s.w[1:3].t()], 1)), w=lambda: P(6, 6), o=head(8))
add("an exponent that is learned", (3, 6, 6), lambda s, x: s.o(f.adaptive_avg_pool2d(s.c(x).clamp(min=1e-2).pow(s.p), 1).pow(1 / s.p).flatten(1)), c=lambda: nn.Conv2d(3, 5, 3),
    p=lambda: nn.Parameter(torch.tensor([3.0])), o=head(5))
add("transposed 2d, grouped and dilated", (6, 4, 5), lambda s, x: s.o(flat(s.c(x))), o=head(9),
    c=lambda: nn.ConvTranspose2d(6, 9, (3, 2), stride=(2, 3), padding=(1, 0), output_padding=(1, 2), groups=3, dilation=(2, 1)))
add("attention of other widths", (6, 8), lambda s, x: s.o(s.a(x, s.k(x), s.v(x), need_weights=False)[0][:, -1]), k=lambda: nn.Linear(8, 5), v=lambda: nn.Linear(8, 3),
    a=lambda: nn.MultiheadAttention(8, 2, kdim=5, vdim=3, batch_first=True), o=head(8))
add("attention with learned keys", (6, 8), lambda s, x: s.o(s.a(x, x, x, need_weights=False)[0][:, -1]), a=lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True), o=head(8))
add("positions that are relative", (6, 5), lambda s, x: s.o((f.softmax(x @ x.transpose(1, 2) + s.r(torch.arange(6)[:, None] - torch.arange(6) + 5).squeeze(-1), -1) @ s.v(x)).mean(1)),
    r=lambda: nn.Embedding(11, 1), v=lambda: nn.Linear(5, 4), o=head(4))
add("a table that is made", (7,), lambda s, x: s.o(f.embedding(x, torch.tanh(s.a) @ s.b).mean(1)), tokens=11, a=lambda: P(11, 3), b=lambda: P(3, 6), o=head(6))
add("a codebook", (6,), lambda s, x: s.o(s.i(x) + s.c[torch.cdist(s.i(x)[:, None], s.c[None], compute_mode="donot_use_mm_for_euclid_dist").squeeze(1).argmin(1)]), i=lambda: nn.Linear(6, 4),
    c=lambda: P(5, 4), o=head(4))
add("bicubic", (2, 5, 5), lambda s, x: s.o(flat(f.interpolate(s.c(x), scale_factor=2, mode="bicubic"))), c=lambda: nn.Conv2d(2, 4, 3), o=head(4))
def warped(s, x, **options):
    base = torch.stack([*torch.meshgrid(torch.linspace(-1, 1, 5), torch.linspace(-1, 1, 4), indexing="xy"), torch.ones(4, 5)], -1).reshape(20, 3).to(x.dtype)
    grid = (base @ s.t(x.flatten(1)).reshape(-1, 3, 2)).reshape(-1, 4, 5, 2)
    return s.o(flat(f.grid_sample(s.c(x), grid, **options)))
for name, options in (("spatial transformer", dict(align_corners=False)), ("spatial transformer, corners, border", dict(align_corners=True, padding_mode="border")),
                      ("spatial transformer, reflection", dict(align_corners=False, padding_mode="reflection")),
                      ("spatial transformer, bicubic", dict(align_corners=False, mode="bicubic", padding_mode="reflection")),
                      ("spatial transformer, nearest", dict(align_corners=True, mode="nearest"))):
    add(name, (2, 6, 7), lambda s, x, options=options: warped(s, x, **options), opset=16, t=lambda: nn.Linear(84, 6), c=conv, o=head(4))
add("regression", (6,), lambda s, x: s.o(torch.tanh(s.i(x))), loss="mean-squared", i=lambda: nn.Linear(6, 5), o=head(5))
add("several labels", (6,), lambda s, x: s.o(torch.tanh(s.i(x))), loss="binary-cross-entropy", i=lambda: nn.Linear(6, 5), o=head(5))
add("robust regression", (6,), lambda s, x: s.o(torch.tanh(s.i(x))) * 2, loss="huber", i=lambda: nn.Linear(6, 5), o=head(5))
add("a class per pixel", (2, 5, 6), lambda s, x: s.o(torch.tanh(s.c(x))), target=(5, 6), c=conv, o=lambda: nn.Conv2d(4, CLASSES, 1))
add("a class per token", (9,), lambda s, x: s.o(s.r(s.e(x))[0]), tokens=11, target=(9,), e=lambda: nn.Embedding(11, 5), r=lambda: nn.LSTM(5, 4, batch_first=True, bidirectional=True), o=head(8))
add("classes with weights", (6,), lambda s, x: s.o(torch.tanh(s.i(x))), weights=(0.3, 2.5, 1), i=lambda: nn.Linear(6, 5), o=head(5))
add("a class per pixel, with weights", (2, 5, 6), lambda s, x: s.o(torch.tanh(s.c(x))), target=(5, 6), weights=(0.3, 2.5, 0), c=conv, o=lambda: nn.Conv2d(4, CLASSES, 1))
add("letters of a line", (9, 5), lambda s, x: s.o(s.r(x)[0]), loss="ctc", target=(4,), r=lambda: nn.LSTM(5, 4, batch_first=True, bidirectional=True), o=head(8))
add("letters, as logarithms", (9, 5), lambda s, x: f.log_softmax(s.o(torch.tanh(s.i(x))), 2), loss="ctc", target=(4,), i=lambda: nn.Linear(5, 6), o=head(6))
add("letters, as probabilities", (12, 5), lambda s, x: f.softmax(s.o(torch.tanh(s.i(x))), 2), loss="ctc", target=(6,), i=lambda: nn.Linear(5, 6), o=head(6))
add("the next token", (8,), lambda s, x: (s.t(s.e(x), torch.triu(torch.full((8, 8), float("-inf")), 1).to(s.e.weight.dtype)) @ s.e.weight.t())[..., :CLASSES], opset=17, tokens=11, target=(8,),
    e=lambda: nn.Embedding(11, 8), t=lambda: nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True))

# ---- probabilities at the end, and moves behind them
add("sigmoid with its loss", (6,), lambda s, x: torch.sigmoid(s.o(torch.tanh(s.i(x)))), loss="binary-cross-entropy", shares=True, i=lambda: nn.Linear(6, 5), o=head(5))
add("sigmoid, moved", (3, 6), lambda s, x: torch.sigmoid(s.o(torch.tanh(s.i(x)))).transpose(1, 2).squeeze(1)[:, :3].clamp(1e-7, 1 - 1e-7), loss="binary-cross-entropy", shares=True,
    i=lambda: nn.Linear(6, 5), o=lambda: nn.Linear(5, 1))
add("softmax of an axis, as before opset 13", (2, 5, 6), lambda s, x: f.softmax(s.o(torch.tanh(s.c(x))), 1), opset=11, target=(5, 6), shares=True, c=conv, o=lambda: nn.Conv2d(4, CLASSES, 1))
add("softmax, then shapes", (2, 6), lambda s, x: f.softmax(s.o(torch.tanh(s.i(x))), 2).flatten(0, 1).reshape(-1, 2, CLASSES).permute(0, 2, 1).clone(), target=(2,), shares=True,
    i=lambda: nn.Linear(6, 5), o=head(5))
add("softmax, the last token of", (4, 6), lambda s, x: f.softmax(s.o(torch.tanh(s.i(x))), 2)[:, -1], shares=True, i=lambda: nn.Linear(6, 5), o=head(5))
add("logarithms, moved", (2, 5, 6), lambda s, x: f.log_softmax(s.o(torch.tanh(s.c(x))).permute(0, 2, 3, 1), 3).permute(0, 3, 1, 2), target=(5, 6), c=conv, o=lambda: nn.Conv2d(4, CLASSES, 1))


def main(agent, folder, count, seed):
    names = sorted(NETWORKS)
    if count[0] == "~":
        names = [name for name in names if count[1:] in name]
    elif count != "all":
        names = random.Random(int(seed)).sample(names, int(count))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waiting = []
        for name in names:
            try:
                waiting.append(pool.submit(check, agent, name, NETWORKS[name], export(name, NETWORKS[name], folder, int(seed))))
            except Exception as error:  # the exporter's own
                waiting.append(pool.submit(lambda name=name, error=error: f"{name}: not exported: {error!r:.300}"))
    wrong = [said for said in (future.result() for future in waiting) if said]
    for said in wrong:
        print(f"# {said}")
    print(f"# {len(names) - len(wrong)} of {len(names)} networks, SOAK_SEED={seed}: {', '.join(names) if count != 'all' else 'all'}")
    sys.exit(1 if wrong else 0)


if sys.argv[1] == "names":
    print(len(NETWORKS))
else:
    main(*sys.argv[2:])
