"""English: patterns that read translated are refused in comments, strings, messages and docs; a line of a docs page
has at most 100 columns outside tables and code blocks.

tests/lint/exceptions/english.txt holds how many each top folder still has; the numbers only fall (make lint-update).
english.sh FOLDER... lists the places in these folders or files."""
import bisect
import re
import sys

import source

# what a text that the pattern matches has, in lower case (a | b: one of them); pattern; what to write instead
PATTERNS = [
    ("is no|are no|was no|were no|be no", r"(?<!there )(?<!there's )\b(?:is|are|was|were|be) no\b(?! (?:longer|more|less|fewer|later|larger|smaller|wider|better|worse|older|newer|faster|slower|other)\b)", '"is not a X", "invalid X" or "has no X"'),
    ("nobody", r"\bnobody(?:'s)?\b(?!:)", '"no one", "no X", or the passive'),
    (" told", r"\b(?:is|are|was|were|be|been|being|gets?) told\b", '"gets", "receives", "is notified"'),
    ("tell|told of", r"\b(?:tells?|told|telling) of\b", '"reports", "describes"'),
    ("whoever", r"\bwhoever\b", '"the caller", "a process that"'),
    ("lie|lay", r"\b(?:lies|lie|lay)\b(?! to\b)", '"is", "is stored"'),
    ("stand|stood", r"\b(?:stands?|stood) (?:in|at|on|for nothing|beside|before|behind|between|there|here|under|above|below|after)\b(?! for\b)", '"is"'),
    ("what stands", r"\bwhat stands\b", '"what is"'),
    ("no such thing", r"\bno such thing\b", '"invalid X"'),
    ("no sound", r"\bno sound\b", '"corrupt X"'),
    ("say|said", r"\b(?:says?|said) (?:of|nothing of)\b", '"reports"'),
    ("so long|so many", r"\bfor so long\b|\bso many of them\b", "the number or its name"),
    (" wrong", r"\bhas gone wrong\b|\bwent wrong\b", '"failed"'),
    ("of which", r"\bof which (?:job|run|pod|file|one)\?", '"X missing"'),
    (" fine", r"\b(?:is|are) fine\b", '"accepts X", "X may be NULL", "is not an error"'),
    ("likewise", r"\blikewise\b", 'the name of the other, "as X", "also"'),
    ("pure", r"(?-i:\bPURE\b)", '"pure", "Pure."'),
    ("hopeless", r"\bhopeless\b", '"unpromising", "useless"'),
    (" ill", r"\bfalls? ill\b|\bfell ill\b", '"fails"'),
    ("of then", r"\bof then\b(?! )|\bof then,", '"earlier", "of its first run"'),
    ("whatever", r"\b(?:of|through) whatever\b", '"any"'),
    ("known of", r"\b(?:is|are|was|were) known of\b", '"is known about"'),
    ("hear", r"\bhea(?:rs?|rd|ring) of\b", '"learns of", "receives"'),
    ("to know", r"\b(?:gets?|got) to know\b", '"receives", "is informed"'),
    ("whose", r"\bwhose an? \w+ is\b", '"who owns X"'),
    ("not sound", r"\bnot sound\b", '"invalid X", "corrupt X"'),
    ("no possible", r"\bno possible\b", '"invalid X"'),
    ("ve not|s not", r"\b(?:that|which|and) (?:its |the )?\w+ (?:has|have) not(?=[.,;:)\"])", '"lacks", "does not support"'),
    ("heard from", r"\bnot heard from\b", '"does not respond"'),
]
SOURCES = [  # not in the scripts of tests/, which have such names
    ("tell|told", r"(?<![\"/`])\b(?:tells?|told|telling)\b(?![\"/`])(?!(?: [\w']+){0,4} (?:apart\b|from (?:a|an|the|each|those|that|other|another|it|one|what|which)\b))", '"reports", "shows", "notifies"'),
    ("so many", r"\bso many\b", '"this many", the number or its name'),
    ("somebody else", r"\bperhaps of somebody else\b", '"one of another module is ignored"'),
    ("who comes", r"\bwho comes (?!from\b)", '"a newcomer", "later callers"'),
    ("way", r"\bin each other's way\b", '"conflict"'),
    ("whole", r"\b(?:is|are|was|were|be|been|not|neither|yet) whole\b(?! numbers?\b)", '"is complete", "is intact"; of numbers "an integer"'),
    ("leads to|led to", r"\b(?:leads?|led) to (?:something|no|none)\b", '"expected X", "is not X"'),
    ("exclude each", r"\bexclude each other\b", '"cannot be combined"'),
    ("should", r"\bshould (?:this|that|it|they|he) (?:be|have|not)\b(?!\?)", '"if"'),
    (" no use| no interest", r"\bof no (?:use|interest)\b", '"useless", "does not help", "does not matter"'),
    (" no ", r"\b(?:is|are|be|can be|has|made|replaced) (?:in|part of|by|for|before|after) no (?!longer|more|less|other|particular)\w+", '"is not in any X", "no X has it"'),
    (" no digit| no letter| no word", r"\b(?:before|after) no (?:digit|letter|word|byte)\b", '"that no X follows"'),
    ("is none|are none", r"(?<!there )(?-i:\b(?:is|are) none\b)(?! of)", '"is not one", "has no X"'),
]
REFUSED = [(words.split("|"), re.compile(pattern, re.I), instead) for words, pattern, instead in PATTERNS + SOURCES]
MADE = ("docs/api.md", "docs/cli.md")
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


def flow(text):
    """The text in one line, since a pattern may be broken over two lines of a comment; and where in it each line begins."""
    lines, starts, at = text.split("\n"), [], 0
    for number, line in enumerate(lines):
        lines[number] = line = line.lstrip(' \t*/#"') if number else line
        starts.append(at)
        at += len(line) + 1
    return " ".join(lines), starts


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
    line, starts = flow(text)
    lower = line.lower()
    is_source = not path.startswith("tests/") or path.endswith((".c", ".h"))
    count = len(PATTERNS) + (len(SOURCES) if is_source and path not in MADE else 0)
    for words, pattern, instead in REFUSED[:count]:
        for match in pattern.finditer(line) if any(word in lower for word in words) else ():
            number = bisect.bisect_right(starts, match.start())
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
