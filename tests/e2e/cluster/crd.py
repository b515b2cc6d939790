"""The requests of test_crd.sh, over one connection: crd.py FOLDER WINDLASS. FOLDER is crd-server.sh's. Prints a line
"ok NAME" or "not ok NAME" for each check; exit code 1: one has failed."""
import glob
import json
import os
import re
import subprocess
import sys

import crd_client
from crd_client import DEFINITIONS, causes, check

folder, windlass = sys.argv[1:]
GROUP = "/apis/windlass.dev/v1alpha1/namespaces/default/"
SCORES, TRAINS, SWEEPS = GROUP + "batchscores", GROUP + "disttrains", GROUP + "sweeps"
DRY = "?fieldValidation=Strict&dryRun=All"
server = crd_client.Server(folder)
ask, patch = server.ask, server.patch


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def message(answer):
    return json.dumps(answer.get("message"))


def head_of(text, what):
    """The first comment of a manifest that begins so."""
    found = re.search(rf"^# {what}: (.*)$", text, re.M)
    return found[1] if found else ""


def place(text):
    """The collection for a manifest, under the version that it is written in; a kind that is not ours is BatchScore's."""
    kind = "\n".join(line for line in text.split("\n") if line.startswith("kind: "))
    version = re.search(r"^apiVersion: windlass\.dev/(.*)$", text, re.M)
    path = TRAINS if kind.endswith("DistTrain") else SWEEPS if kind.endswith("Sweep") else SCORES
    return path.replace("/v1alpha1/", f"/{version[1] if version and version[1] else 'v1alpha1'}/")


##### definitions #################################################################################
def installed(name):
    """Also: is its schema structural? The API server prunes and defaults by such a schema only; a condition reports others."""
    _, answer = ask("POST", DEFINITIONS, read(f"crds/{name}.yaml"))
    if answer["kind"] == "Status":
        return message(answer), None
    conditions = server.conditions_of(f"{name}s.windlass.dev")
    if conditions is None:
        return "it is not established", None
    return None, any(c["type"] == "NonStructuralSchema" for c in conditions) and json.dumps(conditions)


##### manifests ###################################################################################
def posted(text):
    return ask("POST", place(text) + DRY, text)


def refused(path, text):
    """The answer must be 4xx and name the field; a rule's message must be ours."""
    field, says, by = head_of(text, "field"), head_of(text, "says"), head_of(text, "by")
    code, answer = posted(text)
    if by == "rule":
        fits = any(c.get("field") == field and says in c["message"] for c in causes(answer))
    elif by == "schema":
        # A cause of `not` has no field: it is in its message.
        fits = any(c.get("field") == field or (c.get("field") == "<nil>" and f'"{field}" ' in c["message"].replace('\\"', '"'))
                   for c in causes(answer))
    else:
        fits = by == "strict" and f'unknown field "{field}"' in answer.get("message", "")
    if not fits or not 400 <= code < 500:
        return f"{path}: {code}, wanted ({by}) {field}: {says}\n{message(answer)} {json.dumps(causes(answer))}"


def accepted(text):
    code, answer = posted(text)
    return None if code == 201 else message(answer)


