#!/usr/bin/env python3
"""Training data that others with the right to write to a job's volume may put there, for test_hostile_training.sh: tars,
pictures, arrays, tables, IDX files, whose sizes overflow or are false, that grow when they are unpacked, take terabytes
without room on the disk, are pipes, links or deep.

    hostile_training.py FOLDER    makes them in FOLDER, and prints a line for each training: NAME, DATA (data.train), MODEL, the
                                  exit code that is wanted, and a pattern of its message, with tabs between them
"""
import gzip
import json
import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.dirname(__file__))
from hostile_files import HUGE, hole, model, node, npy_head, page_head, parquet, put, tensor, value  # noqa: E402

PICTURES = '{"new": "MLP", "classes": 3, "shape": [3, 12, 12]}'
ROWS = '{"path": "data/rows.onnx"}'
GREY = '{"new": "MLP", "classes": 3, "shape": [1, 4, 4]}'
BAD, REFUSED, EXHAUSTED = 5, 2, 3


def job(name, data, model, code, pattern):
    print("\t".join((name, json.dumps(data), model, str(code), pattern)))


# ---- tars ----------------------------------------------------------------------------------------


def head(name, size, kind=b"0", size_field=None):
    """A header of POSIX ustar."""
    block = name.encode()[:100].ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2 + (size_field or b"%011o\0" % size) + b"0" * 11 + b"\0"
    block = (block + b" " * 8 + kind + bytes(100) + b"ustar\x0000").ljust(512, b"\0")
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def member(name, data, kind=b"0"):
    return head(name, len(data), kind) + data + bytes(-len(data) % 512)


def pax(*records):
    """Extended headers, whose lengths count themselves."""
    text = b""
    for record in records:
        length = len(record) + 3
        while len(str(length)) + 2 + len(record) != length:
            length = len(str(length)) + 2 + len(record)
        text += b"%d " % length + record + b"\n"
    return member("x", text, b"x")


END = bytes(1024)


def floats(*dims):
    count = 1
    for dim in dims:
        count *= dim
    return npy_head("{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }" % ", ".join(map(str, dims))) + bytes(4 * count)


