#!/usr/bin/env python3
"""The rounds of first_worker.sh:   first_worker.py CLUSTER_FOLDER ROUNDS RESULT.json
Each applies the demo's manifest (one worker) under a new name, waits until the worker is connected, and deletes the job
again. All clocks are this machine's: kubectl's start by our own, requests by the audit log (ours are those of the
chart's service account), scheduling by the pods' bindings, containers by containerd's events, the agents' lines by the
time that containerd gives each line of a log, the way to the coordinator's Service by connecting to it again and again.
VERBOSE=1 prints what each round saw."""
import datetime, glob, http.client, json, os, re, socket, ssl, statistics, subprocess, sys, threading, time

folder, rounds, result = sys.argv[1], int(sys.argv[2]), sys.argv[3]
CONTROLLER = "system:serviceaccount:windlass:"
WAIT_S = 120


def kubectl(*arguments, **options):
    return subprocess.run(["kubectl", *arguments], check=True, stdout=subprocess.PIPE, **options).stdout.decode()


class Api:
    """GET of the API server as its administrator."""

    def __init__(self):
        context = ssl.create_default_context(cafile=folder + "/pki/ca.crt")
        context.load_cert_chain(folder + "/pki/admin.crt", folder + "/pki/admin.key")
        self.connection = http.client.HTTPSConnection("127.0.0.1", 6443, context=context, timeout=30)

    def get(self, path):
        self.connection.request("GET", path)
        return json.loads(self.connection.getresponse().read())

    def pods(self, job):
        return self.get("/api/v1/namespaces/default/pods?labelSelector=windlass.dev%2Fjob%3D" + job)["items"]


class Way(threading.Thread):
    """When the coordinator's Service first led to it."""

    def __init__(self, job):
        super().__init__(daemon=True)
        self.job, self.open_at, self.ends = job, None, False

    def run(self):
        api, address = Api(), None
        while not address and not self.ends:
            service = api.get("/api/v1/namespaces/default/services/%s-coordinator" % self.job)
            address = service.get("spec", {}).get("clusterIP")
            time.sleep(0.02)
        while not self.open_at and not self.ends:
            with socket.socket() as probe:
                probe.settimeout(0.03)
                if probe.connect_ex((address, 8443)) == 0:
                    self.open_at = time.time()
            time.sleep(0.005)


def seconds(text):
    """Of "2026-11-21T10:44:14.123456789Z", or of containerd's "2026-11-21 10:44:14.123456789 +0000 UTC"."""
    whole, fraction = re.match(r"(\d+-\d+-\d+[T ]\d+:\d+:\d+)\.?(\d*)", text).groups()
    parsed = datetime.datetime.strptime(whole.replace("T", " ") + " +0000", "%Y-%m-%d %H:%M:%S %z")
    return parsed.timestamp() + float("0." + (fraction or "0"))


def await_value(what, get):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        value = get()
        if value:
            return value
        time.sleep(0.05)
    sys.exit("first_worker.py: no %s within %d s" % (what, WAIT_S))


def line_time(job, role, words):
    """When the pod's agent wrote the first line with these words, or None."""
    for path in glob.glob("/var/log/pods/default_%s-%s*/*/0.log" % (job, role)):
        for line in open(path):
            if words in line:
                return seconds(line.split(" ")[0])
    return None


def requests(job):
    """The audit log's lines about the job's objects, as (who, what, name, received, answered)."""
    found = []
    for line in open(folder + "/log/audit.log"):
        if job not in line:
            continue
        event = json.loads(line)
        reference = event.get("objectRef", {})
        what = " ".join(filter(None, (event["verb"], reference.get("resource"), reference.get("subresource"))))
        found.append((event["user"]["username"], what, reference.get("name", ""),
                      seconds(event["requestReceivedTimestamp"]), seconds(event["stageTimestamp"])))
    return found


def covered(intervals, start, end):
    """How much of start to end lies in one of the intervals."""
    total, at = 0.0, start
    for a, b in sorted(intervals):
        a, b = max(a, at), min(b, end)
        if b > a:
            total, at = total + b - a, b
    return total


