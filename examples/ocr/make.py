"""Draws data/lines/*.png, the lines of text that the example reads, and data/wanted.csv: /usr/bin/python3 make.py FONT.ttf"""
import csv, os, random, sys
from PIL import Image, ImageDraw, ImageFilter, ImageFont

LINES = ["Invoice 2026-1147", "Total 1,284.50 EUR", "Due on 31 December", "Paid by bank transfer", "Thank you for your order",
         "No. 7 Harbour Street", "Order 55821-B, 3 items", "Call +49 30 901820"]
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
draw = random.Random(7)
for i, line in enumerate(LINES):
    font = ImageFont.truetype(sys.argv[1], draw.randint(26, 34))
    _, _, width, height = font.getbbox(line)
    paper, ink = draw.randint(215, 255), draw.randint(0, 70)
    picture = Image.new("L", (width + 24, height + 16), paper)
    ImageDraw.Draw(picture).text((12, 6), line, ink, font)
    picture = picture.rotate(draw.uniform(-0.7, 0.7), Image.BICUBIC, fillcolor=paper).filter(ImageFilter.GaussianBlur(0.6))
    picture.save(os.path.join(folder, "lines", f"line-{i + 1}.png"), optimize=True)
with open(os.path.join(folder, "wanted.csv"), "w", newline="") as file:
    csv.writer(file).writerows([["file", "text"]] + [[f"line-{i + 1}.png", line] for i, line in enumerate(LINES)])