def tars(folder):
    good = member("good.npy", floats(3)) + member("good.cls", b"1")
    base256 = b"\x80" + bytes(3) + struct.pack(">Q", 1 << 62)
    cases = {
        "zeros": (END, REFUSED, "no samples found"),
        "no-end": (good, REFUSED, r"a\.tar: truncated: it has no end mark"),
        "member-beyond": (good + head("b.npy", 1 << 30) + END, REFUSED, r"a\.tar: truncated: a member at byte 2048"),
        "size-base256": (good + head("b.npy", 0, size_field=base256) + END, REFUSED, r"a\.tar: (truncated: a member|a header with an invalid size) at byte 2048"),
        "size-negative": (good + head("b.npy", 0, size_field=b"\xff" * 12) + END, REFUSED, r"a\.tar: a header with an invalid size at byte 2048"),
        "size-text": (good + head("b.npy", 0, size_field=b"9999999999 \0") + END, REFUSED, r"a\.tar: a header with an invalid size at byte 2048"),
        "pax-size": (good + pax(b"size=" + b"9" * 30) + member("b.npy", b"") + END, REFUSED, r"a\.tar: at byte 2048: a pax header with a size that is not a number"),
        "pax-size-minus": (good + pax(b"size=-1") + member("b.npy", b"") + END, REFUSED, r"a\.tar: at byte 2048: a pax header with a size"),
        "pax-beyond": (good + pax(b"size=%d" % (1 << 50)) + member("b.npy", b"") + END, REFUSED, r"a\.tar: truncated: a member"),
        "pax-large": (good + pax(b"comment=" + b"a" * 65536) + END, REFUSED, r"a\.tar: a header of 65[0-9]{3} bytes at byte 2048, at most 65536"),
        "pax-length": (good + member("x", b"99999 path=b\n", b"x") + END, REFUSED, r"a\.tar: at byte 2048: a pax header with a record of a wrong length"),
        "pax-no-key": (good + member("x", b"9 abcdef\n", b"x") + END, REFUSED, r"a\.tar: at byte 2048: a pax header"),
        "pax-many": (good + pax(b"a=b") * 100000 + END, 0, "the result: "),
        "name-long": (good + member("x", b"n" * 70000, b"L") + END, REFUSED, r"a\.tar: a header of 70000 bytes"),
        "name-2000": (good + member("x", b"n" * 2000, b"L") + END, REFUSED, r"a\.tar: at byte 2048: a name of 2000 bytes"),
        "sparse": (good + head("b.npy", 0, b"S") + END, REFUSED, r"a\.tar: a sparse file"),
        "label": (member("a.npy", floats(3)) + member("a.cls", b"9" * 40) + END, BAD, r"a\.tar: a\.npy at byte 512: its label is not the number of a class"),
        "label-json": (member("a.npy", floats(3)) + member("a.json", b"[" * 4000) + END, BAD, r"a\.tar: a\.npy at byte 512: its label is not the number of a class"),
        "array-claims": (good + member("b.npy", npy_head("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (HUGE, HUGE)) + bytes(12)) + member("b.cls", b"1") + END,
                         BAD, r"a\.tar: b\.npy at byte [0-9]+: "),
        "array-object": (good + member("b.npy", npy_head("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }") + b"cos\nsystem\n(S'id'\ntR.") + member("b.cls", b"1") + END,
                         BAD, r"a\.tar: b\.npy at byte [0-9]+: its elements are"),
    }
    for name, (data, code, why) in cases.items():
        put(f"{folder}/tar-{name}/a.tar", data)
        job(f"a tar: {name}", {"webdataset": {"path": f"data/tar-{name}"}}, ROWS, code, why)
    # Of terabytes without room: nothing, a member, a label, a picture.
    hole(f"{folder}/tar-hole/a.tar", 1 << 40)
    job("a tar of a terabyte of nothing", {"webdataset": {"path": "data/tar-hole"}}, ROWS, REFUSED, "no samples found")
    for name, kind, code, why in (("label", "cls", BAD, "its label is not the number of a class"), ("array", "npy", BAD, r"it has more than 256 MiB"), ("other", "bin", 0, "")):
        size = 8 << 30
        first = member("a.npy", floats(3)) + member("a.cls", b"1")
        large = (member("b.npy", floats(3)) if kind == "cls" else b"") + head(f"b.{kind}", 0, size_field=b"\x80" + bytes(3) + struct.pack(">Q", size))
        tail = (member("b.cls", b"1") if kind == "npy" else b"") + END
        hole(f"{folder}/tar-hole-{name}/a.tar", len(first) + len(large) + size + len(tail), first + large, tail)
        job(f"a tar with a member of 8 GiB: {name}", {"webdataset": {"path": f"data/tar-hole-{name}"}}, ROWS, code, why)
    os.makedirs(f"{folder}/tar-pipe")
    os.mkfifo(f"{folder}/tar-pipe/a.tar")
    job("a tar that is a pipe", {"webdataset": {"path": "data/tar-pipe"}}, ROWS, REFUSED, "data/tar-pipe")
    job("the same by name", {"webdataset": {"path": "data/tar-pipe/a.tar"}}, ROWS, REFUSED, "data/tar-pipe")
    os.makedirs(f"{folder}/tar-link")
    os.symlink("/etc/passwd", f"{folder}/tar-link/a.tar")
    job("a tar that is a link out of the volume", {"webdataset": {"path": "data/tar-link/a.tar"}}, ROWS, REFUSED, "data/tar-link")
    job("a range of shards without end", {"webdataset": {"path": "data/tar-zeros/{000000..999999}.tar"}}, ROWS, REFUSED, "shards, at most 65536")


# ---- pictures ------------------------------------------------------------------------------------


def png(width, height, packed, *others):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + b"".join(chunk(*other) for other in others)
            + chunk(b"IDAT", packed) + chunk(b"IEND", b""))


def zeros(size):
    bomb = zlib.compressobj(9)
    packed = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(size >> 20))
    return packed + bomb.compress(bytes(size & ((1 << 20) - 1))) + bomb.flush()


