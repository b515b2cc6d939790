"""Pages for people: docs/, the README.md files, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md.

At most 200 lines a page below docs/ (docs/api.md and docs/cli.md excepted), and 120 for a version in CHANGELOG.md. A
relative link leads to a file of the tree, and to a heading that it has. A path in code (`launch/gang/gang.h`), and one
in a comment of a source that begins at the top of the tree, ends a path of the tree; NAME.c and x.c stand for others. A row has as many cells as its table has
columns; a cell has at most 220 characters: longer texts are rows or paragraphs. Commits in a column "commit" belong to
this history. A page of a subsystem begins with a picture, a code block below its
title; lists (LISTS) need none. Lines of at most 100 columns, and no old wording: english.py's rules, without
exceptions for pages below docs/ (docs/api.md and docs/cli.md are made of texts that english.py counts elsewhere)."""
import os
import re
import subprocess
import sys

LINES_MAX = 200
VERSION_LINES_MAX = 120
HISTORY_MIN = 1500
GENERATED = ("docs/api.md", "docs/cli.md")
CELL_MAX = 220
ROOT_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LISTS = GENERATED + ("docs/tutorials/", "docs/benchmarks.md", "docs/benchmarks/", "docs/decisions/", "docs/glossary.md", "docs/soak.md", "docs/style.md", "docs/testing/")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")
SUFFIX = r"\.(?:c|h|cu|cuh|inc|sh|py|md|yaml|mk|cjs)"
PATH = re.compile(r"`(?:\.{1,2}/)*((?:[\w.-]+/)+[\w.-]+" + SUFFIX + r"|\w+\.[ch])`")
FULL_PATH = re.compile(r"(?<![\w./*$}{<>-])((?:agent|operator|lib|tests|docs|crds|charts|images|examples)/[\w./-]+" + SUFFIX + r")\b(?![/*-])")
COMMENTS = {
    (".c", ".h", ".cu", ".cuh", ".inc"): re.compile(r"/\*.*?\*/|//[^\n]*", re.S),
    (".py",): re.compile(r'"""(?:\\.|[^\\])*?"""|(?<!\S)#[^\n]*'),
    (".sh", ".yaml", ".mk"): re.compile(r"(?<!\S)#[^\n]*"),
}


def slug(heading):
    """A heading's anchor, as GitHub makes it."""
    text = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return text.replace(" ", "-")


def prose(text):
    """(number, line) outside code blocks."""
    fenced = indented = False
    before = ""
    for number, line in enumerate(text.split("\n"), 1):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        if is_fence:
            fenced = not fenced
        if line.strip():
            indented = line.startswith("    ") and (indented or not before.strip())
        before = line
        if not fenced and not indented and not is_fence:
            yield number, line


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def listed(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], capture_output=True, text=True, check=True)
    return [path for path in out.stdout.split("\n") if path and os.path.exists(path)]


def endings(paths):
    """Each path, and what is left of it without its first folders."""
    return {path[at:] for path in paths for at in [0] + [i + 1 for i, letter in enumerate(path) if letter == "/"]}


def stands_for_others(path):
    """Has a part such as NAME, x or noun."""
    parts = [part for part in path.split("/") if part not in ROOT_PAGES]
    return any(len(part.split(".")[0]) == 1 or part.startswith("noun.") or re.search(r"(?:^|_)[A-Z]+(?:[._]|$)", part) for part in parts)


def check_paths(path, text, known):
    for number, line in prose(text):
        for target in PATH.findall(line):
            target = re.sub(r"^(?:\.{1,2}/)+", "", target)
            if target not in known and not stands_for_others(target):
                yield f"{path}:{number}: {target} is not there"


def check_comments(path, text, known):
    comment = next((found for suffixes, found in COMMENTS.items() if path.endswith(suffixes)), None)
    for found in comment.finditer(text) if comment else []:
        for target in FULL_PATH.finditer(found.group()):
            if target.group(1) not in known and not stands_for_others(target.group(1)):
                number = text.count("\n", 0, found.start() + target.start()) + 1
                yield f"{path}:{number}: {target.group(1)} is not there"


