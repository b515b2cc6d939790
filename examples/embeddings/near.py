"""Shows the nearest neighbours of texts by their vectors: /usr/bin/python3 near.py [PACKAGE...]     (Python's standard library only)"""
import array, csv, os, struct, sys

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "vectors")
with open(f"{folder}/vectors.npy", "rb") as file:
    head = file.read(10)
    rows, width = eval(file.read(struct.unpack("<H", head[8:])[0]))["shape"]
    values = array.array("f", file.read())
vectors = [values[i * width:(i + 1) * width] for i in range(rows)]
with open(f"{folder}/vectors.keys.csv", newline="") as file:
    keys = list(csv.DictReader(file))
at = {key["package"]: i for i, key in enumerate(keys)}
for name in sys.argv[1:] or ["fillets-ng", "dte", "mu4e", "fonts-guru"]:
    own = vectors[at[name]]
    near = sorted(((sum(a * b for a, b in zip(own, other)), i) for i, other in enumerate(vectors) if i != at[name]), reverse=True)
    print(f"{name}: {keys[at[name]]['text']}")
    for score, i in near[:3]:
        print(f"    {score:.2f}  {keys[i]['package']}: {keys[i]['text']}")
