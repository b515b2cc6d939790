"""What scripts ask an API server by kubectl, without a kubectl's start each time (0.1 s of a processor and more): for
ask_kubectl (tests/cluster/lib.sh).

    warm_kubectl.py FOLDER    FOLDER/kubeconfig says which server and namespace; the port where it listens goes to
                              FOLDER/warm-port. It ends with the process that started it.

A call is texts that each end with a zero byte: their number but this one and the last, kubectl's arguments, and its standard
input. The answer's first line is the exit code and what follows it: "text" (of a line or a few) or "long". The exit code
"kubectl" says that this call needs kubectl itself: what is not below, objects that are there already when they are applied,
and what a server did not answer."""
import http.client
import json
import os
import re
import socketserver
import sys
import threading
import urllib.parse

import crd_client
import yaml


class NeedsKubectl(Exception):
    pass


class Refused(Exception):
    pass


NAMES = {"pod": "pods", "service": "services", "svc": "services", "secret": "secrets", "namespace": "namespaces",
         "bs": "batchscores", "batchscore": "batchscores", "dt": "disttrains", "disttrain": "disttrains",
         "sw": "sweeps", "sweep": "sweeps", "controllerrevision": "controllerrevisions",
         "crd": "customresourcedefinitions", "lease": "leases", "event": "events",
         "deployment": "deployments"}
# By plural: the kind, and where it is. Those of windlass.dev are in the version that the server prefers, as kubectl's are.
KINDS = {"pods": ("Pod", "/api/v1"), "services": ("Service", "/api/v1"), "secrets": ("Secret", "/api/v1"),
         "namespaces": ("Namespace", "/api/v1"), "controllerrevisions": ("ControllerRevision", "/apis/apps/v1"),
         "events.events.k8s.io": ("Event", "/apis/events.k8s.io/v1"), "events": ("Event", "/api/v1"),
         "leases": ("Lease", "/apis/coordination.k8s.io/v1"), "deployments": ("Deployment", "/apis/apps/v1"),
         "podgroups.scheduling.x-k8s.io": ("PodGroup", "/apis/scheduling.x-k8s.io/v1alpha1"),
         "podgroups.scheduling.volcano.sh": ("PodGroup", "/apis/scheduling.volcano.sh/v1beta1"),
         "workloads.kueue.x-k8s.io": ("Workload", "/apis/kueue.x-k8s.io/v1beta2"),
         "customresourcedefinitions": ("CustomResourceDefinition", "/apis/apiextensions.k8s.io/v1"),
         "batchscores": ("BatchScore", None), "disttrains": ("DistTrain", None), "sweeps": ("Sweep", None)}
WITHOUT_NAMESPACE = {"namespaces", "customresourcedefinitions"}


##### jsonpath ####################################################################################
STEP = re.compile(r"""\.((?:[-\w/]|\\.)+)|\[['"]([^'"]+)['"]\]|\[(\d+)\]|\[(\*)\]|\[\?\(@\.([\w.]+)==("[^"]*"|'[^']*'|true|false)\)\]""")


def follow(values, expression):
    """All that the expression finds in the values."""
    at = 0
    while at < len(expression):
        step = STEP.match(expression, at)
        if not step:
            raise NeedsKubectl
        at = step.end()
        name, quoted, index, every, key, wanted = step.groups()
        if name or quoted:
            name = quoted or re.sub(r"\\(.)", r"\1", name)
            values = [value[name] for value in values if isinstance(value, dict) and name in value]
        elif index:
            if any(not isinstance(value, list) or int(index) >= len(value) for value in values):
                raise Refused(f"error: array index out of bounds: index {index}")
            values = [value[int(index)] for value in values]
        elif any(not isinstance(value, list) for value in values):
            raise NeedsKubectl
        elif every:
            values = [each for value in values for each in value]
        else:
            wanted = wanted[1:-1] if wanted[0] in "'\"" else wanted == "true"
            values = [each for value in values for each in value if follow([each], "." + key)[:1] == [wanted]]
    return values


