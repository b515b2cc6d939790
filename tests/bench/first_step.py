#!/usr/bin/env python3
"""The rounds of first_step.sh:   first_step.py CLUSTER_FOLDER ROUNDS RESULT.json
Each applies the example's training (four workers) under a new name, waits until its first step is done, and deletes the job again.
The hub's lines say when all workers are registered and when they start, rank 0's first line of a step when that is done.
VERBOSE=1 prints what each round saw."""
import json, os, statistics, sys, time

from cluster_clock import *

rounds, result = int(sys.argv[2]), sys.argv[3]
WORKERS = 4


def here(job):
    """When the last worker registered; None until all have."""
    times = [line_time(job, "0", "worker %d (" % index) for index in range(WORKERS)]
    return None if None in times else max(times)


def measure(number, manifest):
    job = "step-%d" % number
    manifest = dict(manifest, metadata={"name": job})
    manifest["spec"]["trainer"]["output"]["path"] = "data/" + job
    path = "%s/%s.json" % (folder, job)
    with open(path, "w") as file:
        json.dump(manifest, file)
    way = Way(job + "-hub")
    way.start()
    start = time.time()
    kubectl("apply", "-f", path)
    step = await_value("first step", lambda: line_time(job, "0", "step 1 of "))
    registered = await_value("registration", lambda: here(job))
    way_open = await_value("way to the hub", lambda: way.open_at)
    started = await_value("container in the pods' status", lambda: container_starts(job, "index", WORKERS))
    begun = line_time(job, "0", ": all start")
    asked = requests(job)
    stored = next(end for who, what, name, begin, end in asked if what == "create disttrains")
    ours = [row for row in asked if row[0].startswith(CONTROLLER) and row[4] <= step]
    requested = max(row[4] for row in ours if row[1] == "create pods")
    bound = max(row[4] for row in asked if row[1] == "create pods binding")
    answering = covered([row[3:5] for row in ours], stored, requested)
    all_run = max(started.values())
    if os.environ.get("VERBOSE"):
        for name, when in [("requested", requested), ("bound", bound), *sorted(started.items()), ("way open", way_open),
                           ("registered", registered), ("all start", begun), ("first step", step)]:
            print("  %7.1f ms %s" % ((when - stored) * 1e3, name))
    kubectl("delete", "dt", job, "--wait=false")
    await_value("end of " + job, lambda: not api.pods(job))
    prepared = max(all_run, way_open)
    return {"kubectl": stored - start, "controller": requested - stored - answering, "apiServer": answering,
            "scheduler": bound - requested, "kubelet": all_run - bound, "way": prepared - all_run,
            "register": registered - prepared, "arm": begun - registered, "train": step - begun, "total": step - start}


manifest = json.loads(kubectl("create", "--dry-run=client", "-o", "json", "-f", "examples/fashion-mnist/disttrain.yaml"))
measure(0, manifest)  # not counted: the first pods of a node wait longer than later ones
rows = [measure(number + 1, manifest) for number in range(rounds)]
median = {key: statistics.median(row[key] for row in rows) * 1e3 for key in rows[0]}
worst = {key: max(row[key] for row in rows) * 1e3 for key in rows[0]}
print("kubectl apply to the first step of four workers, one node, Kubernetes 1.20 (%d cores), median of %d, and the worst"
      % (os.cpu_count(), rounds))
for key, words in [("kubectl", "kubectl: from its start until the job is stored"),
                   ("controller", "controller: stored to Service, Secret and pods requested  ours"),
                   ("apiServer", "API server: its answers meanwhile"),
                   ("scheduler", "scheduler: requested to all pods bound"),
                   ("kubelet", "kubelet, containerd: bound to all containers started"),
                   ("way", "kubelet, kube-proxy: to a way to the hub's Service"),
                   ("register", "then, until the last worker is registered                  ours"),
                   ("arm", "then, until all have their hosts and reach each other      ours"),
                   ("train", "then mpirun, ranks, data, and the first step                ours"),
                   ("total", "all of it")]:
    print("  %-64s %7.0f %7.0f ms" % (words, median[key], worst[key]))
write_result(result, rounds, median, worst)