def pictures(folder):
    jpeg = b"\xff\xd8\xff\xc0\0\x11\x08\xff\xff\xff\xff\3\1\x22\0\2\x11\1\3\x11\1" + b"\xff\xda\0\x0c\3\1\0\2\x11\3\x11\0\x3f\0" + bytes(64)
    # Its tables have one code each: no difference, and the end of a block.
    table = b"\xff\xc4\0\x14%c\1" + bytes(15) + b"\0"
    scan = b"\xff\xda\0\x08\1\1\0\1\x3f\0\x7f"
    scans = (b"\xff\xd8\xff\xdb\0\x43\0" + b"\1" * 64 + b"\xff\xc2\0\x0b\x08\0\x08\0\x08\1\1\x11\0" + table % 0 + table % 16
             + b"\xff\xda\0\x08\1\1\0\0\0\0\x7f" + scan * 100000 + b"\xff\xd9")
    cases = {
        "sides": png((1 << 31) - 1, (1 << 31) - 1, zeros(1 << 20)), "pixels": png(16000, 16000, zeros(1 << 20)),
        "cut": png(12000, 11000, b"x"), "jpeg-sides": jpeg, "empty": b"", "chunk": b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 0x7fffffff) + b"IHDR" + bytes(64),
    }
    for name, data in cases.items():
        put(f"{folder}/picture-{name}/a/x.png", data)
        job(f"a picture: {name}", {"folder": {"path": f"data/picture-{name}"}}, PICTURES, BAD, rf"data/picture-{name}/a/x\.png: ")
    put(f"{folder}/picture-bomb/a/x.png", png(12, 12, zeros(1 << 28)))  # what is too much is not unpacked
    job("a picture that unpacks to more than its size", {"folder": {"path": "data/picture-bomb"}}, PICTURES, 0, "the result: ")
    bomb, loop = zeros(1 << 28), b"\x87\x69\0\x04\0\0\0\1\0\0\0\x08"  # Exif: a list of lists, each of which is the list itself
    put(f"{folder}/picture-beside/a/x.png", png(12, 12, zeros(12 * 37), (b"iCCP", b"x\0\0" + bomb), *[(b"zTXt", b"x\0\0" + bomb)] * 20,
                                                (b"eXIf", b"MM\0*\0\0\0\x08\x13\x88" + loop * 5000 + bytes(4)), *[(b"tEXt", b"x\0y")] * 100000))
    job("a picture with bombs beside its pixels", {"folder": {"path": "data/picture-beside"}}, PICTURES, 0, "the result: ")
    put(f"{folder}/picture-scans/a/x.png", scans)
    job("a picture of 100,000 scans", {"folder": {"path": "data/picture-scans"}}, PICTURES, BAD, r"data/picture-scans/a/x\.png: .*more than 500 scans")
    hole(f"{folder}/picture-hole/a/x.png", 1 << 40, png(12, 12, zeros(12 * 37))[:40])
    job("a picture of a terabyte", {"folder": {"path": "data/picture-hole"}}, PICTURES, BAD, r"a/x\.png: ")
    os.makedirs(f"{folder}/picture-pipe/a")
    os.mkfifo(f"{folder}/picture-pipe/a/x.png")
    job("a picture that is a pipe", {"folder": {"path": "data/picture-pipe"}}, PICTURES, REFUSED, "data/picture-pipe: no file matches")
    os.makedirs(f"{folder}/picture-link/a")
    os.symlink("/etc/passwd", f"{folder}/picture-link/a/x.png")
    job("a picture that is a link out of the volume", {"folder": {"path": "data/picture-link"}}, PICTURES, REFUSED, r"a/x\.png")
    os.makedirs(f"{folder}/picture-deep")
    here = os.open(".", os.O_RDONLY)
    os.chdir(f"{folder}/picture-deep")
    for _ in range(6000):  # deeper than a path may be long
        os.mkdir("d")
        os.chdir("d")
    os.fchdir(here)
    job("folders 6,000 deep", {"folder": {"path": "data/picture-deep"}}, PICTURES, REFUSED, "data/picture-deep")
    put(f"{folder}/mask-photos/a.png", png(12, 12, zeros(12 * 37)))
    put(f"{folder}/mask-sides/a.png", png((1 << 31) - 1, 4, zeros(1 << 20)))
    job("a mask: sides", {"masks": {"images": "data/mask-photos", "masks": "data/mask-sides", "classes": 3}},
        '{"path": "data/pixels.onnx"}', BAD, r"data/mask-sides/a\.png")


