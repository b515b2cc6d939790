"""An API server of the tests, over one connection; and checks as lib.sh's, for Python."""
import http.client
import json
import re
import ssl
import time

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
failures = 0


class Server:
    """One that crd-server.sh or (is_old) api-server.sh has started in the folder; as an administrator."""

    def __init__(self, folder, is_old=False):
        keys, name = (folder + "/pki", "admin") if is_old else (folder, "client")
        context = ssl.create_default_context(cafile=keys + "/ca.crt")
        context.load_cert_chain(f"{keys}/{name}.crt", f"{keys}/{name}.key")
        with open(folder + "/kubeconfig") as file:
            [port] = re.findall(r"https://127\.0\.0\.1:(\d+)", file.read())
        self.http = http.client.HTTPSConnection("127.0.0.1", int(port), context=context, timeout=30)

    def ask(self, method, path, body=None, kind="application/yaml", accept="application/json"):
        """The status code and the answer. body: text, or a tree."""
        if body is not None and not isinstance(body, str):
            body, kind = json.dumps(body), kind if "json" in kind else "application/json"
        body = None if body is None else body.encode(errors="surrogateescape")
        self.http.request(method, path, body, {"Content-Type": kind, "Accept": accept})
        answer = self.http.getresponse()
        return answer.status, json.loads(answer.read())

    def patch(self, path, tree):
        return self.ask("PATCH", path, tree, "application/merge-patch+json")

    def conditions_of(self, definition):
        """Those of a definition that is established within 60 s; else None."""
        for _ in range(600):
            _, answer = self.ask("GET", f"{DEFINITIONS}/{definition}")
            conditions = (answer.get("status") or {}).get("conditions") or []
            if {"Established", "NamesAccepted"} == {c["type"] for c in conditions if c["status"] == "True"}:
                return conditions
            time.sleep(0.1)


def causes(answer):
    return (answer.get("details") or {}).get("causes") or []


def check(name, problem=None):
    """problem: what was not so; none: it is as it should be."""
    global failures
    if problem:
        failures += 1
        print("".join(f"# {line}\n" for line in str(problem).splitlines()), end="")
    print("not ok" if problem else "ok", name, flush=True)
