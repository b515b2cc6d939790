"""Makes tables that are hard to cut, and reads them with Python's csv: the oracle of test_table.sh.

    tables.py make FOLDER SEED ROWS      FOLDER/{csv,bare,tsv,jsonl}/...: three files each
    tables.py check FORMAT FOLDER FILE   FILE has a line of JSON for each row of the folder's files, in their order
    tables.py bad FOLDER                 FOLDER/*.csv with invalid rows; prints those, "file:byte" a line
    tables.py keyed FOLDER SEED ROWS     two files by shop and day; one shop has every other row
    tables.py keys FOLDER FILE COLUMN... FILE's lines {"miniBatch", "row"}: each key in one mini-batch, all rows once
"""
import csv, json, os, random, sys

csv.field_size_limit(1 << 30)
TEXTS = ["", "a", "Zoë", "5\" pipe", "a,b", "tab\there", "line\nbreak", "cr\r\nlf", '"', '""', '","', "\n", " x ", "日本\n語", "x" * 5000]


def quote(text, draw):
    must = any(c in text for c in ',"\r\n') and not (text.count('"') and text[0] != '"' and not set(text) & set(",\r\n"))
    return '"' + text.replace('"', '""') + '"' if must or draw.random() < 0.2 else text


def make(folder, seed, count):
    draw = random.Random(seed)
    for kind in ("csv", "bare", "tsv", "jsonl"):
        for number, name in enumerate(("a." + kind, "deep/ü." + kind, "z." + kind)):
            path = os.path.join(folder, kind, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            end = "\r\n" if number == 1 else "\n"
            with open(path, "w", encoding="utf-8-sig" if number == 2 else "utf-8", newline="") as file:
                if kind == "csv":
                    file.write("n,\"te\"\"xt\",more" + end)
                if kind == "tsv":
                    file.write("n\t\"text\"\tmore" + end)
                for i in range(count):
                    texts = [f"{number}-{i}", draw.choice(TEXTS), draw.choice(TEXTS)]
                    if kind in ("csv", "bare"):
                        file.write(",".join(quote(t, draw) for t in texts))
                    elif kind == "tsv":
                        file.write("\t".join(t.replace("\t", " ").replace("\r", "").replace("\n", " ") for t in texts))
                    else:
                        file.write(draw.choice(["%d", '{"n": "%d", "x":[1.50,-0e3]}', '"ü%d"', "null"]).replace("%d", "12345678901234567890%d" % i))
                    if i < count - 1 or number != 0:  # the last row of the first file ends without a newline
                        file.write(end)
                    if draw.random() < 0.05:
                        file.write(end)


def files(folder):
    names = [os.path.relpath(os.path.join(where, name), folder) for where, _, names in os.walk(folder) for name in names]
    return [os.path.join(folder, name) for name in sorted(names, key=os.fsencode)]


def rows(kind, path):
    with open(path, encoding="utf-8-sig", newline="") as file:
        if kind == "csv":
            yield from csv.DictReader(file)
        elif kind == "bare":
            yield from (row for row in csv.reader(file) if row)
        elif kind == "tsv":
            yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        else:
            yield from (line.strip() for line in file if line.strip())


def check(kind, folder, path):
    wanted = [row for file in files(folder) for row in rows(kind, file)]
    with open(path, encoding="utf-8", newline="\n") as file:
        seen = file.read().split("\n")[:-1]
    if kind == "jsonl":  # compact, with unescaped strings; numbers as written
        wanted = [json.loads(row) if row.startswith('"') else row.replace(" ", "") for row in wanted]
    else:
        seen = [json.loads(line) for line in seen]
    if seen != wanted:
        at = next((i for i, (a, b) in enumerate(zip(seen, wanted)) if a != b), min(len(seen), len(wanted)))
        sys.exit(f"# {len(seen)} rows, {len(wanted)} wanted; row {at} differs: {seen[at:at + 1]} {wanted[at:at + 1]}"[:2000])


def bad(folder):
    os.makedirs(folder, exist_ok=True)
    for name in ("a.csv", "b.csv"):
        text, at = b"n,x\n", []
        for i in range(500):
            row = b"%d,\"%s\"" % (i, b"y" * (i % 40))
            if i % 97 == 13:
                at.append(len(text))
                row += b",more"
            elif i % 97 == 14:
                at.append(len(text))
                row = b"%d" % i
            elif i % 97 == 15:
                at.append(len(text))
                row = b"%d,\xfc" % i
            text += row + b"\n"
        with open(os.path.join(folder, name), "wb") as file:
            file.write(text)
        print("\n".join(f"{name}:{i}" for i in at))


def keyed(folder, seed, count):
    draw = random.Random(seed)
    os.makedirs(folder, exist_ok=True)
    shops = ["", "b1", "b 1", "b", "B2", "Zoë", "a,b", 'a"b', "line\nbreak", "\x01", "b1!"]
    for name in ("a.csv", "b.csv"):
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(["n", "shop", "day"])
            for i in range(count):
                big = name == "a.csv" and i % 2
                out.writerow([f"{name}{i}", "big" if big else draw.choice(shops), "x" if big else draw.choice("123")])


def keys(folder, path, *columns):
    wanted = [row for file in files(folder) for row in rows("csv", file)]
    batches, seen = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            told = json.loads(line)
            batches.setdefault(tuple(told["row"][c] for c in columns), set()).add(told["miniBatch"])
            seen.append(told["row"])
    if any(len(numbers) != 1 for numbers in batches.values()):
        sys.exit("# a key in several mini-batches")
    if len({n for numbers in batches.values() for n in numbers}) != len(batches):
        sys.exit("# a mini-batch of several keys")
    key = lambda row: [os.fsencode(row[c]) for c in columns]
    if seen != sorted(wanted, key=key):  # stable: a key's rows in the order of the input
        sys.exit(f"# {len(seen)} rows, {len(wanted)} wanted, or in another order")


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command in ("make", "keyed"):
        {"make": make, "keyed": keyed}[command](rest[0], int(rest[1]), int(rest[2]))
    else:
        {"check": check, "bad": bad, "keys": keys}[command](*rest)
