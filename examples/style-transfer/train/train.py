#!/usr/bin/python3
"""Train a small feed-forward style network (Johnson et al. 2016) and write it as ONNX.

What goes in, and which package brings it (nothing else is downloaded):

  Debian 12   python3-torch python3-onnx python3-pil python3-numpy   to run this file
              libopenblas0-pthread    optional: faster matrix products
              ffmpeg                  to read frames out of the video clips
              opencv-doc              starry_night.jpg (the style) and photos (content)
              python3-imageio         cockatoo.mp4   (content; the clip of the demo)
              python-kivy-examples    cityCC0.mpg    (content)
              python3-skimage, python3-sklearn       photos (content)
  npm         nsfwjs@4.4.0 (MIT)      Inception v3, 8-bit weights: only the judge of the loss.
                                      `npm install --ignore-scripts nsfwjs@4.4.0`
                                      None of its weights are in the file this script writes.

How it learns: the network paints a crop of a frame; a frozen Inception v3 looks at the
painted crop, at the original crop and at Van Gogh's painting.  Correlations between its
feature channels (Gram matrices) must match the painting, its deeper features must match the
original crop, and a second painting of the same crop plus noise must match the first (less
flicker in video).  See NOTES.md for what came out.
"""
import argparse
import base64
import glob
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

STYLE = "/usr/share/doc/opencv-doc/examples/data/starry_night.jpg"
# The scan shows the black backdrop and the bare canvas edge around the painting: cut both off.
STYLE_BOX = (18, 18, 734, 582)  # left, top, right, bottom in the 752x600 scan

# (clip, keep every n-th frame): neighbours in time teach nearly the same thing.
CLIPS = [
    ("/usr/lib/python3/dist-packages/imageio/resources/images/cockatoo.mp4", 4),
    ("/usr/share/kivy-examples/widgets/cityCC0.mpg", 12),
]
CV = "/usr/share/doc/opencv-doc/examples/data/"
PHOTOS = [CV + n for n in (
    "aero1.jpg aloeL.jpg apple.jpg baboon.jpg board.jpg building.jpg butterfly.jpg fruits.jpg "
    "home.jpg left.jpg leuvenA.jpg messi5.jpg orange.jpg rubberwhale1.png smarties.png "
    "squirrel_cls.jpg stuff.jpg graf1.png").split()]
PHOTOS += ["/usr/lib/python3/dist-packages/sklearn/datasets/images/" + n
           for n in ("china.jpg", "flower.jpg")]
PHOTOS += ["/usr/lib/python3/dist-packages/skimage/data/" + n
           for n in ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg",
                     "motorcycle_left.png")]
CLIP_SHARE = 0.65   # of the crops come from the clips (the demo), the rest from the photos
SHORT_SIDE = (288, 420)  # frames are scaled to a random short side: around the demo's 360 rows

# Loss: how much each Inception layer counts for style.  conv1 sees 3 px, mixed0 about 50 px.
STYLE_LAYERS = {"conv1": 1.0, "conv2": 1.0, "conv3": 1.0, "conv5": 1.0, "mixed0": 1.0}
CONTENT_LAYER = "conv5"   # deep enough to forget colour and stroke, shallow enough for shapes
IN_EPS = 1e-5             # InstanceNorm's epsilon, the same in torch and in the ONNX file


# ---------------------------------------------------------------- the network that is shipped

