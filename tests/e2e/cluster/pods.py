"""For test_pods.sh: makes the pods of manifests, and checks that they are restricted (tests/pod_security.py), except for
volumes of the kinds that the manifest names, and that a real API server accepts them and, by kubectl, knows every field.
Prints a line "ok NAME" or "not ok NAME" for each.

    pods.py WINDLASS FOLDER FILE...   FOLDER/api is api-server.sh's; the specs of tests/data/pods are written to FOLDER as
                                      manifests first, for the FILEs in FOLDER
"""
import glob
import json
import os
import re
import subprocess
import sys

import crd_client
from crd_client import check

sys.path.insert(1, "tests")
import pod_security  # noqa: E402

windlass, folder = sys.argv[1:3]
server = crd_client.Server(folder + "/api")
MINIMAL = "tests/data/good-manifests/minimal.yaml"


def run(*arguments):
    return subprocess.run([windlass, "check", "-f", *arguments], stdout=subprocess.PIPE).stdout


def problems(text):
    """Both pods are restricted, except for volumes that only the user can have asked for."""
    pods = [one for one in pod_security.flatten(json.loads(text)) if one.get("kind") in pod_security.TEMPLATES]
    if [one["kind"] for one in pods] != ["Pod", "Pod"]:
        return f"{len(pods)} pods"
    found = [f"{one['metadata']['name']}: {field}: {problem}" for one in pods
             for field, problem in pod_security.check_pod(one["metadata"], one["spec"])]
    return "\n".join(line for line in found if not re.search(r"spec\.volumes\[[-a-z0-9]*\]\.(hostPath|nfs): this kind", line))


def refusals(pods):
    """What a real API server says against them."""
    for pod in pods:
        namespace = pod["metadata"].get("namespace", "default")
        code, answer = server.ask("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
        if code != 201:
            yield f"{pod['metadata']['name']}: {code} {answer.get('message')}"


def strangers(pods):
    """What kubectl says against fields that the server does not know. (The server drops them, and also known ones that are
    empty or false.)"""
    with open(folder + "/all.json", "w") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": pods}, file)
    answer = subprocess.run([folder + "/api/kubectl", "create", "--validate=true", "--dry-run=server", "-o", "name", "-f", file.name],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    is_done = answer.returncode == 0 and answer.stdout.count("pod/") == len(pods)
    return None if is_done else answer.stderr or f"{answer.stdout.count('pod/')} of {len(pods)} pods"


def goldens():
    minimal = json.loads(run(MINIMAL, "--show"))
    for path in glob.glob("tests/data/pods/*.json"):
        with open(path) as file:
            spec = minimal["spec"] | json.load(file)["spec"]
        with open(f"{folder}/{os.path.basename(path)[:-len('.json')]}.yaml", "w") as file:
            json.dump(minimal | {"spec": spec}, file)


goldens()
everything = []
for path in sys.argv[3:]:
    pods = run(path, "--pods")
    name = path.removeprefix(folder + "/").removesuffix(".yaml") if path.startswith(folder) else path
    if path != f"{folder}/template.yaml":  # the containers of a template are not checked
        check(f"restricted: {name}", problems(pods) if pods else "no pods")
    items = json.loads(pods or "{}").get("items", [])
    everything += items
    check(f"taken: {name}", "\n".join(refusals(items)) if len(items) == 2 else f"{len(items)} pods")
check(f"every field of {len(everything)} pods is known", strangers(everything))
pod = json.loads(run(MINIMAL, "--pods"))["items"][0]
pod["spec"]["hostNetwerk"] = False
said = strangers([pod])
check("a misspelt field is seen", None if said and "hostNetwerk" in said else said or "nothing")
sys.exit(crd_client.failures > 0)