# ---- arrays, IDX, CIFAR --------------------------------------------------------------------------


def arrays(folder):
    integers = "{'descr': '<i8', 'fortran_order': False, 'shape': (%s), }"
    put(f"{folder}/x.npy", floats(2, 3))
    labels = npy_head(integers % "2,") + struct.pack("<qq", 0, 1)
    put(f"{folder}/y.npy", labels)
    shaped = "{'descr': '<f4', 'fortran_order': %s, 'shape': (%s), }"
    for name, x, y, code, why in (
            ("overflow", npy_head(shaped % (False, f"{1 << 62}, 3")), labels, REFUSED, r"x\.npy.*too large"),
            ("slices", npy_head(shaped % (False, f"2, {HUGE}, {HUGE}")), labels, REFUSED, r"x\.npy.*larger than"),
            ("short", npy_head(shaped % (False, f"{HUGE}, 3")) + bytes(24), labels, REFUSED, r"x\.npy.*truncated"),
            ("fortran", npy_head(shaped % (True, f"{HUGE}, 3")) + bytes(24), labels, REFUSED, r"x\.npy.*truncated"),
            ("object", npy_head("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }") + b"cos\nsystem\n(S'id'\ntR.", labels, REFUSED, r"x\.npy.*its elements are"),
            ("many-axes", npy_head(shaped % (False, "1, " * 200)) + bytes(4), labels, REFUSED, r"x\.npy.*axes"),
            ("label-huge", floats(2, 3), npy_head(integers % "2,") + struct.pack("<qq", 0, 1 << 62), 0, r"y\.npy"),
            ("label-million", floats(2, 3), npy_head(integers % "2,") + struct.pack("<qq", 0, (1 << 20) - 1), 0, "classes"),
            ("label-negative", floats(2, 3), npy_head(integers % "2,") + struct.pack("<qq", 0, -1 << 63), 0, r"y\.npy"),
            ("count", floats(2, 3), npy_head(integers % "3,") + bytes(24), REFUSED, "3")):
        put(f"{folder}/npy-{name}/x.npy", x)
        put(f"{folder}/npy-{name}/y.npy", y)
        job(f"arrays: {name}", {"tensors": {"samples": f"data/npy-{name}/x.npy", "labels": f"data/npy-{name}/y.npy"}}, ROWS, code or "2|5", why)
    hole(f"{folder}/npy-hole/x.npy", len(npy_head(shaped % (False, f"{1 << 37}, 2"))) + (1 << 40), npy_head(shaped % (False, f"{1 << 37}, 2")))
    job("an array of a terabyte", {"tensors": {"samples": "data/npy-hole/x.npy", "labels": "data/y.npy"}}, ROWS, REFUSED, r"npy-hole/x\.npy|samples")
    os.makedirs(f"{folder}/npy-pipe")
    os.mkfifo(f"{folder}/npy-pipe/x.npy")
    job("an array that is a pipe", {"tensors": {"samples": "data/npy-pipe/x.npy", "labels": "data/y.npy"}}, ROWS, REFUSED, "npy-pipe")


