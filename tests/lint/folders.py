"""Folders: at most 40 files in one, at most 8 headers in agent/engine (all that others may include); but tests/data and tests/fuzz/corpus; a README.md in each below lib/, operator/ and
agent/, whose part that is made (readmes.py) is current: it names each module, and what the folder may include."""
import os

import readmes
import source

CODE_FOLDERS = source.CODE
found, count = {}, {}
for path in source.files(("",), CODE_FOLDERS + ("tests/", "docs/")):
    if not path.startswith(("tests/data/", "tests/fuzz/corpus/")):
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
headers = [name for name in os.listdir("agent/engine") if name.endswith(".h")]
if len(headers) > 8:
    found["headers agent/engine"] = f"agent/engine/ has {len(headers)} public headers, at most 8: " + " ".join(sorted(headers))
for path, text in readmes.pages().items():
    if open(path, encoding="utf-8").read() != text:
        found[f"made {path}"] = f"{path} is not what the headers and includes.sh say: make readmes"
source.finish("folders", found)
