"""Folders: at most 40 files and a README.md in one, at most 8 headers in agent/engine (all that others may include); but tests/data and
tests/fuzz/corpus; a README.md in images/, crds/, each folder of tests/ but unit/ and data/ (tests/README.md names them all, and
tests/e2e/README.md its folders), and each below lib/, operator/ and agent/, whose part that is made (readmes.py) is current: it
names each module with the first sentence of its comment, and what the folder may include. A unit test has the path of its source: a test of another name is in a
folder that there is, too, and a test with the name of one source alone is beside no other."""
import os
import re

import readmes
import source

CODE_FOLDERS = source.CODE
found, count = {}, {}
for path in source.files(("",), CODE_FOLDERS + ("tests/", "docs/")):
    if not path.startswith(("tests/data/", "tests/fuzz/corpus/")) and not path.endswith("/README.md"):
        count[os.path.dirname(path)] = count.get(os.path.dirname(path), 0) + 1
for folder in list(count):
    while "/" in folder:  # the folders above, which may hold only folders
        folder = os.path.dirname(folder)
        count.setdefault(folder, 0)
for folder, files in count.items():
    if files > 40:
        found[f"files {folder}"] = f"{folder}/ has {files} files, at most 40"
    if (folder + "/").startswith(CODE_FOLDERS) and not os.path.exists(f"{folder}/README.md"):
        found[f"README {folder}"] = f"{folder}/ has no README.md"
for folder in ["images", "crds", *(f for f in count if re.fullmatch("tests/(?!unit$|data$)[^/]+", f))]:
    if not os.path.exists(f"{folder}/README.md"):
        found[f"README {folder}"] = f"{folder}/ has no README.md"
for above in ("tests", "tests/e2e"):
    text = open(f"{above}/README.md", encoding="utf-8").read()
    for folder in [*(f for f in count if os.path.dirname(f) == above), *(["tests/data"] if above == "tests" else [])]:
        if f"`{os.path.basename(folder)}/`" not in text:
            found[f"names {folder}"] = f"{above}/README.md does not name `{os.path.basename(folder)}/`"
headers = [name for name in os.listdir("agent/engine") if name.endswith(".h")]
if len(headers) > 8:
    found["headers agent/engine"] = f"agent/engine/ has {len(headers)} public headers, at most 8: " + " ".join(sorted(headers))
for path, text in readmes.pages().items():
    if open(path, encoding="utf-8").read() != text:
        found[f"made {path}"] = f"{path} is not what the headers and includes.sh say: make readmes"
    for module in re.findall(r"^- `([^`\n]+)`$", text, re.M):
        found[f"about {path} {module}"] = f"{os.path.dirname(path)}/{module} does not begin with a comment that says what it is"
places = {}  # by the name of a source: its folders
for path in source.files():
    places.setdefault(os.path.splitext(os.path.basename(path))[0], set()).add(os.path.dirname(path))
for path in source.files((".c",), ("tests/unit/",)):
    folder, name = os.path.dirname(path).removeprefix("tests/unit/"), os.path.basename(path).removesuffix(".c")
    where = places.get(name.removeprefix("test_"), set()) if name.startswith("test_") else set()
    if not os.path.isdir(folder):
        found[f"place {path}"] = f"{path}: there is no {folder}/"
    elif len(where) == 1 and folder not in where and folder.split("/")[0] == next(iter(where)).split("/")[0]:
        found[f"place {path}"] = f"{path}: its source is in {next(iter(where))}/"
source.finish("folders", found)