def idx(*dims):
    return struct.pack(f">HBB{len(dims)}I", 0, 8, len(dims), *dims)


def small_formats(folder):
    packed = gzip.compress(idx(2, 4, 4)) + gzip.compress(bytes(1 << 26)) * 256  # 16 GiB
    put(f"{folder}/labels.idx", idx(2) + b"\0\1")
    for name, data, why in (("sizes", idx(*[0xffffffff] * 4) + bytes(100), "shorter than its header says"), ("none", idx(0, 4, 4), "no elements"),
                            ("axes", struct.pack(">HBB", 0, 8, 255) + bytes(1020), "255 axes"), ("cut", idx(2, 4, 4)[:9], "truncated"), ("more", idx(2, 4, 4) + bytes(1000), "bytes after its elements"),
                            ("type", struct.pack(">HBB3I", 0, 0x0e, 3, 2, 4, 4) + bytes(256), "of type 0x0e"), ("bomb", packed, "has more than 48 bytes unpacked"),
                            ("gzip-cut", packed[:1000], "corrupt gzip|unexpected end|more than"), ("side", idx(2, 1, 100000) + bytes(200000), "an axis of 100000")):
        put(f"{folder}/idx-{name}", data)
        job(f"IDX: {name}", {"idx": {"images": f"data/idx-{name}", "labels": "data/labels.idx"}}, GREY, REFUSED, rf"(data/idx-{name}: )?.*{why}")
    hole(f"{folder}/idx-hole", 1 << 40, idx(1 << 31, 16, 32))
    job("IDX of a terabyte", {"idx": {"images": "data/idx-hole", "labels": "data/labels.idx"}}, GREY, EXHAUSTED, "data/idx-hole: has 1099511627776 bytes, and data may take")
    os.mkfifo(f"{folder}/idx-pipe")
    job("IDX that is a pipe", {"idx": {"images": "data/idx-pipe", "labels": "data/labels.idx"}}, GREY, REFUSED, "data/idx-pipe")
    put(f"{folder}/cifar-cut/a.bin", bytes(3073 * 2 + 1))
    job("CIFAR: cut", {"cifar": {"path": "data/cifar-cut"}}, PICTURES, REFUSED, r"a\.bin: 6147 bytes are not a multiple")
    put(f"{folder}/cifar-label/a.bin", (b"\xff" + bytes(3072)) * 20)
    job("CIFAR: label", {"cifar": {"path": "data/cifar-label"}}, '{"new": "MLP", "classes": 10, "shape": [3, 32, 32]}', BAD, r"a\.bin: record [0-9]+ has a label that is not a class")
    hole(f"{folder}/cifar-hole/a.bin", 3073 << 29)
    job("CIFAR of a terabyte", {"cifar": {"path": "data/cifar-hole"}}, '{"new": "MLP", "classes": 10, "shape": [3, 32, 32]}', REFUSED, "more than 268435456 samples")


# ---- tables --------------------------------------------------------------------------------------


