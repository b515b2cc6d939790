"""Folders: at most 40 files in one, but tests/data and tests/fuzz/corpus; a README.md in each below lib/, operator/ and
agent/."""
import os

import source

CODE_FOLDERS = source.CODE
found, count = {}, {}
for path in source.files(("",), CODE_FOLDERS + ("tests/",)):
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
source.finish("folders", found)
