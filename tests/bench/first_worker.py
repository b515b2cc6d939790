#!/usr/bin/env python3
"""The rounds of first_worker.sh:   first_worker.py CLUSTER_FOLDER ROUNDS RESULT.json
Each applies the demo's manifest (one worker) under a new name, waits until the worker is connected, and deletes the job
again. All clocks are this machine's: kubectl's start by our own, requests by the audit log (ours are those of the
chart's service account), scheduling by the pods' bindings, containers by containerd's events, the agents' lines by the
time that containerd gives each line of a log, the way to the coordinator's Service by connecting to it again and again.
VERBOSE=1 prints what each round saw."""
import json, os, statistics, sys, time

from cluster_clock import *

rounds, result = int(sys.argv[2]), sys.argv[3]

def measure(number, manifest):
    job = "first-%d" % number
    manifest = dict(manifest, metadata={"name": job})
    manifest["spec"]["output"]["path"] = "data/" + job
    path = "%s/%s.json" % (folder, job)
    with open(path, "w") as file:
        json.dump(manifest, file)
    way = Way(job + "-coordinator")
    way.start()
    start = time.time()
    kubectl("apply", "-f", path)
    connected = await_value("worker", lambda: line_time(job, "worker", "connected to the coordinator"))
    way_open = await_value("way to the coordinator", lambda: way.open_at)
    started = await_value("container in the pods' status", lambda: container_starts(job, "role", 2))
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
    # The coordinator's start counts as ours, and so does what the worker does once its container runs and the Service
    # works. The coordinator's start counts even where other components took longer at the same time.
    prepared = max(both, way_open)
    row = {"kubectl": stored - start, "controller": requested - stored - answering, "apiServer": answering,
           "scheduler": bound - requested, "kubelet": both - bound, "way": prepared - both,
           "worker": connected - prepared, "total": connected - start,
           "noticed": first - stored, "coordinatorStart": listening - started["coordinator"]}
    row["ours"] = row["controller"] + row["coordinatorStart"] + row["worker"]
    return row


manifest = json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-f",
                              "examples/style-transfer/batchscore.yaml"))
manifest["spec"]["workers"]["max"] = 1
measure(0, manifest)  # not counted: the first pods of a node wait longer than later ones
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
write_result(result, rounds, median, worst)
