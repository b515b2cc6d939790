#!/usr/bin/env python3
"""Records a soak in docs/soak.md: each proof that passed replaces its row, or gets one.

usage: soak_record.py PAGE --log LOG [--fuzz RESULTS] --draws FILE --seed N --rounds N --date TIME
       --commit COMMIT --command TEXT

LOG is what tests/run.sh printed, RESULTS the lines of tests/fuzz.sh. FILE has one proof a line, as
LOG names it: those that draw by the seed get a row of their own; a proof that has a row keeps it. A
proof that failed keeps the row of its last passing run, and is named on stderr. Cells of "Full count"
are written by people and stay. The page is replaced as a whole, or not at all (exit code 1).
"""
import argparse
import os
import re
import sys

PROOFS = "| Proof | Full count | Seed | Result | Date | Commit | Command |"
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


def put(lines, header, made):
    """made: name -> function(old cells or None) -> new cells. Other rows stay; all are sorted."""
    first, end = find_table(lines, header)
    rows = {cells_of(line)[0]: line for line in lines[first:end]}
    for name, make in made.items():
        old = cells_of(rows[name]) if name in rows else None
        rows[name] = row([name, *make(old)])
    lines[first:end] = [rows[name] for name in sorted(rows, key=lambda n: n.strip("`"))]


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
    for name in ("log", "draws", "seed", "rounds", "date", "commit", "command"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--fuzz")
    told = parser.parse_args()
    with open(told.page, encoding="utf-8") as file:
        lines = file.read().split("\n")
    with open(told.draws, encoding="utf-8") as file:
        draws = set(file.read().split())
    command = f"`{cell(told.command)}`"
    first, end = find_table(lines, PROOFS)
    known = {cells_of(line)[0].strip("`") for line in lines[first:end]}
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
    put(lines, PROOFS, proofs)
    put(lines, FUZZERS, fuzzers)
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
