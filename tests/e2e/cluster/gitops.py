"""What tools report about the statuses of tests/data/gitops, for test_gitops.sh. Each command prints a line "ok NAME" or
"not ok NAME" for each check; exit code 1: one has failed.

    gitops.py tools FOLDER               Argo CD's check in Lua 5.1; kstatus by its rules (tests/kstatus.py); both over
                                         the statuses that the controller's plan writes (tests/data/plan), too
    gitops.py workflows FOLDER           what docs/operate/workflows has, for test_gitops.sh
    gitops.py statuses FOLDER            writes each status to the BatchScore case-NUMBER of api-server.sh's server
    gitops.py helm NUMBERS CODE ANSWER   what helm --wait has answered for these cases with that exit code
    gitops.py flux FOLDER LIVES...       Flux's expressions in the CEL of crd-server.sh's server, over the cases, and over the
                                         lives of jobs that the files LIVES have recorded (tests/status_life.h)"""
import glob
import json
import re
import subprocess
import sys

import yaml

import crd_client
from crd_client import DEFINITIONS, causes, check
from lua_literal import literal

sys.path.insert(1, "tests")
import kstatus  # noqa: E402

with open("tests/data/gitops/cases.json") as file:
    cases = json.load(file)


def thing(case):
    """The case as an object of generation 2."""
    return {"apiVersion": "windlass.dev/v1alpha1", "kind": "BatchScore", "metadata": {"generation": 2}, "status": case["status"]}


def differs(said, wanted):
    return None if said == wanted else f"{said}, wanted {wanted}"


##### Argo CD, kstatus ############################################################################
# With nothing but the language, and from the beginning for each object.
ARGO = """
for line in io.lines(arg[2]) do
    local check = assert(loadfile(arg[1]))
    setfenv(check, {obj = assert(loadstring(line))(), ipairs = ipairs, pairs = pairs})
    local fine, health = pcall(check)
    io.write(fine and health.status .. "\\n" .. health.message or tostring(health), "\\0")
end"""


def argo(folder, objects):
    """The answer of the check for each: status and message, two lines."""
    with open(folder + "/argo.lua", "w") as file:
        file.write(ARGO)
    with open(folder + "/objects.lua", "w") as file:
        file.writelines("return " + literal(one).replace("\n", " ") + "\n" for one in objects)
    run = subprocess.run(["lua5.1", folder + "/argo.lua", "docs/operate/gitops/health.lua", folder + "/objects.lua"],
                         stdout=subprocess.PIPE, check=True)
    return run.stdout.decode().split("\0")[:-1]


def meaning(status):
    """The two words for what conditions mean: the tools never see a job's end, or that it is stalled, unless these say so."""
    said = {c["type"]: c["status"] for c in status.get("conditions") or []}
    if said.get("Succeeded") == "False" or said.get("Stalled") == "True":
        return "Degraded Failed"
    if said.get("Succeeded") == "True":
        return "Healthy Current"
    if said.get("Suspended") == "True":
        return "Suspended Current"
    if said.get("Reconciling") == "True":
        return "Progressing InProgress"
    return "Progressing Current" if status.get("runs") is None else "Healthy Current"


def tools(folder):
    planned = []
    for path in sorted(glob.glob("tests/data/plan/[0-9]*.json")):
        with open(path) as file:
            tree = json.load(file)
        if tree["want"].get("status"):
            generation = (tree.get("object") or {}).get("metadata", {}).get("generation") or 1
            planned.append((path, {"metadata": {"generation": generation}, "status": tree["want"]["status"]}))
    without = {"metadata": {"generation": 1}}  # kubectl apply on a server that has just lost its defaults: still no error
    said = argo(folder, [thing(case) for case in cases] + [without] + [one for _, one in planned])
    for case, words in zip(cases, said):
        check(f"Argo CD, {case['name']}: {case['argo']}", differs(words, f"{case['argo']}\n{case['message']}"))
    check("Argo CD, no status at all: Progressing", differs(said[len(cases)].split("\n")[0], "Progressing"))
    for case in cases:
        check(f"kstatus by its rules, {case['name']}: {case['kstatus']}", differs(kstatus.word(thing(case)), case["kstatus"]))
    wrong = []
    for (path, one), words in zip(planned, said[len(cases) + 1:]):
        found = differs(f"{words.split(chr(10))[0]} {kstatus.word(one)}", meaning(one["status"]))
        if found:
            wrong.append(f"{path}: {found}")
    check("what the controller writes is what they read", "\n".join(wrong) if planned else "it writes nothing")


