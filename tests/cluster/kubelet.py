#!/usr/bin/env python3
"""Writes the pods' status as a kubelet and a scheduler would, on an API server that has neither:
    kubelet.py FOLDER [RUN_SECONDS]     FOLDER is api-server.sh's; until SIGTERM
Where several scripts share the server, FOLDER/namespace names the one whose pods are this one's.
Nothing runs: pods are bound, Running, and after RUN_SECONDS (0.5) the coordinator's ends, with a termination message.
The name of a job chooses the course: fail-*: the coordinator gives up; ooms-*: every worker runs out of memory;
oom-*: only each worker's first attempt; evict-*: worker 0 is evicted once; crash-*: the coordinator is
killed once; stuck-*: the image cannot be pulled; wait-*: the coordinator runs on; hang-*: the same, and while FOLDER/hangs
exists no deleted pod ends. All others succeed.
A trial of a Sweep reports its parameter X, if it has one, as the objective, in its termination message.
Of a DistTrain the first pod (the hub) ends RUN_SECONDS after all are running; fail-*: it gives up; crash-*: it is killed
once; oom-*: each other member's first attempt runs out of memory; evict-*: member 1 is evicted once; queued-*: only those with the annotation let-go get
a node; half-*: member 2 gets none as long as FOLDER/full exists.
A pod that waits for a run of a series (role watch) sees the mark in FOLDER/sight-JOB, once it has changed.
Each pod's log has ten numbered lines a second while it runs; a follower is cut off once, after 5 lines.
FOLDER/violations gets a line whenever two pods have one role, or one name was used twice in a job."""
import datetime, http.client, http.server, json, os, signal, ssl, sys, threading, time, urllib.parse

folder, run_s = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
port = int(open(folder + "/port").read())
token = open(folder + "/token").read().strip()
context = ssl.create_default_context(cafile=folder + "/pki/ca.crt")
scope = open(folder + "/namespace").read().strip() if os.path.exists(folder + "/namespace") else ""
node = "node-" + scope if scope else "node1"
connection = None
stopped = False
signal.signal(signal.SIGTERM, lambda *_: globals().update(stopped=True))


def ask(method, path, body=None, kind="application/json"):
    global connection
    for _ in range(50):
        try:
            if connection is None:
                connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Authorization": "Bearer " + token, "Content-Type": kind})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else {}
        except (OSError, http.client.HTTPException):  # the server restarts
            connection = None
            time.sleep(0.1)
    sys.exit("kubelet.py: the API server is gone")


# The jobs' pods as the API server has them, by uid: a list of all, twenty times a second, would take most of its processor.
known, known_lock = {}, threading.Lock()
PODS = "/api/v1/" + ("namespaces/%s/" % scope if scope else "") + "pods?labelSelector=windlass.dev%2Fjob"


def read_pods(server, more=""):
    server.request("GET", PODS + more, headers={"Authorization": "Bearer " + token})
    return server.getresponse()


def follow_once():
    server = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
    tree = json.loads(read_pods(server).read())
    with known_lock:
        known.clear()
        known.update((pod["metadata"]["uid"], pod) for pod in tree["items"])
    for line in read_pods(server, "&watch=1&resourceVersion=" + tree["metadata"]["resourceVersion"]):
        event = json.loads(line)
        uid = event["object"]["metadata"]["uid"]  # not in an error, after which all are listed again
        with known_lock:
            if event["type"] == "DELETED":
                known.pop(uid, None)
            else:
                known[uid] = event["object"]


def follow():
    while True:
        try:
            follow_once()
        except (OSError, http.client.HTTPException, ValueError, KeyError):  # the server restarts, or has forgotten that version
            time.sleep(0.1)


def now():
    return datetime.datetime.utcnow().strftime("%Y-%m-%dT%H:%M:%SZ")


def status(pod, phase, state, **more):
    name = pod["spec"]["containers"][0]["name"]
    if phase == "Running":
        began.setdefault(pod["metadata"]["name"], time.time())
    elif phase in ("Succeeded", "Failed"):
        ended_at.setdefault(pod["metadata"]["name"], time.time())
    content = {"phase": phase, "conditions": [{"type": "PodScheduled", "status": "True"}], **more}
    if state:
        content["containerStatuses"] = [{"name": name, "ready": phase == "Running", "restartCount": 0, "image": "i",
                                         "imageID": "", "state": state}]
    ask("PATCH", path_of(pod) + "/status", {"status": content}, "application/merge-patch+json")


def path_of(pod):
    return "/api/v1/namespaces/%s/pods/%s" % (pod["metadata"]["namespace"], pod["metadata"]["name"])


