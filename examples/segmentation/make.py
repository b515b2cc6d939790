"""Draws data/pages/*.png, the pages that the example reads, and data/wanted.json, where their text is: /usr/bin/python3 make.py FONT.ttf"""
import json, os, random, sys
from PIL import Image, ImageDraw, ImageFilter, ImageFont

WORDS = """the harbour office keeps a list of every ship that comes and goes with cargo crew and day of arrival while small boats pay
by the month and may leave before noon letters for captains wait at the desk until they are called for""".split()
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
draw, boxes = random.Random(19), {}
for i in range(4):
    paper, ink = draw.randint(225, 255), draw.randint(0, 60)
    page = Image.new("RGB", (640, 480 + 32 * i), (paper, paper, paper - 12 * (i % 2)))
    pen, lines, y = ImageDraw.Draw(page), [], 36
    for k in range(9):
        font = ImageFont.truetype(sys.argv[1], 34 if k == 0 else 22)
        text = " ".join(draw.choice(WORDS) for _ in range(3 if k == 0 else 5)).capitalize()
        x = 40 + (20 if k % 4 == 1 else 0)
        pen.text((x, y), text, (ink, ink, ink + 30 * (i % 2)), font)
        lines.append(list(pen.textbbox((x, y), text, font)))
        y += 64 if k == 0 else 40
    pen.rectangle((430, page.height - 90, 600, page.height - 24), fill=(90 + 40 * i, 130, 200 - 30 * i))  # no text: a picture
    pen.ellipse((450, page.height - 80, 520, page.height - 34), fill=(240, 200, 90))
    name = f"page-{i + 1}.png"
    page.filter(ImageFilter.GaussianBlur(0.5)).save(os.path.join(folder, "pages", name), optimize=True)
    boxes[name] = lines
json.dump(boxes, open(os.path.join(folder, "wanted.json"), "w"), indent=1)