def tables(folder):
    def train(name, ending="csv", **more):
        return {"table": {"path": f"data/{name}.{ending}", "label": "kind", **more}}
    hole(f"{folder}/line.csv", 1 << 30, b"a,kind,b,c\n1,0,2,3\n")
    job("a CSV row of 1 GiB", train("line"), ROWS, BAD, r"line\.csv: row 2 .*, at most 67108864")
    hole(f"{folder}/quote.csv", 1 << 30, b'a,kind,b,c\n1,0,2,"3\n')
    job("a CSV row of 1 GiB with an open quote", train("quote"), ROWS, REFUSED, r"quote\.csv: .*, at most 67108864")
    hole(f"{folder}/header.csv", 10 << 30)
    job("a CSV header of 10 GiB", train("header"), ROWS, REFUSED, r"header\.csv.*header")
    put(f"{folder}/columns.csv", ",".join(f"c{i}" for i in range(12000)) + ",kind\n" + "0," * 12000 + "0\n")
    job("a CSV header of 12,000 columns", train("columns"), ROWS, REFUSED, r"columns\.csv.*header")
    for name, value, why in (("nan", "nan", "is not a finite float32"), ("huge", "1e400", "is not a finite float32"), ("hex", "0x1p9999", "is not a finite float32"), ("text", "x" * 100000, "is not a number"),
                             ("label", None, "is not a class, a whole number from 0")):
        put(f"{folder}/{name}.csv", "a,kind,b,c\n1,0,2,3\n" + f"{value or 1},{'1e300' if value is None else 0},2,3\n")
        job(f"a CSV value: {name}", train(name), ROWS, BAD, rf"{name}\.csv: row 2 \(byte [0-9]+\): .*{why}")
    os.mkfifo(f"{folder}/pipe.csv")
    job("a CSV file that is a pipe", train("pipe"), ROWS, REFUSED, r"data/pipe\.csv")
    os.symlink("/etc/passwd", f"{folder}/link.csv")
    job("a CSV file that is a link out of the volume", train("link"), ROWS, REFUSED, r"data/link\.csv")
    row = '{"a": 1, "kind": 0, "b": 2, "c": 3}\n'
    put(f"{folder}/deep.jsonl", row + '{"a": ' + "[" * 1000000 + "]" * 1000000 + "}\n")
    job("a JSON row of a million levels", train("deep", "jsonl", format="JSONLines", columns=["a", "b", "c"]), ROWS, BAD, r"deep\.jsonl: row 2 ")
    put(f"{folder}/lists.jsonl", row + '{"a": [' + "[]," * (20 << 20) + "[]]}\n")
    job("a JSON row of 20 million lists", train("lists", "jsonl", format="JSONLines", columns=["a", "b", "c"]), ROWS, BAD, r"lists\.jsonl: row 2 .*MiB of memory")
    hole(f"{folder}/line.jsonl", 1 << 30, row.encode())
    job("a JSON row of 1 GiB", train("line", "jsonl", format="JSONLines", columns=["a", "b", "c"]), ROWS, BAD, r"line\.jsonl: row 2 .*at most 67108864")
    put(f"{folder}/rows.parquet", parquet(1 << 60, page_head(8, 8, 1) + bytes(8)))
    job("Parquet: rows", train("rows", "parquet", format="Parquet", columns=["a", "b", "c"]), ROWS, REFUSED, r"rows\.parquet.*(damaged|column)")
    hole(f"{folder}/hole.parquet", 1 << 40, b"PAR1", struct.pack("<I", 0x7fffffff) + b"PAR1")
    job("Parquet: a terabyte of nothing", train("hole", "parquet", format="Parquet", columns=["a", "b", "c"]), ROWS, REFUSED, r"hole\.parquet.*footer")


def networks(folder):
    put(f"{folder}/rows.onnx", model([node("MatMul", ["x", "w"], ["y"])], [value("x", ("n", 3))], [value("y", ("n", 2))], [tensor("w", [3, 2], [1, 0, 0, 1, 1, 1])]))
    put(f"{folder}/pixels.onnx", model([node("Conv", ["x", "w"], ["y"])], [value("x", ("n", 3, 12, 12))], [value("y", ("n", 3, 12, 12))],
                                       [tensor("w", [3, 3, 1, 1], [1, 0, 0, 0, 1, 0, 0, 0, 1])]))


if __name__ == "__main__":
    for make in networks, tars, pictures, arrays, small_formats, tables:
        make(sys.argv[1])