def end(pod, code, reason, message=""):
    status(pod, "Failed" if code else "Succeeded",
           {"terminated": {"exitCode": code, "reason": reason, "message": message, "finishedAt": now()}})


WORDS = {"state": "Succeeded", "message": "all done", "workers": 0, "itemsPerSecond": "12.5", "outputs": ["data/out/in.mp4"],
         "miniBatches": {"total": 4, "done": 4, "failed": 0, "retried": 0},
         "items": {"total": 8, "done": 8, "failed": 0, "retried": 0}, "summary": "data/out/summary.json"}


def end_coordinator(pod, job, attempt):
    if job.startswith(("wait-", "hang-", "ooms-")):
        return
    if job.startswith("fail-"):
        words = dict(WORDS, state="Failed", message="mini-batch 3 failed: no such luck")
        words["miniBatches"] = dict(WORDS["miniBatches"], done=3, failed=1)
        end(pod, 1, "Error", json.dumps(words))
    elif job.startswith("crash-") and attempt == 1:
        end(pod, 137, "Error")
    else:
        end(pod, 0, "Completed", json.dumps(WORDS))


def end_worker(pod, job, attempt, index):
    if job.startswith("ooms-") or (job.startswith("oom-") and attempt == 1):
        end(pod, 137, "OOMKilled")
    elif job.startswith("evict-") and attempt == 1 and index == "0":
        status(pod, "Failed", None, reason="Evicted", message="The node was low on resource: memory.")


def trained(pod):
    """The last words of a gang that succeeded: PARAM_X is its metric, as 8 reports with a point at each."""
    words = {"state": "Succeeded", "message": "all done", "step": 8}
    x = [v.get("value", "") for v in pod["spec"]["containers"][0]["env"] if v["name"] == "PARAM_X"]
    if x:
        at = " ".join("%d::%s:%s" % (k, x[0], x[0]) for k in range(1, 9))
        words["objective"] = {"reports": 8, "last": x[0], "best": x[0], "mean": x[0], "at": at}
    return json.dumps(words)


def end_member(pod, job, attempt, index, is_whole):
    if index != "0":
        if job.startswith("oom-") and attempt == 1:
            end(pod, 137, "OOMKilled")
        elif job.startswith("evict-") and attempt == 1 and index == "1":
            status(pod, "Failed", None, reason="Evicted", message="The node was low on resource: memory.")
    elif is_whole and not job.startswith(("wait-", "hang-")):
        if job.startswith("fail-"):
            end(pod, 1, "Error", json.dumps({"state": "Failed", "reason": "RankFailed", "message": "no such luck", "step": 8}))
        elif job.startswith("crash-") and attempt == 1:
            end(pod, 137, "Error")
        else:
            end(pod, 0, "Completed", trained(pod))


def watch(pod, job):
    try:
        sight = open("%s/sight-%s" % (folder, job)).read()
    except FileNotFoundError:
        return
    mark = [v.get("value", "") for v in pod["spec"]["containers"][0]["env"] if v["name"] == "WINDLASS_MARK"]
    if mark != [json.loads(sight)["mark"]]:
        end(pod, 0, "Completed", sight)


##### logs, as the API server asks a kubelet for them #####
began, ended_at, was_cut = {}, {}, set()  # pod -> time; pods


def stamp(when):
    return datetime.datetime.utcfromtimestamp(when).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