def words(value):
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def jsonpath(template, tree):
    def expand(part):
        if not part[1].startswith((".", "[")):
            raise NeedsKubectl
        return " ".join(map(words, follow([tree], part[1])))
    return re.sub(r"\{((?:[^{}'\"]|'[^']*'|\"[^\"]*\")*)\}", expand, template)


##### what kubectl was asked ######################################################################
class Call:
    """The arguments, of which each option is taken once by the verb that knows it."""

    def __init__(self, arguments, text):
        self.text, self.options, self.names = text, {}, []
        while arguments:
            word = arguments.pop(0)
            if word.startswith("--"):
                name, equals, value = word[2:].partition("=")
                if not equals and name in ("type", "field-selector"):
                    value = arguments.pop(0)
                self.options[name] = value
            elif re.fullmatch("-[nolpfc]", word):
                self.options[word[1:]] = arguments.pop(0)
            elif word == "-A":
                self.options["A"] = ""
            elif word.startswith("-"):
                raise NeedsKubectl
            else:
                self.names.append(word)
        self.verb = self.names.pop(0)

    def take(self, name, default=None):
        return self.options.pop(name, default)

    def ends(self):
        if self.options:
            raise NeedsKubectl


class Kubectl:
    def __init__(self, folder):
        self.lock = threading.Lock()
        self.folder = folder
        self.server = None

    def namespace(self, call):
        """That of -n; else that of the kubeconfig, which `kubectl config set-context` changes."""
        with open(self.folder + "/kubeconfig") as file:
            found = re.search(r'\bnamespace: "?([-\w]+)', file.read())
        return call.take("n", found[1] if found else "default")

    def ask_text(self, *request):
        with self.lock:
            try:
                self.server = self.server or crd_client.Server(self.folder)
                return self.server.ask_text(*request)
            except (OSError, http.client.HTTPException):
                self.server = None  # it was restarted, or is paused
                raise NeedsKubectl from None

    def ask(self, method, path, body=None, kind="application/json"):
        """The answer; Refused with kubectl's words where it is an error."""
        code, text = self.ask_text(method, path, body, kind)
        try:
            answer = json.loads(text)
        except ValueError:
            raise NeedsKubectl from None
        if code >= 400:
            if not (answer.get("details") or {}).get("kind"):  # of a path that the server does not have
                raise NeedsKubectl
            refused = Refused(f"Error from server ({answer.get('reason')}): {answer.get('message')}")
            refused.code = code
            raise refused
        return answer

    def place(self, word):
        """Of pods, bs, batchscores.v1beta1.windlass.dev: the plural, kind, and path of all namespaces."""
        known = re.fullmatch(r"(\w+)\.(v\w+)\.windlass\.dev", word)
        plural = known[1] if known else NAMES.get(word, word).removesuffix(".windlass.dev")
        if plural not in KINDS:
            raise NeedsKubectl
        kind, path = KINDS[plural]
        if path is None:
            version = known[2] if known else self.ask_plain("/apis/windlass.dev")["preferredVersion"]["version"]
            path = f"/apis/windlass.dev/{version}"
        return plural, kind, path

    def ask_plain(self, path):
        answer = self.ask("GET", path)
        if "preferredVersion" not in answer:
            raise NeedsKubectl
        return answer

    def path(self, plural, path, namespace):
        inside = f"/namespaces/{namespace}" if namespace and plural not in WITHOUT_NAMESPACE else ""
        return f"{path}{inside}/{plural.split('.')[0]}"

    def targets(self, call):
        """What KIND NAME..., KIND/NAME... or KIND[,KIND] name: for each (plural, kind, path, name or None)."""
        if not call.names:
            raise NeedsKubectl
        if "/" in call.names[0]:
            pairs = [one.split("/", 1) for one in call.names]
        elif len(call.names) > 1:
            pairs = [(call.names[0], name) for name in call.names[1:]]
        else:
            pairs = [(word, None) for word in call.names[0].split(",")]
        return [(*self.place(word), name) for word, name in pairs]

    def listed(self, target, namespace, query):
        plural, kind, path, _ = target
        answer = self.ask("GET", self.path(plural, path, namespace) + query)
        version = answer["apiVersion"]
        return [{"apiVersion": version, "kind": kind} | one for one in answer["items"]]

    def found(self, call):
        """The namespace; for each target its objects, or an error's words."""
        namespace = None if call.take("A") is not None else self.namespace(call)
        given = {"labelSelector": call.take("l"), "fieldSelector": call.take("field-selector")}
        query = urllib.parse.urlencode({name: value for name, value in given.items() if value})
        targets, objects, errors = self.targets(call), [], []
        for target in targets:
            plural, _, path, name = target
            if name is None:
                objects += [(plural, one) for one in self.listed(target, namespace, "?" + query if query else "")]
                continue
            if namespace is None or query:
                raise NeedsKubectl
            try:
                objects.append((plural, self.ask("GET", f"{self.path(plural, path, namespace)}/{name}")))
            except Refused as error:
                errors.append(str(error))
        return namespace, targets, objects, errors

    def get(self, call):
        form = call.take("o")
        if form is None or not (form in ("name", "json") or form.startswith("jsonpath=")):
            raise NeedsKubectl
        one_is_named = len(call.names) == (1 if "/" in (call.names or [""])[0] else 2)
        _, _, objects, errors = self.found(call)
        call.ends()
        if form == "name":
            text = "".join(f"{self.full_name(plural, one)}\n" for plural, one in objects)
        else:
            tree = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "", "selfLink": ""},
                    "items": [one for _, one in objects]}
            if one_is_named and objects:
                tree = objects[0][1]
            if one_is_named and errors:
                text = ""
            else:
                text = json.dumps(tree, indent=4) + "\n" if form == "json" else jsonpath(form[len("jsonpath="):], tree)
        if errors:
            raise Refused("\n".join(errors))
        return text

    def full_name(self, plural, one):
        group = one["apiVersion"].rpartition("/")[0]
        return f"{one['kind'].lower()}{'.' + group if group else ''}/{one['metadata']['name']}"

    def delete(self, call):
        body = {"propagationPolicy": "Background"}
        is_forced = call.take("force") is not None and call.take("grace-period") == "0"
        if is_forced:
            body["gracePeriodSeconds"] = 0
        if call.take("wait") != "false" and not is_forced:
            raise NeedsKubectl
        is_all = call.take("all") is not None
        if not is_all and "l" not in call.options and len(call.names) == 1 and "/" not in call.names[0]:
            raise NeedsKubectl
        namespace, _, objects, errors = self.found(call)
        call.ends()
        text = ""
        for plural, one in objects:
            meta = one["metadata"]
            try:
                self.ask("DELETE", self.path_of(plural, one, namespace), body)
                text += f"{plural} {meta['name']} deleted\n"
            except Refused as error:
                errors.append(str(error))
        if errors:
            raise Refused("\n".join(errors))
        return text

    def path_of(self, plural, one, namespace=None):
        version = one["apiVersion"]
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{self.path(plural, path, one['metadata'].get('namespace', namespace))}/{one['metadata']['name']}"

    def change(self, call, body, form="merge"):
        namespace = self.namespace(call)
        targets = self.targets(call)
        call.ends()
        for plural, _, path, name in targets:
            if name is None:
                raise NeedsKubectl
            self.ask("PATCH", f"{self.path(plural, path, namespace)}/{name}", body, f"application/{form}-patch+json")
        return "".join(f"{plural}/{name} patched\n" for plural, _, _, name in targets)

    def patch(self, call):
        form, body = call.take("type"), call.take("p")
        if form not in ("merge", "json") or body is None:
            raise NeedsKubectl
        return self.change(call, body, form)

    def label(self, call, field="labels"):
        call.take("overwrite")
        given = [word for word in call.names[1:] if "=" in word or word.endswith("-")]
        call.names = [word for word in call.names if word not in given]
        values = {word[:-1]: None for word in given if "=" not in word} | dict(word.split("=", 1) for word in given if "=" in word)
        return self.change(call, json.dumps({"metadata": {field: values}}))

    def annotate(self, call):
        return self.label(call, "annotations")

    def apply(self, call):
        """New objects, with what kubectl keeps of them for its next apply."""
        namespace = self.namespace(call)
        if call.take("f") != "-" or call.names:
            raise NeedsKubectl
        call.take("validate")
        call.ends()
        objects = [one for one in yaml.load_all(call.text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if one]
        plurals = {kind: plural for plural, (kind, _) in KINDS.items() if "." not in plural}
        for one in objects:
            if one["kind"] not in plurals:
                raise NeedsKubectl
            plural = plurals[one["kind"]]
            if plural not in WITHOUT_NAMESPACE:
                one["metadata"].setdefault("namespace", namespace)
            try:
                self.ask("GET", self.path_of(plural, one))
                raise NeedsKubectl
            except Refused as error:
                if error.code != 404:
                    raise
        text = ""
        for one in objects:
            notes = one["metadata"].setdefault("annotations", {})
            notes["kubectl.kubernetes.io/last-applied-configuration"] = json.dumps(one, separators=(",", ":"), sort_keys=True) + "\n"
            path = self.path_of(plurals[one["kind"]], one).rpartition("/")[0]
            self.ask("POST", path, one)
            text += f"{one['kind'].lower()}/{one['metadata']['name']} created\n"
        return text

    def create(self, call):
        """Only what a manifest is as JSON: create --dry-run=client -f FILE -o json"""
        if (call.take("dry-run"), call.take("o")) != ("client", "json") or call.names:
            raise NeedsKubectl
        with open(call.take("f")) as file:
            [one] = yaml.safe_load_all(file)
        one["metadata"].setdefault("namespace", self.namespace(call))
        call.ends()
        return json.dumps(one, indent=4) + "\n"

    def logs(self, call):
        namespace, lines, container = self.namespace(call), call.take("tail"), call.take("c")
        call.ends()
        [name] = call.names
        given = {name: value for name, value in (("tailLines", lines), ("container", container)) if value}
        path = f"/api/v1/namespaces/{namespace}/pods/{name.removeprefix('pod/')}/log?{urllib.parse.urlencode(given)}"
        code, text = self.ask_text("GET", path)
        if code >= 400:
            raise NeedsKubectl
        return text.decode(errors="surrogateescape")

    def answer(self, arguments, text):
        """Its exit code, and what it prints there: on standard output if that is 0, else on standard error."""
        try:
            call = Call(arguments, text)
            verb = {"get": self.get, "delete": self.delete, "patch": self.patch, "label": self.label,
                    "annotate": self.annotate, "apply": self.apply, "create": self.create, "logs": self.logs}.get(call.verb)
            if verb is None:
                raise NeedsKubectl
            return "0", verb(call)
        except Refused as error:
            return "1", f"{error}\n"
        except (NeedsKubectl, IndexError, KeyError, TypeError, ValueError, OSError):
            return "kubectl", ""


class Handler(socketserver.StreamRequestHandler):
    def text(self):
        read = bytearray()
        while byte := self.rfile.read(1):
            if byte == b"\0":
                return read.decode()
            read += byte
        raise EOFError

    def handle(self):
        count = int(self.text())
        arguments = [self.text() for _ in range(count)]
        code, text = kubectl.answer(arguments, self.text())
        self.wfile.write(f"{code} {'text' if len(text) < 2000 else 'long'}\n{text}".encode(errors="surrogateescape"))


class Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def service_actions(self):
        if os.getppid() != parent:
            os._exit(0)


if __name__ == "__main__":
    parent = os.getppid()
    kubectl = Kubectl(sys.argv[1])
    listener = Listener(("127.0.0.1", 0), Handler)
    with open(sys.argv[1] + "/warm-port.new", "w") as file:
        file.write(f"{listener.server_address[1]}\n")
    os.rename(sys.argv[1] + "/warm-port.new", sys.argv[1] + "/warm-port")
    listener.serve_forever(1)
