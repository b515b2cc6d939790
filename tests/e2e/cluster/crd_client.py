"""An API server of the tests, over one connection; and checks as lib.sh's, for Python."""
import http.client
import json
import re
import ssl
import time

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
failures = 0


class Server:
    """One whose kubeconfig, an administrator's, is in the folder: tests/cluster's scripts write it."""

    def __init__(self, folder):
        with open(folder + "/kubeconfig") as file:
            given = file.read()
        [port] = re.findall(r"https://127\.0\.0\.1:(\d+)", given)
        authority, certificate, key = (re.search(rf'\b{name}: "?([^",}}\n]+)', given)[1]
                                       for name in ("certificate-authority", "client-certificate", "client-key"))
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(certificate, key)
        self.http = http.client.HTTPSConnection("127.0.0.1", int(port), context=context, timeout=30)

    def ask(self, *request, **options):
        """The status code and the answer, which is a tree."""
        code, answer = self.ask_text(*request, **options)
        return code, json.loads(answer)

    def ask_text(self, method, path, body=None, kind="application/yaml", accept="application/json"):
        """The status code and the answer's bytes. body: text, or a tree."""
        if body is not None and not isinstance(body, str):
            body, kind = json.dumps(body), kind if "json" in kind else "application/json"
        body = None if body is None else body.encode(errors="surrogateescape")
        self.http.request(method, path, body, {"Content-Type": kind, "Accept": accept})
        answer = self.http.getresponse()
        return answer.status, answer.read()

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
