"""Asks api-server.sh's server what a service account may do, for test_chart.sh, over one connection:

    access.py FOLDER yes|no NAMESPACE:ACCOUNT NAMESPACE <CALLS

CALLS: as `kubectl auth can-i` takes them, VERB RESOURCE[.GROUP] [--subresource=NAME], with | or line ends between them.
Prints a line for each whose answer is another one; exit code 1: there are such."""
import sys

import crd_client

folder, wanted, account, namespace = sys.argv[1:]
server = crd_client.Server(folder)
GROUPS = ["system:serviceaccounts", "system:serviceaccounts:" + account.split(":")[0], "system:authenticated"]
ROLES = {"roles", "clusterroles"}  # kubectl finds their group by itself
bad = 0
calls = sys.stdin.read().replace("|", "\n").split("\n")
for call in filter(None, calls):
    verb, resource, *more = call.split()
    name, _, group = resource.partition(".")
    attributes = {"namespace": namespace, "verb": verb, "resource": name,
                  "group": "rbac.authorization.k8s.io" if name in ROLES else group}
    if more:
        attributes["subresource"] = more[0].removeprefix("--subresource=")
    code, answer = server.ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "system:serviceaccount:" + account, "groups": GROUPS, "resourceAttributes": attributes}})
    said = ("yes" if answer["status"]["allowed"] else "no") if code == 201 else answer.get("message")
    if said != wanted:
        bad += 1
        print(f"# {said}; {wanted} was wanted in {namespace}: {call}")
sys.exit(bad > 0)