def with_texts(theirs, ours):
    """What a server has stored, with its numbers as texts where we have texts of the same numbers."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return {key: with_texts(value, ours.get(key)) for key, value in theirs.items()}
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return [with_texts(*pair) for pair in zip(theirs, ours)]
    is_number = isinstance(theirs, (int, float)) and not isinstance(theirs, bool)
    return ours if is_number and isinstance(ours, str) and float(ours) == theirs else theirs


def same_defaults(path, text):
    """Accepted, and the stored spec equals the spec with our defaults."""
    _, answer = posted(text)
    shown = subprocess.run([windlass, "check", "-f", path, "--show"], stdout=subprocess.PIPE).stdout
    ours, theirs = json.loads(shown or "{}").get("spec"), answer.get("spec")
    if not ours or ours != with_texts(theirs, ours):
        return f"{message(answer)}\nours:   {json.dumps(ours, sort_keys=True)}\ntheirs: {json.dumps(theirs, sort_keys=True)}"


def manifests():
    rules = 0
    for path in sorted(glob.glob("tests/data/bad-manifests/*.yaml")):
        text, name = read(path), os.path.basename(path)[:-len(".yaml")]
        by = head_of(text, "by")
        if by == "us":  # not YAML, not one resource of ours, or stricter than the server on purpose
            continue
        if by in ("step", "cluster"):  # described in the definition, refused by us until the agent supports it
            check(f"accepted: {name}", accepted(text))
            check(f"same defaults: {name}", same_defaults(path, text))
            continue
        rules += by == "rule"
        check(f"refused: {name}", refused(path, text))
    check("rules were tried", rules < 20 and f"only {rules}")
    good = [path for pattern in ("tests/data/good-manifests/*.yaml", "tests/data/sweeps/*.yaml", "examples/*/batchscore.yaml",
                                "examples/fashion-mnist/disttrain.yaml", "examples/sweep/*.yaml")
            for path in sorted(glob.glob(pattern))]
    for path in good:
        check(f"same defaults: {path}", same_defaults(path, read(path)))


##### changes of a stored job #####################################################################
FIXED = "cannot be changed once the job has started, except suspend"


def changed(tree, outcome):
    """A merge patch of a stored job's spec is accepted, or refused with the rule's message."""
    code, answer = patch(SCORES + "/started?dryRun=All", {"spec": tree})
    if outcome == "taken" and code == 200:
        return None
    if outcome == "refused" and code == 422 and any(c.get("field") == "spec" and FIXED in c["message"] for c in causes(answer)):
        return None
    return f"{code}, wanted: {outcome}\n{message(answer)}"


def change(when, taken, others, outcome):
    for patches, wanted in (taken, "taken"), (others, outcome):
        for text in patches:
            check(f"{when}, {wanted}: {text}", changed(json.loads(text), wanted))


TAKEN = """{"suspend": true}
{"activeDeadlineSeconds": 60}
{"ttlSecondsAfterFinished": 0}
{"workers": {"max": 7}}
{"workers": {"min": 0}}
{"suspend": null, "workers": {"min": 2, "max": 2}}""".splitlines()
OTHERS = """{"input": {"video": {"path": "data/other.mp4"}}}
{"scorer": {"onnx": {"preprocess": {"width": 8}}}}
{"output": {"path": "data/other"}}
{"miniBatchSize": 1}
{"retry": {"maxTries": 9}}
{"workers": {"gpus": 1}}
{"workers": {"spot": true}}
{"workers": {"resources": {"limits": {"cpu": 1}}}}
{"workers": {"nodeSelector": {"a": "b"}}}
{"workers": {"tolerations": [{"operator": "Exists"}]}}
{"workers": {"template": {"spec": {"runtimeClassName": "nvidia"}}}}
{"coordinator": {"resources": {"requests": {"cpu": 1}}}}
{"coordinator": {"template": {"spec": {"a": 1}}}}
{"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "other"}}]}
{"image": "other:1"}
{"imagePullSecrets": [{"name": "a"}]}
{"serviceAccountName": "a"}
{"priorityClassName": "a"}
{"template": {"metadata": {"labels": {"a": "b"}}}}
{"template": {"spec": {"hostname": "other"}}}
{"template": null}
{"logs": {"path": "data/logs"}}
{"errorThreshold": 1}
{"miniBatchErrorThreshold": "5%"}
{"trigger": {"path": "data/READY"}}
{"schedule": {"cron": "0 3 * * *"}}
{"rerun": "OnChange"}
{"queue": "research"}
{"stores": [{"account": "films", "secretName": "a"}]}
{"buckets": [{"name": "films", "secretName": "a"}]}""".splitlines()
# Where pods run and what they get may change while the controller says that the job is suspended.
TAKEN_SUSPENDED = """{"workers": {"resources": {"limits": {"cpu": 1}}}}
{"workers": {"nodeSelector": {"a": "b"}}}
{"workers": {"tolerations": [{"operator": "Exists"}]}}
{"priorityClassName": "a"}
{"coordinator": {"resources": {"requests": {"cpu": 1}}}}
{"suspend": false, "workers": {"nodeSelector": {"a": "b"}}}""".splitlines()
OTHERS_SUSPENDED = """{"workers": {"gpus": 1}}
{"workers": {"spot": true}}
{"miniBatchSize": 1}
{"coordinator": {"template": {"spec": {"a": 1}}}}
{"workers": {"template": {"spec": {"runtimeClassName": "nvidia"}}}}""".splitlines()
MINIMAL = "tests/data/good-manifests/minimal.yaml"


def stored_job():
    text = read(MINIMAL).replace("name: minimal", "name: started").rstrip("\n") + "\n  template: {spec: {hostname: first}}\n"
    _, answer = ask("POST", SCORES, text)
    if answer.get("spec", {}).get("template", {}).get("spec", {}).get("hostname") != "first":
        return message(answer)


def managed_later():
    code, answer = patch(SCORES + "/started?dryRun=All", {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}})
    if code != 422 or [c.get("field") for c in causes(answer)] != ["spec.managedBy"]:
        return f"{code}\n{message(answer)}"


def started():
    _, answer = patch(SCORES + "/started/status", {"status": {"specHash": "ab12"}})
    if answer.get("status", {}).get("specHash") != "ab12":
        return message(answer)


def suspended(job):
    condition = {"type": "Suspended", "status": "True", "reason": "Suspended", "message": "m", "lastTransitionTime": "2026-11-21T04:00:00Z"}
    _, answer = patch(job + "/status", {"status": {"conditions": [condition]}})
    conditions = answer.get("status", {}).get("conditions", [])
    if not conditions or conditions[0]["type"] != "Suspended":
        return message(answer)


def columns():
    """Those of `kubectl get bs` for a running job, and how much `-o wide` adds."""
    condition = {"type": "Succeeded", "status": "Unknown", "reason": "Running", "message": "m", "lastTransitionTime": "2026-11-21T04:00:00Z"}
    patch(SCORES + "/started/status", {"status": {"progress": "24/280", "items": {"failed": 1}, "itemsPerSecond": "12.5",
                                                  "secondsLeft": 20, "conditions": [condition]}})
    _, answer = ask("GET", SCORES + "/started", accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    names = [c["name"] for c in answer["columnDefinitions"] if c["priority"] == 0]
    cells = answer["rows"][0]["cells"]
    wanted = ["Name", "State", "Waiting", "Changed", "Done", "Failed", "Items/s", "Left", "Age"]
    if names != wanted or cells[:2] + cells[4:8] != ["started", "Running", "24/280", 1, "12.5", 20] or len(answer["columnDefinitions"]) <= 10:
        return f"{names} {cells}"


##### a gang ######################################################################################
def stopped(tree, outcome):
    """spec.stop of a stored job may be set while it runs, and never be removed."""
    code, answer = patch(TRAINS + "/tuned", {"spec": tree})
    if outcome == "taken" and code == 200:
        return None
    if outcome == "refused" and code == 422 and any(
            c.get("field") == "spec.stop" and "can be set only once" in c["message"] for c in causes(answer)):
        return None
    return f"{json.dumps(tree)}: {code}, wanted: {outcome}: {message(answer)}"


def stop_once():
    lines = [re.sub(r"name: .*", "name: tuned}", line) for line in read("tests/data/bad-manifests/dt-stop-lines.yaml").splitlines()
             if not line.startswith(("# ", "  stop:"))]
    ask("POST", TRAINS, "\n".join(lines) + "\n")
    _, answer = patch(TRAINS + "/tuned/status", {"status": {"specHash": "ab12", "objective": {"reports": 2, "best": "0.5", "at": "1::0.5:0.5"}}})
    if answer.get("status", {}).get("objective", {}).get("at") != "1::0.5:0.5":
        return message(answer)
    if not stopped({"metrics": {"objective": "a", "goal": "Minimize"}}, "taken"):
        return "a fixed field was changed"
    return (stopped({"stop": "enough"}, "taken") or stopped({"stop": "enough"}, "taken") or stopped({"stop": "more"}, "refused")
            or stopped({"stop": None}, "refused") or stopped({"suspend": True}, "taken"))


def gang_suspended():
    places = [{"resources": {"limits": {"cpu": 1}}}, {"nodeSelector": {"a": "b"}}, {"priorityClassName": "a"}]
    fixed = [{"gpus": 1}, {"workers": 7}, {"image": "other:1"}]

    def answers(trees, wanted, when):
        for tree in trees:
            code, answer = patch(TRAINS + "/tuned?dryRun=All", {"spec": tree})
            if code != wanted:
                return f"{when}: {code}, wanted {wanted}: {json.dumps(tree)}: {message(answer)}"
    return (answers(places, 422, "while it runs") or suspended(TRAINS + "/tuned") or answers(places, 200, "suspended")
            or answers(fixed, 422, "suspended"))


##### the schema keeps the status that the plan writes: nothing is pruned or refused ##############
def status_kept(path):
    wanted = json.loads(read(path))["want"].get("status")
    ask("POST", SCORES, read(MINIMAL))
    code, answer = patch(SCORES + "/minimal/status?fieldValidation=Strict", {
        "apiVersion": "windlass.dev/v1alpha1", "kind": "BatchScore", "metadata": {"name": "minimal"}, "status": wanted})
    ask("DELETE", SCORES + "/minimal")
    if code != 200 or answer.get("status") != wanted:
        return f"{path}: {json.dumps(answer.get('message') or answer.get('status'))}"


for name in "batchscore", "disttrain", "sweep":
    not_there, not_structural = installed(name)
    check(f"the definition is installed: {name}", not_there)
    if not_there:  # nothing else would report it
        sys.exit(1)
    check(f"its schema is structural: {name}", not_structural)
manifests()
check("a job is stored, its template whole", stored_job())
change("not started", TAKEN, OTHERS, "taken")
check("before it has started, managedBy cannot be set, either", managed_later())
check("it has started", started())
change("started", TAKEN, [*OTHERS, '{"managedBy": "kueue.x-k8s.io/multikueue"}'], "refused")
check("it is suspended", suspended(SCORES + "/started"))
change("suspended", TAKEN_SUSPENDED, OTHERS_SUSPENDED, "refused")
check("columns", columns())
check("a DistTrain's stop can be set only once", stop_once())
check("a DistTrain's places may change while it is suspended, and only then", gang_suspended())
for path in sorted(glob.glob("tests/data/plan/[0-9]*.json")):
    check(f"status kept: {os.path.basename(path)[:-len('.json')]}", status_kept(path))
sys.exit(crd_client.failures > 0)