class Logs(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        pod = self.path.split("?")[0].split("/")[3]
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
        follow, line, sent = query.get("follow") == "true", 0, 0
        self.send_response(200)
        self.end_headers()
        while pod in began:
            when = began[pod] + line * 0.1
            if when > ended_at.get(pod, time.time()):
                if not follow or pod in ended_at:
                    return
                time.sleep(0.02)
                continue
            line += 1
            if stamp(when)[:19] + "Z" >= query.get("sinceTime", ""):
                self.wfile.write(("%s line %d\n" % (stamp(when), line)).encode())
                self.wfile.flush()
                sent += 1
            if follow and sent == 5 and pod not in was_cut:
                was_cut.add(pod)
                return

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Logs)
own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
own.load_cert_chain(folder + "/pki/server.crt", folder + "/pki/server.key")
server.socket = own.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
ask("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
ask("PATCH", "/api/v1/nodes/" + node + "/status", {"status": {
    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
    "daemonEndpoints": {"kubeletEndpoint": {"Port": server.server_address[1]}}}}, "application/merge-patch+json")

seen_running, names, told = {}, {}, set()


def tell(line):
    if line not in told:
        told.add(line)
        with open(folder + "/violations", "a") as file:
            file.write(line + "\n")


def check(pods):
    roles = {}
    for pod in pods:
        meta = pod["metadata"]
        if not meta.get("ownerReferences"):  # its job was deleted and left it as an orphan
            continue
        owner = meta["ownerReferences"][0]["uid"]
        if names.setdefault((owner, meta["name"]), meta["uid"]) != meta["uid"]:
            tell("%s was made twice" % meta["name"])
        if pod["status"].get("phase") in ("Pending", "Running") and "deletionTimestamp" not in meta:
            labels = meta["labels"]
            role = (owner, labels["windlass.dev/role"], labels.get("windlass.dev/index", ""))
            roles.setdefault(role, []).append(meta["name"])
    for role, here in roles.items():
        if len(here) > 1:
            tell("one role, two pods: " + " ".join(here))


gangs = {}  # uid of a DistTrain -> indexes of its running members


def is_whole_gang(pod):
    spec = [v.get("value", "") for v in pod["spec"]["containers"][0]["env"] if v["name"] == "WINDLASS_SPEC"]
    return len(gangs.get(pod["metadata"]["ownerReferences"][0]["uid"], ())) >= json.loads(spec[0])["workers"]


def see_gangs(pods):
    gangs.clear()
    for pod in pods:
        if is_in(pod, "member", "Running") and "deletionTimestamp" not in pod["metadata"]:
            gangs.setdefault(pod["metadata"]["ownerReferences"][0]["uid"], set()).add(
                pod["metadata"]["labels"].get("windlass.dev/index"))


def step(pod, jobs_with_workers, ended_jobs):
    meta, phase = pod["metadata"], pod["status"].get("phase")
    labels = meta["labels"]
    job, attempt = labels["windlass.dev/job"], int(labels.get("windlass.dev/attempt", "1"))
    is_coordinator = labels["windlass.dev/role"] == "coordinator"
    if "deletionTimestamp" in meta and job.startswith("hang-") and os.path.exists(folder + "/hangs"):
        pass
    elif "deletionTimestamp" in meta:
        ended_at.setdefault(meta["name"], time.time())
        ask("DELETE", path_of(pod), {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
    elif not pod["spec"].get("nodeName") and job.startswith("queued-") and "let-go" not in meta.get("annotations", {}):
        if not pod["status"].get("conditions"):  # as an API server that knows gates
            gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
            ask("PATCH", path_of(pod) + "/status", {"status": {"conditions": [gated]}}, "application/merge-patch+json")
    elif not pod["spec"].get("nodeName") and job.startswith("half-") and labels["windlass.dev/index"] == "2" and os.path.exists(folder + "/full"):
        if not pod["status"].get("conditions"):
            unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available."}
            ask("PATCH", path_of(pod) + "/status", {"status": {"conditions": [unschedulable]}}, "application/merge-patch+json")
    elif not pod["spec"].get("nodeName"):
        ask("POST", path_of(pod) + "/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]},
                                                "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
    elif phase == "Pending" and job.startswith("stuck-"):
        if not pod["status"].get("containerStatuses"):
            status(pod, "Pending", {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "nope"'}})
    elif phase == "Pending":
        status(pod, "Running", {"running": {"startedAt": now()}})
    elif phase == "Running" and is_coordinator:
        since = seen_running.setdefault(meta["uid"], time.monotonic())
        if time.monotonic() - since >= run_s and job in jobs_with_workers:
            end_coordinator(pod, job, attempt)
    elif phase == "Running" and labels["windlass.dev/role"] == "member":
        since = seen_running.setdefault(meta["uid"], time.monotonic())
        is_whole = time.monotonic() - since >= run_s and is_whole_gang(pod)
        end_member(pod, job, attempt, labels.get("windlass.dev/index"), is_whole)
    elif phase == "Running" and labels["windlass.dev/role"] == "watch":
        watch(pod, job)
    elif phase == "Running":
        end_worker(pod, job, attempt, labels.get("windlass.dev/index"))
        if job in ended_jobs:
            end(pod, 0, "Completed")


def is_in(pod, role, phase):
    return pod["metadata"]["labels"]["windlass.dev/role"] == role and pod["status"].get("phase") == phase


threading.Thread(target=follow, daemon=True).start()
working = set()  # jobs that have or had a running worker
while not stopped:
    with known_lock:
        pods = list(known.values())
    check(pods)
    see_gangs(pods)
    job_of = lambda pod: pod["metadata"]["labels"]["windlass.dev/job"]
    working |= {job_of(pod) for pod in pods if is_in(pod, "worker", "Running")}
    ended = {job_of(pod) for pod in pods if is_in(pod, "coordinator", "Succeeded")}
    for pod in pods:
        if not stopped:
            step(pod, working, ended)
    time.sleep(0.05)