def container_starts(job):
    """role -> time, of both pods; None while the kubelet has not told their containers' numbers."""
    started = {}
    for pod in api.pods(job):
        id = pod["status"].get("containerStatuses", [{}])[0].get("containerID", "none://none").split("//")[1]
        for line in open(folder + "/log/events.log"):
            if "/tasks/start" in line and id in line:
                started[pod["metadata"]["labels"]["windlass.dev/role"]] = seconds(line)
    return started if len(started) == 2 else None


def measure(number, manifest):
    job = "first-%d" % number
    manifest = dict(manifest, metadata={"name": job})
    manifest["spec"]["output"]["path"] = "data/" + job
    path = "%s/%s.json" % (folder, job)
    with open(path, "w") as file:
        json.dump(manifest, file)
    way = Way(job)
    way.start()
    start = time.time()
    kubectl("apply", "-f", path)
    connected = await_value("worker", lambda: line_time(job, "worker", "connected to the coordinator"))
    way_open = await_value("way to the coordinator", lambda: way.open_at)
    started = await_value("container in the pods' status", lambda: container_starts(job))
    listening = line_time(job, "coordinator", "listening on")
    asked = requests(job)
    stored = next(end for who, what, name, begin, end in asked if what == "create batchscores")
    ours = [row for row in asked if row[0].startswith(CONTROLLER) and row[4] <= connected]
    requested = max(row[4] for row in ours if row[1] == "create pods")
    first = min(row[3] for row in ours)
    bound = max(row[4] for row in asked if row[1] == "create pods binding")
    answering = covered([row[3:5] for row in ours], stored, requested)
    both = max(started.values())
    if os.environ.get("VERBOSE"):
        for who, what, name, begin, end in sorted(asked, key=lambda row: row[3]):
            print("  %7.1f %6.1f ms %s %s (%s)" % ((begin - stored) * 1e3, (end - begin) * 1e3, what, name, who))
        for name, when in [("bound", bound), *started.items(), ("listening", listening), ("way open", way_open),
                           ("connected", connected)]:
            print("  %7.1f ms %s" % ((when - stored) * 1e3, name))
    kubectl("delete", "bs", job, "--wait=false")
    await_value("end of " + job, lambda: not api.pods(job))
    # What the coordinator takes to start is ours, and so is what the worker needs once it has started and there is a
    # way: the coordinator's start also counts where others took longer meanwhile.
    prepared = max(both, way_open)
    row = {"kubectl": stored - start, "controller": requested - stored - answering, "apiServer": answering,
           "scheduler": bound - requested, "kubelet": both - bound, "way": prepared - both,
           "worker": connected - prepared, "total": connected - start,
           "noticed": first - stored, "coordinatorStart": listening - started["coordinator"]}
    row["ours"] = row["controller"] + row["coordinatorStart"] + row["worker"]
    return row


api = Api()
manifest = json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-f",
                              "examples/style-transfer/batchscore.yaml"))
manifest["spec"]["workers"]["max"] = 1
measure(0, manifest)  # not counted: the first pods of a node wait for more than later ones
rows = [measure(number + 1, manifest) for number in range(rounds)]
median = {key: statistics.median(row[key] for row in rows) * 1e3 for key in rows[0]}
worst = {key: max(row[key] for row in rows) * 1e3 for key in rows[0]}
print("kubectl apply to the first worker connected, one node, Kubernetes 1.20 (%d cores), median of %d, and the worst"
      % (os.cpu_count(), rounds))
for key, words in [("kubectl", "kubectl: from its start until the job is stored"),
                   ("controller", "controller: stored to Service, Secret and pods requested  ours"),
                   ("apiServer", "API server: its answers meanwhile"),
                   ("scheduler", "scheduler: requested to both pods bound"),
                   ("kubelet", "kubelet, containerd: bound to both containers started"),
                   ("way", "kubelet, kube-proxy: to a way to the coordinator's Service"),
                   ("worker", "worker: container and way there to connected              ours"),
                   ("total", "all of it"),
                   ("coordinatorStart", "meanwhile, coordinator: container started to listening    ours"),
                   ("ours", "ours of it (wanted: under 150 ms)")]:
    print("  %-64s %7.0f %7.0f ms" % (words, median[key], worst[key]))
os.makedirs(os.path.dirname(result), exist_ok=True)
with open(result, "w") as file:
    json.dump({"rounds": rounds, "medianMs": {k: round(v, 1) for k, v in median.items()},
               "worstMs": {k: round(v, 1) for k, v in worst.items()}}, file)
    file.write("\n")
