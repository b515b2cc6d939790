#!/usr/bin/env python3
"""What a cluster does for running jobs, on an API server that tests/cluster/api-server.sh started:
    coordinators.py FOLDER NAMESPACE
Every pod is bound and Running, and at the address of every Service a coordinator answers /progress over TLS, with the
certificate of the job's Secret: 10 items a second of a million are done. The addresses of the server's Services must be
this machine's (tests/bench/status_writes.sh)."""
import base64, http.client, json, os, socketserver, ssl, sys, tempfile, threading, time

folder, namespace = sys.argv[1:3]
port, token = int(open(folder + "/port").read()), open(folder + "/token").read().strip()
context = ssl.create_default_context(cafile=folder + "/pki/ca.crt")
space = "/api/v1/namespaces/%s/" % namespace
local, begin, contexts = threading.local(), time.time(), {}


def ask(method, path, body=None, kind="application/json"):
    if not hasattr(local, "connection"):
        local.connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    local.connection.request(method, path, None if body is None else json.dumps(body),
                             {"Authorization": "Bearer " + token, "Content-Type": kind})
    return json.loads(local.connection.getresponse().read() or b"{}")


def learn():
    """The Services' addresses and certificates; returns the port of their coordinators."""
    secrets = {item["metadata"]["name"]: item["data"] for item in ask("GET", space + "secrets")["items"]}
    answers_at = None
    for service in ask("GET", space + "services")["items"]:
        data = secrets.get(service["metadata"].get("annotations", {}).get("windlass.dev/secret"))
        address = service["spec"].get("clusterIP")
        if not data or address in contexts:
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(base64.b64decode(data["tls.crt"]).decode() + base64.b64decode(data["tls.key"]).decode())
            file.flush()
            mine = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            mine.load_cert_chain(file.name)
        contexts[address] = mine
        answers_at = service["spec"]["ports"][0]["port"]
    return answers_at


class Coordinator(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            mine = contexts.get(self.request.getsockname()[0])
            if mine:
                self.serve(mine.wrap_socket(self.request, server_side=True).makefile("rwb"))
        except OSError:
            pass

    def serve(self, stream):
        while stream.readline():
            while stream.readline() not in (b"\r\n", b""):
                pass
            done = int((time.time() - begin) * 10)
            counts = {"total": 1000000, "done": done, "failed": 0, "retried": 0}
            requests = {"requests": done, "answers": done, "tokensIn": 100 * done, "tokensPerSecond": 1000 + done % 9}
            body = json.dumps({"state": "Running", "message": "the workers score", "workers": 1, "items": counts, "miniBatches": counts,
                               "requests": requests,
                               "itemsPerSecond": "%.1f" % (10 + done % 7 / 10), "secondsLeft": (1000000 - done) // 10}).encode()
            stream.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            stream.flush()


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 1024


def run(pods):
    for pod in pods:
        path = space + "pods/" + pod["metadata"]["name"]
        ask("POST", path + "/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod["metadata"]["name"]},
                                        "target": {"apiVersion": "v1", "kind": "Node", "name": "node1"}})
        name, now = pod["spec"]["containers"][0]["name"], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        state = {"name": name, "ready": True, "restartCount": 0, "image": "i", "imageID": "", "state": {"running": {"startedAt": now}}}
        ask("PATCH", path + "/status", {"status": {"phase": "Running", "containerStatuses": [state],
                                                   "conditions": [{"type": "PodScheduled", "status": "True"}]}}, "application/merge-patch+json")


server = None
while os.path.exists(folder):
    at = learn()
    if at and not server:
        server = Server(("0.0.0.0", at), Coordinator)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    new = [pod for pod in ask("GET", space + "pods")["items"] if not pod["spec"].get("nodeName")]
    threads = [threading.Thread(target=run, args=(new[i::4],)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    time.sleep(1)