class Norm(nn.Module):
    """InstanceNorm with a learnt scale and shift.

    group_norm with one channel per group is the same sum, and fast in channels_last memory."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        return F.group_norm(x, x.shape[1], self.weight, self.bias, IN_EPS)


class Layer(nn.Module):
    """[nearest x2] -> reflect pad -> conv -> [norm] -> [relu].

    The conv before a norm has no bias: the norm would subtract it again."""

    def __init__(self, cin, cout, k, stride=1, up=False, norm=True, relu=True):
        super().__init__()
        self.up, self.relu, self.pad = up, relu, k // 2
        self.conv = nn.Conv2d(cin, cout, k, stride, bias=not norm)
        self.norm = Norm(cout) if norm else None

    def forward(self, x):
        if self.up:
            x = F.interpolate(x, scale_factor=2, mode="nearest")
        x = self.conv(F.pad(x, (self.pad,) * 4, mode="reflect"))
        if self.norm is not None:
            x = self.norm(x)
        return F.relu(x) if self.relu else x


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = Layer(c, c, 3), Layer(c, c, 3, relu=False)

    def forward(self, x):
        return x + self.b(self.a(x))


class Painter(nn.Module):
    """RGB 0..255 in, RGB 0..255 out, any height and width that are multiples of 4."""

    def __init__(self, c=16, blocks=5):
        super().__init__()
        self.body = nn.Sequential(
            Layer(3, c, 9), Layer(c, 2 * c, 3, stride=2), Layer(2 * c, 4 * c, 3, stride=2),
            *[Residual(4 * c) for _ in range(blocks)],
            Layer(4 * c, 2 * c, 3, up=True), Layer(2 * c, c, 3, up=True),
            Layer(c, 3, 9, norm=False, relu=False))

    def forward(self, x):
        return torch.tanh(self.body(x * (1 / 127.5) - 1.0)) * 127.5 + 127.5


# ------------------------------------------------------------- the judge: Inception v3's start

def load_nsfwjs(folder):
    """name -> float32 array, out of the tfjs model that nsfwjs keeps as base64 in .js files.

    Each weight is stored as bytes q with value = min + q * scale (or as plain float32)."""
    blob = b""
    shards = glob.glob(os.path.join(folder, "group1-shard*of*.min.js"))
    for path in sorted(shards, key=lambda p: int(re.search(r"shard(\d+)of", p).group(1))):
        text = open(path).read()
        blob += base64.b64decode(max(re.findall(r'"([A-Za-z0-9+/=]{1000,})"', text), key=len))
    text = open(os.path.join(folder, "model.min.js")).read()
    spec = re.compile(r'\{name:"([^"]+)",shape:\[([\d,]*)\],dtype:"(\w+)"'
                      r'(?:,quantization:\{min:([-.\deE]+),scale:([-.\deE]+),dtype:"(\w+)"\})?\}')
    weights, at = {}, 0
    for name, shape, _dtype, low, scale, qtype in spec.findall(text):
        shape = [int(s) for s in shape.split(",") if s]
        count = int(np.prod(shape))
        stored = np.dtype(qtype or "float32")
        raw = np.frombuffer(blob, stored, count, at).astype(np.float32)
        at += count * stored.itemsize
        weights[name] = (raw * float(scale) + float(low) if qtype else raw).reshape(shape)
    if at != len(blob):
        sys.exit(f"{folder}: {len(blob)} bytes of weights, {at} described; is it nsfwjs@4.4.0?")
    return weights


class Judge(nn.Module):
    """Inception v3 from its first conv to the block 'mixed0', frozen, batch norms folded in."""

    def __init__(self, folder):
        super().__init__()
        w = load_nsfwjs(folder)
        for i in [1, 2, 3, 4, 5] + list(range(6, 13)):
            kernel = torch.tensor(w[f"conv2d_{i}/kernel"]).permute(3, 2, 0, 1)
            bn = f"batch_normalization_{i}/"
            gain = 1 / torch.sqrt(torch.tensor(w[bn + "moving_variance"]) + 1e-3)  # Keras' eps
            self.register_buffer(f"w{i}", (kernel * gain[:, None, None, None]).contiguous(
                memory_format=torch.channels_last))
            self.register_buffer(f"b{i}", torch.tensor(w[bn + "beta"])
                                 - torch.tensor(w[bn + "moving_mean"]) * gain)

    def conv(self, i, x, pad):
        return F.relu(F.conv2d(x, getattr(self, f"w{i}"), getattr(self, f"b{i}"), padding=pad))

    def mixed(self, i, x):
        """One 35x35 Inception block; i is the number of its first conv (Keras' numbering)."""
        return torch.cat([
            self.conv(i, x, 0),
            self.conv(i + 2, self.conv(i + 1, x, 0), 2),
            self.conv(i + 5, self.conv(i + 4, self.conv(i + 3, x, 0), 1), 1),
            self.conv(i + 6, F.avg_pool2d(x, 3, 1, 1, count_include_pad=False), 0)], 1)

    def forward(self, image, last="mixed0"):
        out = {}
        # The real conv1 has stride 2.  Taken at every pixel it also sees pixel-sized artefacts;
        # every second value of it is what the original network goes on with.
        x = out["conv1"] = self.conv(1, image * (1 / 127.5) - 1.0, 0)
        x = out["conv2"] = self.conv(2, x[:, :, ::2, ::2].contiguous(
            memory_format=torch.channels_last), 0)
        x = out["conv3"] = self.conv(3, x, 1)
        x = out["conv5"] = self.conv(5, self.conv(4, F.max_pool2d(x, 3, 2), 0), 0)
        if last == "conv5":
            return out
        out["mixed0"] = self.mixed(6, F.max_pool2d(x, 3, 2))
        return out


def gram(x):
    n, c, h, w = x.shape
    flat = x.permute(0, 2, 3, 1).reshape(n, h * w, c)
    return flat.transpose(1, 2) @ flat / (h * w)


class Patches:
    """Sliced Wasserstein distance between 7x7 colour patches of two pictures at three scales.

    A random direction turns every patch into one number (a convolution); equal sorted lists of
    numbers, for many directions, mean equal patches: palette and strokes.  The Gram matrices
    alone put pixel noise where strokes should be; this holds them to real ones."""
    DIRECTIONS, SIZE, LEVELS, STRIDE, POINTS = 32, 7, 3, 3, 1024

    def __init__(self, style):
        self.levels = self.pyramid(style)

    def pyramid(self, x):
        out = [x * (1 / 127.5) - 1.0]
        for _ in range(self.LEVELS - 1):
            out.append(F.avg_pool2d(out[-1], 2))
        return out

    def points(self, x, kernel):
        dy, dx = random.randrange(self.STRIDE), random.randrange(self.STRIDE)
        y = F.conv2d(x[:, :, dy:, dx:], kernel, stride=self.STRIDE)
        y = y.permute(1, 0, 2, 3).reshape(self.DIRECTIONS, -1)
        pick = torch.randint(y.shape[1], (self.POINTS,), device=x.device)
        return y[:, pick].sort(1).values

    def __call__(self, x):
        total = 0
        for mine, theirs in zip(self.pyramid(x), self.levels):
            kernel = torch.randn(self.DIRECTIONS, 3, self.SIZE, self.SIZE, device=x.device)
            kernel /= kernel.flatten(1).norm(dim=1)[:, None, None, None]
            total = total + F.mse_loss(self.points(mine, kernel), self.points(theirs, kernel))
        return total / self.LEVELS


class Loss:
    def __init__(self, judge, style, args):
        self.judge, self.args = judge, args
        with torch.no_grad():
            feats = judge(style)
            self.patches = Patches(style)
            self.grams = {k: gram(feats[k]) for k in STYLE_LAYERS}

    def content_of(self, x):
        """Each channel to mean 0 and deviation 1: where things are, not how bright or blue."""
        mean = x.mean((2, 3), keepdim=True)
        dev = x.var((2, 3), keepdim=True, unbiased=False).add(1e-3).sqrt()
        return (x - mean) / dev

    def light_of(self, x):
        """Light and shade: luma (Rec. 601) in 8 px cells, to mean 0 and deviation 1.

        Without it the network may paint what is bright black: conv5 only knows edges."""
        luma = (x * x.new_tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdim=True)
        return self.content_of(F.avg_pool2d(luma, 8) / 255)

    def __call__(self, painted, original):
        feats = self.judge(painted)
        with torch.no_grad():
            want = self.content_of(self.judge(original, CONTENT_LAYER)[CONTENT_LAYER])
        style = sum(k * (gram(feats[n]) - self.grams[n]).square().sum((1, 2)).mean()
                    / self.grams[n].square().sum() for n, k in STYLE_LAYERS.items())
        content = F.mse_loss(self.content_of(feats[CONTENT_LAYER]), want)
        light = F.mse_loss(self.light_of(painted), self.light_of(original))
        p = painted * (1 / 127.5)
        tv = ((p[:, :, 1:] - p[:, :, :-1]).square().mean()
              + (p[:, :, :, 1:] - p[:, :, :, :-1]).square().mean())
        a = self.args
        patch = self.patches(painted)
        return (a.style * style + a.patch * patch + a.content * content + a.light * light
                + a.smooth * tv,
                {"style": style.item(), "patch": patch.item(), "content": content.item(),
                 "light": light.item(), "tv": tv.item()})


# ------------------------------------------------------------------------------ content images

def load_pictures():
    """(clip frames, photos) as uint8 PIL images no smaller than SHORT_SIDE allows."""
    frames, photos = [], []
    for path, every in CLIPS:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-vf",
                            f"select=not(mod(n\\,{every})),scale=-2:{SHORT_SIDE[1]}:flags=area",
                            "-vsync", "0", folder + "/%04d.png"], check=True)
            frames += [Image.open(p).convert("RGB")
                       for p in sorted(glob.glob(folder + "/*.png"))]
    for path in PHOTOS:
        if os.path.exists(path):
            photos.append(Image.open(path).convert("RGB"))
        else:
            print("not there, left out:", path)
    return frames, photos


