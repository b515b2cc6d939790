#!/usr/bin/env python3
"""Records a soak in docs/soak.md: each proof that passed replaces its row, or gets one.

usage: soak_record.py PAGE --log LOG [--fuzz RESULTS] --draws FILE --seed N --rounds N --date TIME
       --commit COMMIT --command TEXT [--tree DIR]
       soak_record.py PAGE --check

LOG is what tests/run.sh printed, RESULTS the lines of tests/fuzz.sh. FILE has one proof a line, as
LOG names it: those that draw by the seed get a row of their own; a proof that has a row keeps it, and
the row of one that DIR (this tree) no longer has goes. A proof that failed keeps the row of its last
passing run, and is named on stderr. Cells of "Full count" are written by people and stay. --check
says whether there is one row a proof, in order, of one run of a proof or fuzzer that there is, and a row of each
fuzzer but those behind NO_RUN. The page is replaced as a whole, or not at all (exit code 1).
"""
import argparse
import glob
import os
import re
import sys
import textwrap

PROOFS = "| Proof | Full count | Seed | Result | Date | Commit | Command |"
NO_RUN = "Without a long run so far:"
FUZZERS = "| Fuzzer | Runs | Seconds | Date | Commit | Command |"


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ").strip()


def row(cells):
    return "| " + " | ".join(cells) + " |"


def cells_of(line):
    return [c.strip() for c in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def find_table(lines, header):
    """The places of a table's first row and of the line behind its last one."""
    if lines.count(header) != 1:
        raise ValueError(f'the page needs one table with the header "{header}"')
    first = lines.index(header) + 2
    end = first
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return first, end


def key(line):
    return cells_of(line)[0].strip("`")


def is_proof(tree, name):
    return any(os.path.isfile(f"{tree}/{name}{ending}") for ending in ("", ".c", ".cpp"))


def is_fuzzer(tree, name):
    return any(os.path.isfile(f"{tree}/tests/fuzz/{folder}fuzz_{name}.c") for folder in ("", "data/"))


def put(lines, header, made, is_there):
    """made: name -> function(old cells or None) -> new cells. Other rows stay while is_there(name); all are sorted."""
    first, end = find_table(lines, header)
    rows = {cells_of(line)[0]: line for line in lines[first:end] if is_there(key(line))}
    for name, make in made.items():
        old = cells_of(rows[name]) if name in rows else None
        rows[name] = row([name, *make(old)])
    lines[first:end] = [rows[name] for name in sorted(rows, key=lambda n: n.strip("`"))]


def list_without_run(lines):
    """Takes the fuzzers that have a row out of the paragraph NO_RUN."""
    at = next((i for i, line in enumerate(lines) if line.startswith(NO_RUN)), None)
    if at is None:
        return
    end = lines.index("", at)
    first, last = find_table(lines, FUZZERS)
    rows = {key(line) for line in lines[first:last]}
    left = [f"`{name}`" for name in re.findall(r"`(\w+)`", " ".join(lines[at:end])) if name not in rows]
    lines[at:end] = textwrap.wrap(f"{NO_RUN} {', '.join(left)}.", 100) if left else []
    if not left:
        del lines[at]


def check(lines, tree):
    """What is wrong with the page: messages."""
    for header, is_there in ((PROOFS, is_proof), (FUZZERS, is_fuzzer)):
        first, end = find_table(lines, header)
        names = [key(line) for line in lines[first:end]]
        for name, line in zip(names, lines[first:end]):
            run = dict(zip(cells_of(header), cells_of(line)))
            if names.count(name) > 1:
                yield f"{name} has {names.count(name)} rows, one proof has one"
            if not is_there(tree, name):
                yield f"{name}: there is no such proof"
            if not re.fullmatch(r"\d+|–", run.get("Seed", "–")) or not re.fullmatch(r"\(?[0-9a-f]{7,8}\)?", run["Commit"]):
                yield f"{name}: a row is one run, with one seed (or –) and one commit"
        if names != sorted(names):
            yield f'the rows of "{header[2:].split(" ")[0]}" are not sorted'
    named = set(names) | set(re.findall(r"`(\w+)`", " ".join(lines).partition(NO_RUN)[2].partition("|")[0]))
    for source in sorted(glob.glob(f"{tree}/tests/fuzz/fuzz_*.c") + glob.glob(f"{tree}/tests/fuzz/data/fuzz_*.c")):
        name = os.path.basename(source)[len("fuzz_") : -len(".c")]
        if name not in named:
            yield f'fuzzer {name} has no row: run it, or name it behind "{NO_RUN}"'


def read_log(path):
    """name -> (passed, failed, seconds) of each program."""
    told = {}
    pattern = re.compile(r"^(\S+) +(\d+) ok +(\d+) failed +(\d+) s(?: +[\d.]+ s of processor)?$")
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            found = pattern.match(line.rstrip())
            if found:
                told[found[1]] = tuple(int(n) for n in found.groups()[1:])
    return told


def read_fuzz(path):
    """name -> (passed, seconds, runs)"""
    told = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            good = re.match(r"^ok fuzz (\S+) (\d+)s \((?:Done (\d+) runs)?\)", line)
            bad = re.match(r"^not ok fuzz (\S+)", line)
            if good:
                told[good[1]] = (True, int(good[2]), int(good[3] or 0))
            elif bad:
                told[bad[1]] = (False, 0, 0)
    return told


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("page")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tree", default=".")
    for name in ("log", "draws", "seed", "rounds", "date", "commit", "command"):
        parser.add_argument("--" + name, required="--check" not in sys.argv)
    parser.add_argument("--fuzz")
    told = parser.parse_args()
    with open(told.page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    if told.check:
        found = list(check(lines, told.tree))
        print("\n".join(f"not ok {told.page}: {line}" for line in found) if found else f"ok {told.page}")
        sys.exit(bool(found))
    with open(told.draws, encoding="utf-8") as file:
        draws = set(file.read().split())
    command = f"`{cell(told.command)}`"
    first, end = find_table(lines, PROOFS)
    known = {key(line) for line in lines[first:end]}
    proofs, fuzzers, failed = {}, {}, []
    for name, (passed, bad, seconds) in read_log(told.log).items():
        if name.endswith("fuzz.sh") or name not in draws | known:
            continue
        if bad or not passed:
            failed.append(name)
            continue
        result = f"{passed:,} passed, 0 failed, {seconds:,} s"
        proofs[f"`{name}`"] = lambda old, result=result: [
            old[1] if old else f"SOAK_ROUNDS={told.rounds}", told.seed, result, told.date, told.commit, command]
    for name, (good, seconds, runs) in (read_fuzz(told.fuzz) if told.fuzz else {}).items():
        if not good:
            failed.append("fuzz " + name)
            continue
        fuzzers[name] = lambda old, made=(f"{runs:,}", f"{seconds:,}"): [
            *made, told.date, told.commit, command]
    put(lines, PROOFS, proofs, lambda name: is_proof(told.tree, name))
    put(lines, FUZZERS, fuzzers, lambda name: is_fuzzer(told.tree, name))
    list_without_run(lines)
    with open(told.page + ".new", "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    os.replace(told.page + ".new", told.page)
    print(f"{len(proofs)} proofs and {len(fuzzers)} fuzzers recorded in {told.page}")
    for name in failed:
        print(f"not recorded, failed: {name}", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"soak_record.py: {error}")