##### Argo Workflows, Tekton ######################################################################
def first_conditions():
    """Of all statuses that the plans of all kinds write: those whose first condition is not Succeeded. A selector of Argo
    Workflows finds a condition by its place only."""
    read = 0
    for path in sorted(glob.glob("tests/data/plan*/*.json")):
        with open(path) as file:
            status = json.load(file).get("want", {}).get("status") or {}
        types = [one["type"] for one in status.get("conditions", [])]
        read += bool(types)
        if types[:1] not in ([], ["Succeeded"]):
            yield f"{path}: {types}"
    if read == 0:
        yield "no plan writes conditions"


def workflows(folder):
    """Writes the manifests in docs/operate/workflows as FOLDER/TOOL-job.yaml, and Tekton's script as FOLDER/script."""
    check("the first condition of a job is Succeeded", "\n".join(first_conditions()))
    with open("docs/operate/workflows/argo.yaml") as file:
        step = next(yaml.safe_load_all(file))["spec"]["templates"][1]["resource"]
    check("Argo Workflows looks at it", differs((step["successCondition"], step["failureCondition"]),
                                                ("status.conditions.0.status == True", "status.conditions.0.status == False")))
    with open("docs/operate/workflows/tekton.yaml") as file:
        task, pipeline = list(yaml.safe_load_all(file))[:2]
    made = {"argo": step["manifest"], "tekton": pipeline["spec"]["tasks"][0]["params"][0]["value"]}
    for tool, manifest in made.items():
        with open(f"{folder}/{tool}-job.yaml", "w") as file:
            file.write(re.sub(r"{{[a-z.]*}}|[$][(]params.day[)]", "2026-11-22", manifest))
    with open(f"{folder}/script", "w") as file:
        file.write(task["spec"]["steps"][0]["script"])


##### kstatus, in helm ############################################################################
def statuses(folder):
    server, bad = crd_client.Server(folder), []
    for number, case in enumerate(cases):
        status = dict(case["status"])
        if status.get("observedGeneration", 0) > 0:  # the generation is 1 there
            status["observedGeneration"] -= 1
        code, answer = server.patch(f"/apis/windlass.dev/v1alpha1/namespaces/default/batchscores/case-{number}/status", {"status": status})
        if code != 200 or not answer.get("status"):
            bad.append(f"{case['name']}: {code} {answer.get('message')}")
    check("the statuses are written", "\n".join(bad))


def helm(numbers, code, path):
    with open(path) as file:
        answer = file.read()
    for number in map(int, numbers.split()):
        case = cases[number]
        told = re.findall(rf"\bcase-{number}\b[^\n]*?\bstatus: (\w+)", answer)
        said = told[0] if told else "Current" if code == "0" else "nothing"
        check(f"kstatus in helm --wait, {case['name']}: {case['kstatus']}", differs(said, case["kstatus"]) and f"{said}: {answer}")


