"""Counts the bytes of files, or the columns of rows; `threshold` of the arguments marks what is large."""
import os
import windlass

threshold = 0


def init(arguments):
    global threshold
    threshold = arguments.get("threshold", 0)


def run(mini_batch):
    sizes = [os.path.getsize(item) if isinstance(item, str) else len(item) for item in mini_batch]
    return [{"size": size, "large": size > threshold} for size in sizes]


windlass.serve(run, init)
