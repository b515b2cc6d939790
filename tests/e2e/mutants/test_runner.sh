#!/usr/bin/env bash
# The runner of planted faults: shares leave out nothing and take nothing twice; a test that only ran too long on a busy
# machine has not caught a fault, one that hangs because of the fault has; a script ends with its first complaint.
set -u
cd "$(dirname "$0")/../../.." || exit 3
exec python3 - <<'P'
import importlib.util
import os
import sys
import tempfile

spec = importlib.util.spec_from_file_location("runner", "tests/mutants/run.py")
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
bad = 0


def check(name, good):
    global bad
    print("ok" if good else "not ok", name)
    bad += not good


class Clock:
    now = 0

    @classmethod
    def time(cls):
        return cls.now


class Tree:
    """Its test takes so many seconds with the fault and without it."""

    def __init__(self, with_it, without_it):
        self.is_planted, self.seconds = True, {True: with_it, False: without_it}

    def restore(self, texts):
        self.is_planted = False

    def plant(self, mutant):
        self.is_planted = True

    def make(self, *ignored):
        pass

    def test(self, words, seconds_max):
        Clock.now += min(self.seconds[self.is_planted], seconds_max)
        if self.seconds[self.is_planted] > seconds_max:
            raise TimeoutError("ran longer")


runner.time = Clock
never = float("inf")
faults = list(range(425))
for parts in 1, 8, 500:
    check(f"{parts} shares are all the faults",
          sum((runner.share_of(faults, f"{part}/{parts}") for part in range(1, parts + 1)), []) == faults)
for name, with_it, without_it, is_caught in (
        ("a fault that hangs is caught", never, 1, True),
        ("one that hangs is caught on a busy machine, too", never, 50, True),
        ("a test that was late is not a catch", 65, 40, False),
        ("a test that is late with the fault and without it is not a catch", never, never, False),
        ("a test that passes is not a catch", 5, 5, False)):
    tree = Tree(with_it, without_it)
    check(name, runner.notices(tree, None, {}, ["test"], 64)[0] == is_caught)
    check(name + ": the fault is planted afterwards", tree.is_planted)
with tempfile.TemporaryDirectory() as folder:
    os.mkdir(folder + "/tests")
    with open(folder + "/tests/two.sh", "w") as script:
        script.write("trap 'touch removed' EXIT; echo ok one; echo not ok two; sleep 300 & wait; echo not ok three")
    with open(folder + "/tests/none.sh", "w") as script:
        script.write("echo ok one; exec sleep 300")
    tree = object.__new__(runner.Tree)
    tree.path = folder
    check("a script ends with its first complaint", tree.test(["two.sh"], 200) == "two")
    check("and cleans up", os.path.exists(folder + "/removed"))
    try:
        late = tree.test(["none.sh"], 0.5)
    except TimeoutError as error:
        late = str(error)
    check("one that complains of nothing has its time", late == "ran longer than 0 s")
sys.exit(bad > 0)
P
