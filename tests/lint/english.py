"""English: patterns that read translated are refused in comments, strings, messages and docs; a line of a docs page
has at most 100 columns outside tables and code blocks.

tests/lint/english.txt holds how many each top folder still has; the numbers only fall (make lint-update).
english.sh FOLDER... lists the places in these folders or files."""
import re
import sys

import source

# pattern, what to write instead
PATTERNS = [
    (r"(?<!there )(?<!there's )\b(?:is|are|was|were|be) no\b(?! (?:longer|more|less|fewer|later|larger|smaller|wider|better|worse|older|newer|faster|slower|other)\b)", '"is not a X", "invalid X" or "has no X"'),
    (r"\bnobody(?:'s)?\b(?!:)", '"no one", "no X", or the passive'),
    (r"\b(?:is|are|was|were|be|been|being|gets?) told\b", '"gets", "receives", "is notified"'),
    (r"\b(?:tells?|told|telling) of\b", '"reports", "describes"'),
    (r"\bwhoever\b", '"the caller", "a process that"'),
    (r"\b(?:lies|lie|lay)\b(?! to\b)", '"is", "is stored"'),
    (r"\b(?:stands?|stood) (?:in|at|on|for nothing|beside|before|behind|between|there|here|under|above|below|after)\b(?! for\b)", '"is"'),
    (r"\bwhat stands\b", '"what is"'),
    (r"\bno such thing\b", '"invalid X"'),
    (r"\bno sound\b", '"corrupt X"'),
    (r"\b(?:says?|said) (?:of|nothing of)\b", '"reports"'),
    (r"\bfor so long\b|\bso many of them\b", "the number or its name"),
    (r"\bhas gone wrong\b|\bwent wrong\b", '"failed"'),
    (r"\bof which (?:job|run|pod|file|one)\?", '"X missing"'),
    (r"\b(?:is|are) fine\b", '"accepts X", "X may be NULL", "is not an error"'),
    (r"\blikewise\b", 'the name of the other, "as X", "also"'),
    (r"(?-i:\bPURE\b)", '"pure", "Pure."'),
    (r"\bhopeless\b", '"unpromising", "useless"'),
    (r"\bfalls? ill\b|\bfell ill\b", '"fails"'),
    (r"\bof then\b(?! )|\bof then,", '"earlier", "of its first run"'),
    (r"\b(?:of|through) whatever\b", '"any"'),
    (r"\b(?:is|are|was|were) known of\b", '"is known about"'),
    (r"\bhea(?:rs?|rd|ring) of\b", '"learns of", "receives"'),
    (r"\b(?:gets?|got) to know\b", '"receives", "is informed"'),
    (r"\bwhose an? \w+ is\b", '"who owns X"'),
]
REFUSED = [(re.compile(pattern, re.I), instead) for pattern, instead in PATTERNS]
ANY = re.compile(r"no|told|tell|whoe|lie|lay|sta?[no]+d|sa[iy]|long|many|wrong|which|[fi]ll|fine|like|pure|hopel|then|what|known|hea[r]|whose|know", re.I)  # quick, not exact
TOP = ("lib/", "operator/", "agent/", "tests/", "docs/", "charts/", "crds/", "examples/", "images/", ".ci/")
SKIP = ("tests/data/", "tests/fuzz/corpus/", "tests/lint/english")
TEXT = (".c", ".h", ".cu", ".md", ".yaml", ".sh", ".bash", ".py", ".mk", ".txt", ".Containerfile", ".tpl", "Makefile")


def prose(path, text):
    """Comments and strings of C; everything of other files. Lines stay."""
    if not path.endswith((".c", ".h", ".cu")):
        return text
    kept, at = [], 0
    for match in source.COMMENT_OR_TEXT.finditer(text):
        kept.append(re.sub(r"[^\n]", " ", text[at : match.start()]))
        kept.append(match.group() if match.group()[0] != "'" else " ")
        at = match.end()
    return "".join(kept)


def joined(text):
    """(line, sentence-like text) pairs: a pattern may be broken over two lines of a comment."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        yield number, line, lines[number] if number < len(lines) else ""


def long_lines(path, text):
    fenced = indented = False
    before = ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if line.strip():  # a code block without a fence: four spaces, after an empty line
            indented = line.startswith("    ") and (indented or not before.strip())
        before = line
        is_free = fenced or indented or line.lstrip().startswith("|") or re.match(r"\s*(?:[-*] )?\S*https?://\S+$", line)
        if len(line) > 100 and not is_free:
            yield f"{path}:{number}: {len(line)} columns, at most 100 outside tables and code"


def hits(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = prose(path, file.read())
    for number, line, after in joined(text):
        # The pattern begins in this line and may end in the next.
        both = line + " " + re.sub(r"^[\s*/#\"]*", "", after)
        for pattern, instead in REFUSED if ANY.search(both) else ():
            for match in pattern.finditer(both):
                if match.start() < len(line):
                    yield f"{path}:{number}: \"{match.group()}\": write {instead}"
    if path.endswith(".md"):
        yield from long_lines(path, text)


wanted = tuple(a for a in sys.argv[1:] if not a.startswith("--"))
found = {}
for path in source.files(TEXT, ("",)):
    if path.startswith(SKIP) or wanted and not path.startswith(wanted):
        continue
    top = path.split("/")[0] if path.startswith(TOP) else "."
    found.setdefault(top, []).extend(hits(path))
if wanted:
    print("\n".join(hit for top in found.values() for hit in top))
    sys.exit(any(found.values()))
source.finish_counts("english", found)
