#!/usr/bin/env python3
"""Plants faults in the program, one at a time, and sees that a test fails for each (make mutants).

  tests/mutants/run.py [--sample N] [--units] [--seed S] [--share K/N] [--jobs N] [NAME...]
  tests/mutants/run.py --check    only: are the lines of all faults there, and their tests?

A fault ("mutant") is a block of tests/mutants/*.txt:

    == results of another epoch are taken
    agent/score/coordinator/dispatcher.c
    - if (message->epoch != journal_of(dispatcher)->epoch) {
    + if (false) {
    test: unit/agent/score/coordinator/test_dispatcher

Lines with - must be in the file once, one after the other, whatever their indentation; the lines with + replace them.
Several files, and several places of one file, may be changed. `test:` names unit programs (without build/tests/) and
scripts (e2e/score/test_table.sh) that run until one fails; what such a line has behind the name are its arguments.

A test that runs too long does so because of the fault only if it passes in a quarter of that time when it runs right
behind it without the fault. Otherwise the machine is busy: both again, with four times as long, and then the fault counts
as not caught. So what a load does is not taken for a catch.

--units leaves out the faults that only a script notices, whose building and running takes ten times as long.
--share 2/8 is the second eighth of the faults. The shares can run one after the other, with other work between them.
Every job has a copy of the tree and its objects in build/mutants/JOB; the tree itself is never changed. The tests must
pass there before anything is planted. A fault that no test notices, does not compile, or whose lines are gone is a
failure: "not ok". The last line says how many were caught."""
import argparse
import concurrent.futures
import fcntl
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS_MAX = 600  # of one test without a fault; with one it may take 60 s and four times that
PROGRAM = re.compile(r"\$\{BUILD:-build\}/(tests/[\w/]+)")  # of the tests, that a script starts
SECONDS_TO_END = 30  # of a script that cleans up
PATIENCE = 4  # times as long: what a busy machine may do to a test
printing = threading.Lock()


class Change:
    def __init__(self, path):
        self.path, self.old, self.new = path, [], []


class Mutant:
    def __init__(self, name, where):
        self.name, self.where, self.changes, self.tests = name, where, [], []


def stop(message):
    sys.exit(f"tests/mutants/run.py: {message}")


def read_mutants():
    """All blocks, in the order of the files' names."""
    mutants = []
    folder = os.path.join(TOP, "tests/mutants")
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".txt"):
            continue
        path = None
        for number, line in enumerate(open(os.path.join(folder, file), encoding="utf-8"), 1):
            line, where = line.rstrip("\n"), f"tests/mutants/{file}:{number}"
            if not line or line.startswith("#"):
                continue
            if line.startswith("== "):
                mutants.append(Mutant(line[3:], where))
                path = None
            elif not mutants:
                stop(f"{where}: expected == NAME")
            elif line.startswith("test: "):
                mutants[-1].tests.append(line[6:].split())
            elif line[0] in "-+":
                changes = mutants[-1].changes
                if path is None:
                    stop(f"{where}: expected a file before this line")
                if not changes or changes[-1].path != path or (line[0] == "-" and changes[-1].new):
                    changes.append(Change(path))
                (changes[-1].old if line[0] == "-" else changes[-1].new).append(line[1:].strip())
            else:
                path = line.strip()
                mutants[-1].changes.append(Change(path))
    for mutant in mutants:
        if not mutant.tests or not mutant.changes or not all(each.old for each in mutant.changes):
            stop(f"{mutant.where}: expected a file, lines with -, and test:")
    names = [each.name for each in mutants]
    for name in set(names):
        if names.count(name) > 1:
            stop(f"two faults have the name '{name}'")
    return mutants


def planted(mutant, top):
    """The texts of its files in the tree `top`, {path: (without it, with it)}, or why it cannot be planted."""
    texts = {}
    for change in mutant.changes:
        path = os.path.join(top, change.path)
        if path not in texts and not os.path.exists(path):
            return {}, f"{change.path} does not exist"
        before, after = texts.get(path) or [open(path, encoding="utf-8").read()] * 2
        lines = after.split("\n")
        bare = [each.strip() for each in lines]
        at = [i for i in range(len(bare)) if bare[i:i + len(change.old)] == change.old]
        if len(at) != 1:
            return {}, f"{change.path} has these lines {len(at)} times: {' '.join(change.old)}"
        lines[at[0]:at[0] + len(change.old)] = change.new
        texts[path] = before, "\n".join(lines)
    return texts, None


