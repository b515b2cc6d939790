"""No circles: of includes between files, and of calls between the modules of one folder. A module is its .h and its .c
or .cu, by their stem; it calls another of its folder when it uses a function or variable that the other defines with
external linkage (wherever that is declared). An exception names the circle's modules."""
import re

import source

FILES = source.load()


def circles(graph):
    """Strongly connected components of more than one node (Tarjan, without recursion)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, edges = work[-1]
            for to in edges:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(sorted(graph.get(to, ())))))
                    break
                if to in on_stack:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = set()
                    while node not in part:
                        last = stack.pop()
                        on_stack.discard(last)
                        part.add(last)
                    if len(part) > 1:
                        found.append(part)
    return found


def include_graph():
    return {path: {i for i in file.includes if i in FILES} for path, file in FILES.items()}


def words(file):
    """Identifiers used, not those after . or -> (members)."""
    return set(re.findall(r"(?<![\w.>])[A-Za-z_]\w*", re.sub(r"->\s*", ".", file.code)))


def call_graph(folder, reasons):
    """Of the modules of a folder; reasons gets {(from, to): names}."""
    modules, defined = {}, {}
    for file in FILES.values():
        if file.folder != folder:
            continue
        modules.setdefault(file.stem, []).append(file)
        is_header = file.path.endswith(".h")
        for function in file.functions:
            if is_header or not function.is_static:
                defined.setdefault(function.name, set()).add(file.stem)
        for name in file.variables if not is_header else ():
            defined.setdefault(name, set()).add(file.stem)
    graph = {}
    for stem, files in modules.items():
        own = {f.name for file in files for f in file.functions} | {v for file in files for v in file.variables}
        graph[stem] = set()
        for file in files:
            for name in words(file) - own if not file.path.endswith(".h") else set():
                for to in defined.get(name, set()) - {stem}:
                    graph[stem].add(to)
                    reasons.setdefault((stem, to), set()).add(name)
    return graph


found = {}
for part in circles(include_graph()):
    key = "includes: " + " ".join(sorted(part))
    found[key] = "circle of includes: " + ", ".join(sorted(part))
for folder in sorted({file.folder for file in FILES.values()}):
    reasons = {}
    graph = call_graph(folder, reasons)
    for part in circles(graph):
        key = " ".join(sorted(part))
        inner = [
            f"{a} -> {b} ({', '.join(sorted(names)[:3])}{', ...' if len(names) > 3 else ''})"
            for (a, b), names in sorted(reasons.items())
            if a in part and b in part
        ]
        found[key] = f"circle of calls in {folder}: " + "; ".join(inner)
source.finish("circles", found)