def anchors(path):
    return {slug(line.lstrip("#")) for _, line in prose(read(path)) if line.startswith("#")}


def check_links(path, text):
    for number, line in prose(text):
        for target in LINK.findall(CODE.sub("", line) if "](" not in line else line):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            full = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if not os.path.exists(full):
                yield f"{path}:{number}: link to {target}, which is not there"
            elif anchor and full.endswith(".md") and anchor not in anchors(full):
                yield f"{path}:{number}: {full} has no heading #{anchor}"


def check_cells(path, text):
    columns = 0  # of the table that the line is in
    for number, line in prose(text):
        cells = re.split(r"(?<!\\)\|", line.strip())[1:-1] if line.startswith("|") else []
        columns = (columns or len(cells)) if cells else 0
        if len(cells) != columns:
            yield f"{path}:{number}: {len(cells)} cells, the table has {columns} columns"
        for cell in cells:
            if len(cell.strip()) > CELL_MAX:
                yield f"{path}:{number}: a cell of {len(cell.strip())} characters, at most {CELL_MAX}"


def history():
    """The commits up to HEAD; None: a copy of the tree without the whole history."""
    commits = subprocess.run(["git", "rev-list", "HEAD"], capture_output=True, text=True, check=False).stdout.split()
    return commits if len(commits) >= HISTORY_MIN else None


def check_commits(path, text, commits):
    column = -1  # of the table that the line is in
    for number, line in prose(text):
        cells = [cell.strip() for cell in line.strip().split("|")[1:-1]] if line.startswith("|") else []
        names = [cell.lower() for cell in cells]
        column = -1 if not cells else names.index("commit") if "commit" in names else column
        found = re.findall(r"\b[0-9a-f]{7,40}\b", cells[column]) if 0 <= column < len(cells) else []
        for commit in found:
            if not any(known.startswith(commit) for known in commits):
                yield f"{path}:{number}: commit {commit} is not in this history"


def check_versions(path, text):
    for part in text.split("\n## ")[1:]:
        if part.count("\n") > VERSION_LINES_MAX:
            title = part.split("\n", 1)[0]
            yield f"{path}: {title} has {part.count(chr(10))} lines, a version has at most {VERSION_LINES_MAX}"


def begins_with_picture(text):
    lines = text.split("\n")
    return lines[0].startswith("# ") and lines[1] == "" and lines[2].startswith(("    ", "```"))


def english(paths):
    run = subprocess.run([sys.executable, "tests/lint/english.py", *paths], capture_output=True, text=True, check=False)
    return [line for line in run.stdout.split("\n") if line and line.split(":")[0] in paths]


def main():
    tree = listed()
    pages = [p for p in tree if p.endswith(".md") and not p.startswith("tests/data/")]
    known = endings(tree)
    bad = []
    for path in tree:
        if path.endswith(tuple(suffix for suffixes in COMMENTS for suffix in suffixes)) and not path.startswith("tests/data/"):
            bad.extend(check_comments(path, read(path), known))
    commits = history()
    for path in pages:
        text = read(path)
        lines = text.count("\n")
        if path.startswith("docs/") and path not in GENERATED and lines > LINES_MAX:
            bad.append(f"{path} has {lines} lines, a page has at most {LINES_MAX}")
        if path == "CHANGELOG.md":
            bad.extend(check_versions(path, text))
        bad.extend(check_links(path, text))
        bad.extend(check_paths(path, text, known))
        if path not in GENERATED:
            bad.extend(check_cells(path, text))
            bad.extend(check_commits(path, text, commits) if commits else [])
        if path.startswith("docs/") and not path.startswith(LISTS) and not begins_with_picture(text):
            bad.append(f"{path} does not begin with a picture, or is a list (LISTS)")
    strict = [p for p in pages if (p.startswith("docs/") or "/" not in p) and p not in GENERATED]
    bad.extend(english(strict))
    for line in bad:
        print(f"not ok docs: {line}")
    if not bad:
        print("ok docs")
    return bool(bad)


sys.exit(main())
