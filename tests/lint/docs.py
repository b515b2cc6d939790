"""Pages for people: docs/, the README.md files, CHANGELOG.md, CONTRIBUTING.md, SECURITY.md.

At most 200 lines a page below docs/ (docs/api.md and docs/cli.md excepted), and 120 for a version in CHANGELOG.md. A
relative link leads to a file of the tree, and to a heading that it has. A row has as many cells as its table has
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
LISTS = GENERATED + ("docs/tutorials/", "docs/benchmarks.md", "docs/benchmarks/", "docs/decisions/", "docs/glossary.md", "docs/soak.md", "docs/style.md", "docs/testing/")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`]*`")


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
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True)
    pages = [p for p in listed.stdout.split("\n") if p and os.path.exists(p) and not p.startswith("tests/data/")]
    bad = []
    commits = history()
    for path in pages:
        text = read(path)
        lines = text.count("\n")
        if path.startswith("docs/") and path not in GENERATED and lines > LINES_MAX:
            bad.append(f"{path} has {lines} lines, a page has at most {LINES_MAX}")
        if path == "CHANGELOG.md":
            bad.extend(check_versions(path, text))
        bad.extend(check_links(path, text))
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
