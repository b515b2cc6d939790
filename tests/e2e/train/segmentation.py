"""Data and a network for test_segmentation.sh.

  segmentation.py make FOLDER       photos/NN.png and classes/NN.png (grey), palette/NN.png (the same of a palette); photost, classest to
                                    test; the same as arrays, cut to 16 x 16; wrong, small, photos-more, classes-more; net.onnx
  segmentation.py evaluate FOLDER MODEL LOSS ACCURACY   PyTorch's over the middles of the pictures to test"""
import os, subprocess, sys, tempfile
import numpy as n, onnx, torch
from onnx import numpy_helper
from PIL import Image
from torch import nn

SIDE, SIZE, COUNT = 24, 16, 48
what, folder = sys.argv[1:3]
random = n.random.default_rng(4)


def scene():
    """Rectangles: a bright one is 1, a dark one 2; the rest 0, and its edge does not count."""
    pixels = random.integers(100, 140, (SIDE, SIDE, 3))
    classes = n.zeros((SIDE, SIDE), "u1")
    for kind, level in ((1, 220), (2, 20)):
        y, x = random.integers(0, SIDE - 8, 2)
        h, w = random.integers(6, 12, 2)
        pixels[y:y + h, x:x + w] = level + random.integers(-15, 15)
        classes[y:y + h, x:x + w] = kind
    classes[0] = classes[:, 0] = 255
    return pixels.astype("u1"), classes


def save(kind, name, array, palette=False):
    os.makedirs(f"{folder}/{kind}", exist_ok=True)
    image = Image.fromarray(array)
    if palette:
        image = Image.fromarray(array, "P")
        image.putpalette([(37 * i) % 256 for i in range(768)])
    image.save(f"{folder}/{kind}/{name}")


def make():
    for end in ("", "t"):
        samples, labels = [], []
        for i in range(COUNT):
            pixels, classes = scene()
            name = f"{i:02}.png"
            save("photos" + end, name, pixels)
            save("classes" + end, name, classes)
            if not end:
                save("palette", name, classes, True)
                wrong = classes.copy()
                wrong[2, 3] = 9
                save("wrong", name, wrong)
                save("small", name, classes[:8, :8])
                save("photos-more", name, pixels)
                save("classes-more", name, classes)
            samples.append(pixels[4:20, 4:20].transpose(2, 0, 1))
            labels.append(classes[4:20, 4:20])
        n.save(f"{folder}/x{end}.npy", (n.stack(samples) / 255).astype("f4"))
        n.save(f"{folder}/y{end}.npy", n.stack(labels).astype("i4"))
    n.save(f"{folder}/few.npy", n.stack(labels)[:, ::2, ::2].astype("i4"))
    save("photos-more", "lonely.png", pixels)
    save("photos-more", "00.jpg", pixels)  # has the mask: it is before 00.png
    save("classes-more", "alone.png", classes)
    open(f"{folder}/classes-more/notes.txt", "w").write("no mask")
    torch.manual_seed(2)
    network = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.Tanh(), nn.Conv2d(8, 8, 3, padding=1), nn.Tanh(), nn.Conv2d(8, 3, 1))
    torch.onnx.export(network.eval(), torch.zeros(2, 3, SIZE, SIZE), f"{folder}/net.onnx", opset_version=14, input_names=["x"], output_names=["y"],
                      do_constant_folding=False, dynamic_axes={"x": {0: "n"}})


def run(path, x):
    with tempfile.TemporaryDirectory() as at:
        open(f"{at}/x.pb", "wb").write(numpy_helper.from_array(x, "x").SerializeToString())
        subprocess.run([os.environ["AGENT"], "model", "run", path, "--input", f"x={at}/x.pb", "--output-dir", at], check=True, capture_output=True)
        return torch.tensor(numpy_helper.to_array(onnx.load_tensor(f"{at}/y.pb")))


def evaluate(path, loss, accuracy):
    # In evaluation the middle 7/8, 21 of 24 pixels, becomes 16: the nearest pixel's label; pictures are scaled by the agent.
    side = SIDE * 7 // 8
    at = [(SIDE - side) // 2 + (2 * i + 1) * side // (2 * SIZE) for i in range(SIZE)]
    labels = n.stack([n.array(Image.open(f"{folder}/classest/{i:02}.png"))[n.ix_(at, at)] for i in range(COUNT)])
    right, lost, count = 0, 0.0, 0
    pictures = n.stack([n.array(Image.open(f"{folder}/photost/{i:02}.png").crop(((SIDE - side) // 2,) * 2 + ((SIDE - side) // 2 + side,) * 2)
                                .resize((SIZE, SIZE), Image.BILINEAR)) for i in range(COUNT)])
    scores = run(path, (pictures.transpose(0, 3, 1, 2) / 255).astype("f4")).double()
    y = torch.tensor(labels).long()
    right = ((scores.argmax(1) == y) & (y != 255)).sum().item() / (y != 255).sum().item()
    lost = nn.functional.cross_entropy(scores, y, ignore_index=255).item()
    print(f"# loss {loss}, PyTorch's {lost:.5f}; accuracy {accuracy}, PyTorch's {right:.5f}")
    assert abs(float(loss) - lost) < 0.05 * lost and abs(float(accuracy) - right) < 0.01  # the scalers differ


{"make": make, "evaluate": evaluate}[what](*sys.argv[3:])