def crop_of(picture, size):
    """A random square of a randomly scaled, perhaps mirrored picture, float32 CHW 0..255."""
    short = random.uniform(max(size, SHORT_SIDE[0]), max(size + 1, SHORT_SIDE[1]))
    k = short / min(picture.size)
    side = size / k  # of the square in the unscaled picture
    x = random.uniform(0, picture.size[0] - side)
    y = random.uniform(0, picture.size[1] - side)
    im = picture.resize((size, size), Image.BILINEAR, box=(x, y, x + side, y + side),
                        reducing_gap=2.0)
    if random.random() < 0.5:
        im = im.transpose(Image.FLIP_LEFT_RIGHT)
    return np.asarray(im, np.float32).transpose(2, 0, 1)


def batch_of(frames, photos, n, size):
    return torch.from_numpy(np.stack([
        crop_of(random.choice(frames if random.random() < CLIP_SHARE else photos), size)
        for _ in range(n)]))


# ---------------------------------------------------------------------------------- ONNX export

def write_onnx(painter, path):
    """Node by node with onnx.helper: constant pads and scales, free N, H and W, opset 13."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    nodes, consts = [], {}

    def const(name, value):
        consts.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(op, inputs, out=None, **attributes):
        out = out or f"{op.lower()}{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [out], name=f"{op}_{len(nodes)}", **attributes))
        return out

    def layer(x, m, name):
        if m.up:
            x = node("Resize", [x, "", const("twice", np.array([1, 1, 2, 2], np.float32))],
                     mode="nearest", nearest_mode="floor",
                     coordinate_transformation_mode="asymmetric")
        p = m.pad
        x = node("Pad", [x, const(f"pad{p}", np.array([0, 0, p, p, 0, 0, p, p], np.int64))],
                 mode="reflect")
        inputs = [x, const(name + ".weight", m.conv.weight.detach().cpu().numpy())]
        if m.conv.bias is not None:
            inputs.append(const(name + ".bias", m.conv.bias.detach().cpu().numpy()))
        k, s = m.conv.kernel_size[0], m.conv.stride[0]
        x = node("Conv", inputs, kernel_shape=[k, k], strides=[s, s], pads=[0, 0, 0, 0])
        if m.norm is not None:
            x = node("InstanceNormalization",
                     [x, const(name + ".scale", m.norm.weight.detach().cpu().numpy()),
                      const(name + ".shift", m.norm.bias.detach().cpu().numpy())], epsilon=IN_EPS)
        return node("Relu", [x]) if m.relu else x

    x = node("Mul", ["image", const("in_scale", np.array(1 / 127.5, np.float32))])
    x = node("Add", [x, const("in_shift", np.array(-1, np.float32))])
    for i, m in enumerate(painter.body):
        if isinstance(m, Residual):
            y = layer(layer(x, m.a, f"block{i}.a"), m.b, f"block{i}.b")
            x = node("Add", [x, y])
        else:
            x = layer(x, m, f"layer{i}")
    x = node("Mul", [node("Tanh", [x]), const("out_scale", np.array(127.5, np.float32))])
    node("Add", [x, const("out_shift", np.array(127.5, np.float32))], out="painted")

    shape = ["N", 3, "H", "W"]
    graph = helper.make_graph(
        nodes, "starry", [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("painted", TensorProto.FLOAT, shape)],
        list(consts.values()))
    model = helper.make_model(graph, producer_name="windlass-style-train",
                              opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7  # the version that came with opset 13: read by old and new runtimes
    onnx.checker.check_model(model)
    onnx.save(model, path + ".part")
    os.replace(path + ".part", path)


# ------------------------------------------------------------------------------------- training

def paint(painter, picture):
    """One PIL image through the network, sides cut down to multiples of 4."""
    w, h = picture.size
    x = np.asarray(picture.crop((0, 0, w // 4 * 4, h // 4 * 4)), np.float32).transpose(2, 0, 1)
    device = next(painter.parameters()).device
    with torch.no_grad():
        y = painter(torch.from_numpy(x)[None].to(device))
    return Image.fromarray(y[0].clamp(0, 255).round().byte().permute(1, 2, 0).cpu().numpy())


def main():
    p = argparse.ArgumentParser(
        formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__,
        epilog="""example, as the shipped file was made (one CPU core; NOTES.md has the whole story):
  npm install --ignore-scripts nsfwjs@4.4.0
  export OMP_NUM_THREADS=1 MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000
  /usr/bin/python3 train.py --size 160 --minutes 16 --steps 100000 --out first.onnx
  /usr/bin/python3 train.py --start first.onnx.pt --seed 3 --size 208 --minutes 26 \\
      --steps 100000 --rate 1.5e-3 --style 2 --patch 10 --content 0.07 --stable 4 \\
      --smooth 0.15 --strokes 1.6 --out starry.onnx