def check(mutants):
    """The number of faults that cannot be planted, or have no test."""
    bad = 0
    for mutant in mutants:
        why = planted(mutant, TOP)[1]
        for words in mutant.tests:
            path = os.path.join(TOP, "tests", words[0])
            if not os.path.exists(path) and not os.path.exists(path + ".c"):
                why = f"there is no test {words[0]}"
        if why:
            print(f"not ok {mutant.where}: {mutant.name}: {why}")
            bad += 1
    return bad


def end_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


class Tree:
    """A copy of the tree in which faults are planted."""

    def __init__(self, number):
        self.path = os.path.join(TOP, "build/mutants", str(number))
        shutil.rmtree(self.path, ignore_errors=True)
        os.makedirs(self.path + "/build")
        # With their times, so that make builds only what a fault changes.
        subprocess.run("git ls-files -z -co --exclude-standard | xargs -0 ls -d 2>/dev/null | tr '\\n' '\\0' |"
                       f" tar --null -T - -cf - | tar -C '{self.path}' -xf -", cwd=TOP, shell=True, check=True)
        for part in ("obj", "windlass", "windlass-agent", "windlass-trainer", "windlass-shim"):
            if os.path.exists(f"{TOP}/build/{part}"):
                subprocess.run(["cp", "-a", f"{TOP}/build/{part}", self.path + "/build"], check=True)

    def make(self, tests, mutant=None):
        """Builds the tests' programs. The compiler's warnings about a planted fault are not errors."""
        changed = {each.path for each in mutant.changes} if mutant else ()
        targets = {"build/tests/" + words[0] for words in tests if not words[0].endswith(".sh")}
        scripts = [words[0] for words in tests if words[0].endswith(".sh")]
        if scripts:
            targets |= {"all"}
        for script in scripts:
            for path in (f"tests/{script}", f"tests/{os.path.dirname(script)}/lib.sh"):
                if os.path.exists(f"{self.path}/{path}"):
                    with open(f"{self.path}/{path}", encoding="utf-8") as file:
                        targets |= {"build/" + name for name in PROGRAM.findall(file.read())}
        flags = ["CFLAGS_" + os.path.splitext(path)[0].replace("/", "_") + "=-w" for path in changed]
        return subprocess.run(["make", "-s", "-j1", *flags, *sorted(targets)], cwd=self.path, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test(self, words, seconds_max=SECONDS_MAX):
        """None: the test passes; else its first complaint. Raises TimeoutError if it runs longer than seconds_max."""
        program = "tests/" + words[0] if words[0].endswith(".sh") else "build/tests/" + words[0]
        command = (["bash"] if program.endswith(".sh") else []) + [program] + words[1:]
        if not program.endswith(".sh"):
            command[0] = os.path.join(self.path, program)
        process = subprocess.Popen(command, cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, "SAMPLE_SEED": "all"})  # no case is left out (tests/e2e/lib.sh)
        late = threading.Event()

        def end_late():
            late.set()
            end_group(process, signal.SIGKILL)

        timers = [threading.Timer(seconds_max, end_late)]
        timers[0].start()
        output = b""
        for line in process.stdout:
            output += line
            if line.startswith(b"not ok") and len(timers) == 1: # the first complaint is enough; a script cleans up
                timers.append(threading.Timer(SECONDS_TO_END, end_group, (process, signal.SIGKILL)))
                timers[1].start()
                end_group(process, signal.SIGTERM)
        process.wait()
        for timer in timers:
            timer.cancel()
        if late.is_set():
            raise TimeoutError(f"ran longer than {seconds_max:.0f} s")
        lines = output.decode(errors="replace").splitlines()
        refused = [each for each in lines if each.startswith("not ok")]
        if refused or process.returncode != 0:
            return refused[0][7:] if refused else f"exit code {process.returncode}"
        return None

    def plant(self, mutant):
        """The texts of the files before; an error's text if it cannot be planted: then nothing is changed."""
        texts, why = planted(mutant, self.path)
        for path, (_, after) in texts.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(after)
        return {path: before for path, (before, _) in texts.items()}, why

    def restore(self, texts):
        for path, text in texts.items():
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


def first_error(built):
    lines = built.stdout.splitlines()
    return next((each for each in lines if "error" in each), lines[-1] if lines else "make failed")


def seconds_without(tree, mutant, texts, words, seconds_max):
    """How long the test takes without the planted fault, or infinity: it does not pass within seconds_max."""
    tree.restore(texts)
    try:
        tree.make([words])
        start = time.time()
        try:
            complaint = tree.test(words, seconds_max)
        except TimeoutError as late:
            complaint = str(late)
        return float("inf") if complaint else time.time() - start
    finally:
        tree.plant(mutant)
        tree.make([words], mutant)


