"""sweep_page.py FILE DRAWINGS TRIAL...: checks that a sweep.html has at least DRAWINGS drawings, loads nothing, and
names all trials.
sweep_page.py --serve FOLDER: an API server for `windlass status`, with the files sweep.json and trials.json; prints its
port. No one may get, list or watch the resources that FOLDER/denied names (sweeps pods)."""
import http.server
import json
import os
import re
import sys


def hold(path, drawings, trials):
    text = open(path).read()
    assert text.count("<svg") >= drawings, text.count("<svg")
    assert not re.search(r"<script|(src|href)=.http|url\(http", text)
    for trial in trials:
        assert trial in text, trial


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        place = path[path.index("/namespaces/"):] if "/namespaces/" in path else path
        answer = {"apiVersion": "v1", "items": []}
        if place.endswith("/sweeps/small"):
            answer = json.load(open(os.path.join(folder, "sweep.json")))
        elif place.endswith("/disttrains"):
            assert "labelSelector" not in query or "labelSelector=windlass.dev%2Fjob%3Dsmall" in query, query
            answer["items"] = json.load(open(os.path.join(folder, "trials.json")))
        elif place.endswith("/sweeps"):
            answer["items"] = [json.load(open(os.path.join(folder, "sweep.json")))]
        elif re.search(r"/(batchscores|disttrains)/small$", place):
            answer = None
        denied = os.path.join(folder, "denied")
        what = re.search(r"/(\w+)(/small)?$", place)[1]
        if os.path.exists(denied) and what in open(denied).read().split():
            group = "" if what == "pods" else ".windlass.dev"
            verb = "get" if place.endswith("/small") else "list"
            words = f'{what}{group} is forbidden: User "eve" cannot {verb} resource "{what}" in the namespace "default"'
            return self.say(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": words})
        if answer:
            return self.say(200, answer)
        self.say(404, {"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"})

    def say(self, code, answer):
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


if sys.argv[1] == "--serve":
    folder = sys.argv[2]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    print(server.server_address[1], flush=True)
    server.serve_forever()
hold(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
