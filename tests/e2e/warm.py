"""Runs a script again and again in a process that has imported its modules already, for lib.sh's warm_python:

    warm.py SCRIPT MODULE...   each line of stdin is a call: the script's arguments, with \\x1f between them. What the script
                               prints goes to stdout, and then a line of \\x1e and its exit code. Each call is a fork."""
import importlib
import os
import runpy
import sys
import traceback

script, modules = sys.argv[1], sys.argv[2:]
sys.path[0] = os.path.dirname(script)
for name in modules:
    importlib.import_module(name)


def call(arguments):
    sys.argv = [script] + arguments
    sys.stdin = open(os.devnull)
    try:
        runpy.run_path(script, run_name="__main__")
        return 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code)
        return 1 if isinstance(end.code, str) else int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1


while line := sys.stdin.buffer.readline():
    child = os.fork()
    if child == 0:
        code = call(line.decode().rstrip("\n").split("\x1f"))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"\x1e{code if code >= 0 else 128 - code}", flush=True)
