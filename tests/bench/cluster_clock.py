"""cluster_clock.py: functions of first_worker.py and first_step.py that read a one-node cluster's clocks
(tests/cluster/up.sh with AUDIT=yes, and containerd's events in FOLDER/log/events.log): requests by the audit log,
containers by containerd's events, the agents' lines by the time that containerd gives each line of a log, the way to a
Service by connecting to it again and again. FOLDER is the first argument."""
import datetime, glob, http.client, json, os, re, socket, ssl, subprocess, sys, threading, time

folder = sys.argv[1]
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
    """The time at which a Service first reached its pod."""

    def __init__(self, service):
        super().__init__(daemon=True)
        self.service, self.open_at, self.ends = service, None, False

    def run(self):
        api, address = Api(), None
        while not address and not self.ends:
            service = api.get("/api/v1/namespaces/default/services/" + self.service)
            address = service.get("spec", {}).get("clusterIP")
            time.sleep(0.02)
        while not self.open_at and not self.ends:
            with socket.socket() as probe:
                probe.settimeout(0.03)
                if probe.connect_ex((address, 8443)) == 0:
                    self.open_at = time.time()
            time.sleep(0.005)


def seconds(text):
    """The time in "2026-11-21T10:44:14.123456789Z", or of containerd's "2026-11-21 10:44:14.123456789 +0000 UTC"."""
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
    sys.exit("no %s within %d s" % (what, WAIT_S))


def line_time(job, pod, words):
    """The time at which the agent of pod JOB-POD... wrote the first line with these words, or None."""
    for path in glob.glob("/var/log/pods/default_%s-%s*/*/0.log" % (job, pod)):
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
    """How much of the time from start to end is in one of the intervals."""
    total, at = 0.0, start
    for a, b in sorted(intervals):
        a, b = max(a, at), min(b, end)
        if b > a:
            total, at = total + b - a, b
    return total


def container_starts(job, label, count):
    """The pods' label -> time, when `count` of them have started; None until the kubelet has reported their containers'
    ids."""
    started = {}
    for pod in api.pods(job):
        id = pod["status"].get("containerStatuses", [{}])[0].get("containerID", "none://none").split("//")[1]
        for line in open(folder + "/log/events.log"):
            if "/tasks/start" in line and id in line:
                started[pod["metadata"]["labels"]["windlass.dev/" + label]] = seconds(line)
    return started if len(started) == count else None


def write_result(path, rounds, median, worst):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump({"rounds": rounds, "medianMs": {k: round(v, 1) for k, v in median.items()},
                   "worstMs": {k: round(v, 1) for k, v in worst.items()}}, file)
        file.write("\n")


api = Api()
