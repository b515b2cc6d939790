"""A scorer that tries what it must not: reading its worker's environment and memory through /proc, writing
outside its folders; it also checks that a store's key is where it is mounted."""
import json
import os
import sys


def attempt(path, mode="rb"):
    try:
        with open(path, mode) as file:
            return "read" if mode == "rb" and file.read(1) else "opened"
    except OSError as error:
        return error.strerror


for line in sys.stdin:
    request = json.loads(line)
    if "init" in request:
        answer = {"ready": True}
    else:
        parent = f"/proc/{os.getppid()}"
        seen = {name: attempt(f"{parent}/{name}") for name in ("environ", "maps", "cmdline")}
        seen["root"] = attempt("/spy", "wb") if os.getuid() else "not tried"
        seen["key"] = attempt("/windlass/stores/films/azurestorageaccountkey")
        seen["user"] = os.getuid()
        seen["variables"] = dict(os.environ)
        with open(f"{parent}/cmdline") as file:
            seen["arguments"] = file.read()
        answer = {"id": request["id"], "results": [seen for _ in request["items"]]}
    print(json.dumps(answer), flush=True)