The MALLOC_ settings keep torch from handing memory back to the kernel in every step.  On a
busy machine one thread is faster than two: two wait for each other.
""")
    p.add_argument("--judge", default="node_modules/nsfwjs/dist/models/inception_v3",
                   help="folder with nsfwjs' Inception v3 (default: %(default)s)")
    p.add_argument("--out", default="starry.onnx", help="ONNX file to write (%(default)s)")
    p.add_argument("--steps", type=int, default=4000, help="stop after this many (%(default)s)")
    p.add_argument("--minutes", type=float, default=1e9,
                   help="or after this many minutes; the learning rate falls to 0 towards "
                        "whichever comes first (no limit)")
    p.add_argument("--size", type=int, default=192, help="side of a crop in px (%(default)s)")
    p.add_argument("--batch", type=int, default=2, help="crops in a step (%(default)s)")
    p.add_argument("--rate", type=float, default=2e-3, help="Adam's first rate (%(default)s)")
    p.add_argument("--style", type=float, default=1.0, help="weight of the Gram loss (%(default)s)")
    p.add_argument("--strokes", type=float, default=1.0,
                   help="the painting is looked at this much larger: longer strokes (%(default)s)")
    p.add_argument("--patch", type=float, default=2.0,
                   help="weight of the patch loss (%(default)s)")
    p.add_argument("--content", type=float, default=0.1,
                   help="weight of the content loss: more = closer to the photo (%(default)s)")
    p.add_argument("--light", type=float, default=0.15,
                   help="weight of keeping light and shade where they were (%(default)s)")
    p.add_argument("--smooth", type=float, default=0.1,
                   help="weight of total variation: more = less grain (%(default)s)")
    p.add_argument("--stable", type=float, default=1.0,
                   help="weight of 'noise in must not change the painting' (%(default)s)")
    p.add_argument("--seed", type=int, default=1, help="for weights and crops (%(default)s)")
    p.add_argument("--threads", type=int, default=1, help="CPU threads (%(default)s)")
    p.add_argument("--start", help="go on from this .pt checkpoint")
    p.add_argument("--every", type=float, default=120,
                   help="seconds between checkpoints: OUT, OUT.pt and sample PNGs (%(default)s)")
    a = p.parse_args()

    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    random.seed(a.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    put = dict(device=device, memory_format=torch.channels_last)  # 4x faster on AVX-512

    frames, photos = load_pictures()
    print(f"{len(frames)} frames, {len(photos)} photos, on {device}", flush=True)
    style = Image.open(STYLE).convert("RGB").crop(STYLE_BOX)
    style = style.resize((round(style.width * a.strokes), round(style.height * a.strokes)),
                         Image.BICUBIC)
    style = torch.from_numpy(np.asarray(style, np.float32).transpose(2, 0, 1)[None]).to(**put)
    loss_of = Loss(Judge(a.judge).to(device), style, a)
    painter = Painter().to(**put)
    if a.start:
        painter.load_state_dict(torch.load(a.start, map_location=device))
    print(sum(w.numel() for w in painter.parameters()), "parameters", flush=True)
    adam = torch.optim.Adam(painter.parameters(), a.rate)
    looked_at = [frames[0], frames[min(25, len(frames) - 1)], frames[min(60, len(frames) - 1)],
                 frames[-1]]

    def checkpoint():
        torch.save(painter.state_dict(), a.out + ".pt")
        write_onnx(painter, a.out)
        shown = [paint(painter, f) for f in looked_at]
        w, h = max(s.width for s in shown), max(s.height for s in shown)
        sheet = Image.new("RGB", (2 * w, 2 * h))
        for i, s in enumerate(shown):
            sheet.paste(s, (i % 2 * w, i // 2 * h))
        sheet.resize((w * 3 // 2, h * 3 // 2)).save(a.out + ".png")

    began = last = time.time()
    means = {}
    for step in range(a.steps):
        done = max(step / a.steps, (time.time() - began) / 60 / a.minutes)
        if done >= 1:
            break
        warm = min(1, (step + 1) / 20)  # Adam's first steps are wild
        for g in adam.param_groups:
            g["lr"] = a.rate * warm * max(0.02, 0.5 + 0.5 * math.cos(math.pi * done))
        x = batch_of(frames, photos, a.batch, a.size).to(**put)
        # Every 4th step half of the batch is the other half once more, with camera-like noise
        # (sigma 8 of 255): what is painted must stay the same.
        twin = a.batch > 1 and step % 4 == 3
        if twin:
            half = a.batch // 2
            x[half:2 * half] = x[:half] + 8 * torch.randn_like(x[:half])
        adam.zero_grad()
        painted = painter(x)
        loss, parts = loss_of(painted, x)
        if twin:
            steady = ((painted[:half] - painted[half:2 * half]) / 127.5).square().mean()
            loss = loss + a.stable * steady
            parts["stable"] = steady.item()
        loss.backward()
        nn.utils.clip_grad_norm_(painter.parameters(), 5.0)  # one bad crop must not wreck it
        adam.step()
        for k, v in parts.items():
            means[k] = v if k not in means else 0.95 * means[k] + 0.05 * v
        if step % 20 == 0:
            print(f"{step} {time.time() - began:.0f}s "
                  + " ".join(f"{k} {v:.4f}" for k, v in means.items()), flush=True)
        if time.time() - last > a.every:
            checkpoint()
            last = time.time()
    checkpoint()
    print(f"done: {step} steps, {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