def notices(tree, mutant, texts, words, limit):
    """(does this test fail because of the planted fault, what was seen). limit: its seconds."""
    for seconds in limit, PATIENCE * limit:
        try:
            complaint = tree.test(words, seconds)
            return bool(complaint), complaint
        except TimeoutError as late:
            if seconds_without(tree, mutant, texts, words, seconds) < seconds / PATIENCE:
                return True, str(late)
    return False, "ran too long, and not much shorter without the fault: the machine is busy"


def try_one(tree, mutant, seconds):
    """(is it caught, what was seen). seconds: of each test without a fault."""
    texts, error = tree.plant(mutant)
    seen = "no test noticed it"
    try:
        if error:
            return False, error
        built = tree.make(mutant.tests, mutant)
        if built.returncode != 0:
            return False, "does not compile: " + first_error(built)
        for words in mutant.tests:
            is_noticed, complaint = notices(tree, mutant, texts, words, 60 + 4 * seconds[words[0]])
            if is_noticed:
                return True, f"{words[0]}: {complaint}"
            if complaint:
                seen = f"{words[0]}: {complaint}"
        return False, seen
    finally:
        tree.restore(texts)


def share_of(mutants, share):
    """share: "K/N", the K-th of N parts whose sizes differ by one at most."""
    try:
        part, parts = (int(each) for each in share.split("/"))
        assert 1 <= part <= parts
    except (ValueError, AssertionError):
        stop(f"--share {share}: expected K/N, as 2/8")
    return mutants[len(mutants) * (part - 1) // parts:len(mutants) * part // parts]


def main():
    parser = argparse.ArgumentParser(prog="tests/mutants/run.py")
    parser.add_argument("--sample", type=int, default=0, help="this many, chosen by the seed")
    parser.add_argument("--units", action="store_true", help="only those that unit programs notice")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SOAK_SEED", time.time())))
    parser.add_argument("--share", default="1/1", help="K/N: the K-th of N parts of the faults")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--check", action="store_true", help="only see whether all faults can be planted")
    parser.add_argument("names", nargs="*", help="faults whose name or file contains this")
    args = parser.parse_args()
    every = read_mutants()
    if args.check:
        bad = check(every)
        if not bad:
            print(f"ok {len(every)} faults")
        sys.exit(bad > 0)
    mutants = [each for each in every
               if not args.names or any(name in each.name or name in each.where for name in args.names)]
    if args.units:
        mutants = [each for each in mutants if not any(words[0].endswith(".sh") for words in each.tests)]
    mutants = share_of(mutants, args.share)
    if args.sample:
        mutants = random.Random(args.seed).sample(mutants, min(args.sample, len(mutants)))
        print(f"# {len(mutants)} of {len(every)} faults, seed {args.seed}")
    if not mutants:
        stop("no such fault")
    os.makedirs(f"{TOP}/build/mutants", exist_ok=True)
    lock = open(f"{TOP}/build/mutants/lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        stop("another run is planting faults in build/mutants")
    waiting, caught = queue.Queue(), []
    for each in mutants:
        waiting.put(each)
    checked, healthy, seconds = threading.Lock(), {}, {}

    def is_healthy(tree, words):
        with checked:
            if words[0] not in healthy:
                built, start = tree.make([words]), time.time()
                try:
                    healthy[words[0]] = first_error(built) if built.returncode != 0 else tree.test(words)
                except TimeoutError as late:
                    healthy[words[0]] = str(late)
                seconds[words[0]] = time.time() - start
            return healthy[words[0]]

    def work(number):
        tree = Tree(number)
        while True:
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            sick = next((f"{words[0]} fails without any fault: {is_healthy(tree, words)}" for words in mutant.tests
                         if is_healthy(tree, words)), None)
            start = time.time()
            is_caught, seen = (False, sick) if sick else try_one(tree, mutant, seconds)
            with printing:
                if is_caught:
                    caught.append(mutant)
                print(f"{'ok' if is_caught else 'not ok'} {mutant.name} ({seen}; {time.time() - start:.0f} s)"
                      + ("" if is_caught else f" [{mutant.where}]"), flush=True)

    jobs = max(1, min(args.jobs, len(mutants)))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(work, number) for number in range(jobs)]:
            done.result()
    print(f"# {len(caught)} of {len(mutants)} faults were caught")
    return 0 if len(caught) == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
