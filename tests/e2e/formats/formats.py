"""Rows of every type, drawn by a seed. As a program of scorer.command (no arguments) it gives them as results; `make
FOLDER SEED ROWS` writes the tables, `expect FOLDER SEED KEY` prints what the output must hold as JSON Lines, `csv FILE
EXPECTED` and `npy FILE EXPECTED` compare."""

import csv
import json
import os
import random
import struct
import sys


def nearest_float(value):
    return struct.unpack("f", struct.pack("f", value))[0]


class Float(float):
    """A float32, which is spelled with nine digits."""

    def __repr__(self):
        return "%.9g" % self


def a_float(draw):
    while True:
        value = struct.unpack("f", draw.randbytes(4))[0]
        if value == value and abs(value) < 3e38:
            return Float(value)


def a_double(draw):
    while True:
        value = struct.unpack("d", draw.randbytes(8))[0]
        if value == value and abs(value) < 1e308:
            return value


TEXTS = ["", "plain", 'a "quoted", one', "two\nlines\r\n", " spaces ", "naïve ☃ 𝄞", "=1+1", "x" * 3000, "null", "\t"]


def result(seed, name):
    """The result of a row; None: it fails."""
    draw = random.Random(f"{seed} {name}")
    number = int(name[1:])
    if number % 50 == 7 or 300 <= number < 380:
        return None
    maybe = lambda value: None if draw.random() < 0.1 else value
    row = {
        "flag": maybe(draw.random() < 0.5),
        "whole": maybe(draw.randint(-(2**62), 2**62)),
        "small": draw.randint(-3, 3),
        "number": maybe(a_double(draw)),
        "text": maybe(draw.choice(TEXTS) + str(draw.randint(0, 5))),
        "vector": maybe([maybe(a_float(draw)) for _ in range(draw.choice([0, 1, 5, 5, 5]))]),
        "numbers": [a_double(draw) for _ in range(3)],
        "wholes": maybe([draw.randint(-(2**62), 2**62) for _ in range(draw.randint(0, 3))]),
        "nested": maybe(draw.choice([{"a": [1, {"b": None}]}, "text", 7, [True], {}])),
    }
    if number % 3:
        row["sometimes"] = number
    return row


def dump(value):
    if isinstance(value, Float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k, ensure_ascii=False) + ":" + dump(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def serve():
    seed, only = 0, None
    for line in sys.stdin:
        message = json.loads(line)
        if "init" in message:
            seed, only = message["init"]["arguments"]["seed"], message["init"]["arguments"].get("only")
            print('{"ready":true}', flush=True)
            continue
        results, failed = [], {}
        for index, item in enumerate(message["items"]):
            row = result(seed, item["id"] if isinstance(item, dict) else os.path.basename(item))
            if row is None:
                failed[str(index)] = "drawn"
            elif only == "vector":
                row = {"vector": [nearest_float(n or 0) for n in row["numbers"] if abs(n) < 1e38] + [0.5] * 3}
                row["vector"] = [Float(n) for n in row["vector"][:3]]
            results.append(row)
        print('{"id":%d,"results":%s,"failed":%s}' % (message["id"], dump(results), dump(failed)), flush=True)


FILES = ["a.csv", "b.csv", "c.csv"]


def make(folder, seed, rows):
    draw = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    for file in FILES:
        with open(f"{folder}/{file}", "w", newline="", encoding="utf-8") as out:
            table = csv.writer(out)
            table.writerow(["id", "name", "price"])
            for row in range(rows):
                price = "" if row % 9 == 0 else f"{draw.random() * 100:.3f}"
                table.writerow([f"{file[0]}{row}", draw.choice(TEXTS), price])


def expect(folder, seed, key):
    for file in FILES:
        with open(f"{folder}/{file}", newline="", encoding="utf-8") as table:
            for number, item in enumerate(csv.DictReader(table)):
                row = result(seed, item["id"])
                if row is not None:
                    head = {"file": file, "row": number} if key == "place" else {"id": item["id"]}
                    head |= {"name": item["name"], "price": float(item["price"]) if item["price"] else None}
                    print(dump(head | row))


def read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def is_same(field, value):
    if value is None or value == "":
        return field == ""
    if isinstance(value, bool):
        return field == ("true" if value else "false")
    if isinstance(value, str):
        return field == value
    if isinstance(value, (int, float)):
        return type(value)(field) == value
    return json.loads(field) == value


def compare_csv(path, expected):
    wanted = read(expected)
    with open(path, newline="", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == len(wanted), (len(rows), len(wanted))
    for row, want in zip(rows, wanted):
        for name, field in row.items():
            value = want.get(name)
            is_json = name == "nested" and value is not None
            fits = json.loads(field) == value if is_json else is_same(field, value)
            assert fits, (want, name, field)
        assert not want.keys() - row.keys(), want


def compare_npy(path, expected):
    with open(expected, encoding="utf-8") as lines:  # "-0" is a float, too
        wanted = [json.loads(line, parse_int=float)["vector"] for line in lines]
    with open(path, "rb") as file:
        data = file.read()
    size = 10 + struct.unpack("<H", data[8:10])[0]
    head = data[10:size].decode()
    assert data[:8] == b"\x93NUMPY\x01\x00" and size % 64 == 0, data[:size]
    assert f"'descr': '<f4', 'fortran_order': False, 'shape': ({len(wanted)}, 3)" in head, head
    assert data[size:] == b"".join(struct.pack("<f", n) for row in wanted for n in row)


def main(arguments):
    if not arguments:
        serve()
    elif arguments[0] == "make":
        make(arguments[1], int(arguments[2]), int(arguments[3]))
    elif arguments[0] == "expect":
        expect(arguments[1], int(arguments[2]), arguments[3])
    else:
        {"csv": compare_csv, "npy": compare_npy}[arguments[0]](*arguments[1:])


main(sys.argv[1:])
