"""A scorer that looks for what it should not know: its worker's environment and memory, by /proc."""
import json
import os
import sys


def attempt(path):
    try:
        with open(path, "rb") as file:
            file.read(1)
        return "read"
    except OSError as error:
        return error.strerror


for line in sys.stdin:
    request = json.loads(line)
    if "init" in request:
        answer = {"ready": True}
    else:
        parent = f"/proc/{os.getppid()}"
        seen = {name: attempt(f"{parent}/{name}") for name in ("environ", "maps", "cmdline")}
        seen["variables"] = dict(os.environ)
        with open(f"{parent}/cmdline") as file:
            seen["arguments"] = file.read()
        answer = {"id": request["id"], "results": [seen for _ in request["items"]]}
    print(json.dumps(answer), flush=True)
