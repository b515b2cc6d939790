"""A program that answers in many pieces, for test_streams.sh: streams.py WHAT, and what its rows are: streams.py wanted."""
import os, sys

what = sys.argv[1]


def vectors(numbers):
    """Float32 that no short decimal number is; some are not finite."""
    import numpy
    numbers = numpy.asarray(numbers, dtype=numpy.int64)
    bits = (numbers[:, None] * 2654435761 + numpy.arange(96) * 40503) & 0xFFFFFFFF
    return bits.astype(numpy.uint32).view(numpy.float32)


if what == "wanted":  # FILE ROWS: the file's array is that of these rows, bit for bit, but what is not finite is NaN
    import numpy
    seen, wanted = numpy.load(sys.argv[2]), vectors(range(int(sys.argv[3])))
    wanted[~numpy.isfinite(wanted)] = numpy.nan
    seen, wanted = (array.view(numpy.uint32) for array in (seen, wanted))
    nan = numpy.isnan(wanted.view(numpy.float32))
    print(seen.dtype, seen.shape, bool(nan.any()), bool((numpy.isnan(seen.view(numpy.float32)) == nan).all()),
          bool((seen[~nan] == wanted[~nan]).all()))
    sys.exit()

import windlass

windlass.BODY = 10000  # so that small tables have many pieces


def arrays(rows):
    return vectors([int(row["n"]) for row in rows])


def members(rows):
    import numpy
    numbers = numpy.array([int(row["n"]) for row in rows])
    return {"double": numbers * 2, "third": (numbers / 3).astype("f4"), "odd": numbers % 2 == 1}


def large(rows):
    for row in rows:
        yield row["n"] * 4000000


def some(rows):
    return [ValueError("seven") if int(row["n"]) % 7 == 0 else {"n": int(row["n"])} for row in rows]


def dies(rows):
    """The first of all processes ends within an array."""
    try:
        os.close(os.open(os.path.join(sys.argv[2], "died"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return arrays(rows)
    os.write(windlass_out(), b'{"id":1,"npy":100000}\n' + b"x" * 5000)
    os.kill(os.getpid(), 9)


def windlass_out():
    """The descriptor that windlass keeps the pipe's end under."""
    pipes = [int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 2]
    return next(fd for fd in pipes if os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:"))


windlass.serve({"arrays": arrays, "members": members, "large": large, "some": some, "dies": dies}[what])
