"""many_jobs.py FOLDER COUNT: an API server with COUNT BatchScores, for `windlass ui`: lists in pages, watches that say
nothing more than what FOLDER/event has when it appears, one job with its pod and log (an error when FOLDER/broken is
there), job-00002 with pods whose logs never come, job-00003 that never comes (FOLDER/asked: somebody waits for it).
Writes FOLDER/kubeconfig. It has no other answers; what it was asked that changes something is in FOLDER/changes."""
import http.server
import json
import os
import sys
import time
import urllib.parse

folder, count = sys.argv[1], int(sys.argv[2])
STATES = (("Unknown", "Running"), ("True", "Complete"), ("False", "Failed"), ("Unknown", "Pending"))


def job(number, done):
    value, reason = STATES[number % len(STATES)]
    return {
        "apiVersion": "windlass.dev/v1beta1", "kind": "BatchScore",
        "metadata": {"name": f"job-{number:05d}", "namespace": f"team-{number % 7}", "uid": f"uid-{number}",
                     "resourceVersion": str(number + 1), "creationTimestamp": "2026-11-30T08:00:00Z"},
        "spec": {"input": {"files": {"path": "data/in"}}, "output": {"path": "data/out"}, "workers": {"min": 1, "max": 8},
                 "scorer": {"command": {"image": "registry.example/team/scorer:1", "command": ["score"],
                                        "env": [{"name": "PASSWORD", "value": "hunter2"}]}}},
        "status": {"startTime": f"2026-11-{number % 28 + 1:02d}T{number // 7 % 24:02d}:{number % 60:02d}:00Z",
                   "conditions": [{"type": "Succeeded", "status": value, "reason": reason,
                                   "message": f"{done} of 400 items are done"}],
                   "items": {"total": 400, "done": done, "failed": number % 3}, "itemsPerSecond": "12.5",
                   "secondsLeft": 400 - done, "miniBatches": {"total": 40, "done": done // 10, "retried": number % 5}}}


def jobs(first, size):
    return [job(number, number * 37 % 401) for number in range(first, min(count, first + size))]


def pod(owner, team, role, index):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {
        "name": f"{owner}-{role}-{index}", "namespace": team, "creationTimestamp": "2026-11-30T08:00:00Z",
        "labels": {"windlass.dev/role": role, "windlass.dev/attempt": "1", "windlass.dev/job": owner,
                   **({"windlass.dev/index": str(index)} if role == "worker" else {})}},
        "spec": {"nodeName": "node-3", "containers": [{"name": "agent"}]},
        "status": {"phase": "Running", "containerStatuses": [{"name": "agent", "state": {"running": {}}}]}}


LOG = b"first line\n" + 298 * (b"x" * 400 + b"\n") + b"of the cluster \x1b[2J\n"


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def say(self, status, body, kind="application/json"):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, status, reason):
        self.say(status, {"kind": "Status", "apiVersion": "v1", "code": status, "reason": reason, "message": reason})

    def watch(self, is_first):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        said = not is_first
        while True:
            path = os.path.join(folder, "event")
            if not said and os.path.exists(path):
                self.wfile.write(open(path, "rb").read())
                self.wfile.flush()
                said = True
            time.sleep(0.1)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query))
        leaf = path.rsplit("/", 1)[1]
        if "sendInitialEvents" in asked:
            return self.refuse(422, "Invalid")
        if "watch" in asked:
            return self.watch(leaf == "batchscores")
        listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1000000"}, "items": []}
        if leaf == "batchscores":
            first, size = int(asked.get("continue", 0)), int(asked.get("limit", count))
            listed["items"] = jobs(first, size)
            if first + size < count:
                listed["metadata"]["continue"] = str(first + size)
        elif path.endswith("/namespaces/team-0/pods"):
            listed["items"] = [pod("job-00000", "team-0", "coordinator", 1)]
        elif path.endswith("/namespaces/team-2/pods"):
            listed["items"] = [pod("job-00002", "team-2", "worker", index) for index in range(3)]
        elif path.endswith("/batchscores/job-00003"):
            open(os.path.join(folder, "asked"), "w").close()
            time.sleep(120)
        elif leaf == "log" and "/team-2/" in path:
            time.sleep(120)
        elif path.endswith("/batchscores/job-00000") and os.path.exists(os.path.join(folder, "broken")):
            return self.refuse(500, "InternalError")
        elif path.endswith("/batchscores/job-00000"):
            return self.say(200, job(0, 0))
        elif leaf == "log":
            return self.say(200, LOG[:int(asked["limitBytes"])], "text/plain")  # the kubelet stops there, too
        elif leaf not in ("disttrains", "sweeps", "services", "pods"):
            return self.refuse(404, "NotFound")
        self.say(200, listed)

    def do_PATCH(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(os.path.join(folder, "changes"), "a") as file:
            print(self.path, body.decode(), file=file)
        self.say(200, job(0, 0))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
server.daemon_threads = True
with open(os.path.join(folder, "kubeconfig.new"), "w") as file:
    json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{"name": "c", "user": {}}],
               "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
               "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c", "namespace": "team-0"}}]}, file)
os.rename(os.path.join(folder, "kubeconfig.new"), os.path.join(folder, "kubeconfig"))
server.serve_forever()