##### Flux ########################################################################################
def flux_definition():
    """Its expressions see the object's fields as variables; here they are rules about a field "object"."""
    import yaml
    with open("docs/operate/gitops/flux.yaml") as file:
        [flux] = [d for d in yaml.safe_load_all(file) if d["kind"] == "Kustomization"]
    [checks] = flux["spec"]["healthCheckExprs"]
    rules = [{"message": name, "rule": "!(%s)" % re.sub(r"\b(status|metadata)\.", r"self.\1.", checks[name])}
             for name in ("inProgress", "failed", "current")]
    number, text = {"type": "integer", "format": "int64"}, {"type": "string", "maxLength": 256}

    def fields(**named):
        return {"type": "object", "properties": named}
    condition = fields(**{name: text for name in ("type", "status", "reason", "message", "lastTransitionTime")})
    condition["required"] = ["type", "status"]
    runs = {"type": "array", "items": {"type": "object"}, "maxItems": 10}
    status = fields(observedGeneration=number, runs=runs, conditions={"type": "array", "items": condition, "maxItems": 16})
    schema = fields(object=dict(fields(metadata=fields(generation=number), status=status), **{"x-kubernetes-validations": rules}))
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "fluxes.test.windlass.dev"},
            "spec": {"group": "test.windlass.dev", "scope": "Cluster", "names": {"kind": "Flux", "plural": "fluxes"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


def flux_word(server, one):
    """Flux evaluates in this order; no match means InProgress."""
    _, answer = server.ask("POST", "/apis/test.windlass.dev/v1/fluxes?dryRun=All", {
        "apiVersion": "test.windlass.dev/v1", "kind": "Flux", "metadata": {"name": "x"}, "object": one})
    true = [cause.get("message", "") for cause in causes(answer)]
    return "InProgress" if answer["kind"] == "Flux" else next(
        (word[0].upper() + word[1:] for word in ("inProgress", "failed", "current") if any(m.endswith(word) for m in true)),
        answer.get("message"))


def flux_meaning(one):
    """The word for what the conditions mean: those that say an end, which the expressions do not read."""
    status, said = one["status"], {c["type"]: c for c in one["status"].get("conditions") or []}

    def is_true(name):
        return said.get(name, {}).get("status") == "True"
    stopped = is_true("Failed") and said["Failed"]["reason"] == "Stopped"
    if status.get("observedGeneration") != one["metadata"]["generation"]:
        return "InProgress"
    if is_true("Stalled") or is_true("Failed") and not stopped:
        return "Failed"
    return "Current" if is_true("Complete") or stopped or "runs" in status else "InProgress"


def flux_lives(server, path):
    """At each step that differs for Flux from all others. Messages do not: they are left out."""
    lives, kinds, steps, wrong = set(), set(), {}, []
    with open(path) as file:
        for step in map(json.loads, file):
            status = {name: step["status"][name] for name in ("observedGeneration", "runs") if name in step["status"]}
            status["conditions"] = [{name: c[name] for name in ("type", "status", "reason")} for c in step["status"]["conditions"]]
            one = {"metadata": {"generation": step["generation"]}, "status": status}
            steps[json.dumps(one)] = one
            lives.add(step["life"])
            kinds.add(step["kind"])
    for one in steps.values():
        found = differs(flux_word(server, one), flux_meaning(one))
        if found:
            wrong.append(f"{one}: {found}")
    words = sorted(set(map(flux_meaning, steps.values())))
    if len(lives) < 20 or len(words) < 2:  # (no life of a BatchScore fails, and few of a DistTrain)
        wrong.append(f"{len(lives)} lives, {words}: too few")
    check(f"Flux, {len(lives)} lives, {len(steps)} steps ({' '.join(kinds)})", "\n".join(wrong))


def flux(folder, *lives):
    server = crd_client.Server(folder)
    _, answer = server.ask("POST", DEFINITIONS, flux_definition())
    check("Flux's expressions compile", not server.conditions_of("fluxes.test.windlass.dev") and f"{answer.get('message')}")
    for case in cases:
        check(f"Flux, {case['name']}: {case['flux']}", differs(flux_word(server, thing(case)), case["flux"]))
    for path in lives:
        flux_lives(server, path)


{"tools": tools, "workflows": workflows, "statuses": statuses, "helm": helm, "flux": flux}[sys.argv[1]](*sys.argv[2:])
sys.exit(crd_client.failures > 0)
