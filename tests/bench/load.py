#!/usr/bin/env python3
"""Objects by the thousand, on an API server that tests/cluster/api-server.sh started:
    load.py FOLDER batchscores NAMESPACE COUNT [finished|running]   one worker each
    load.py FOLDER jobs NAMESPACE COUNT                             Kubernetes' Jobs, of two pods
    load.py FOLDER wide NAMESPACE WORKERS                           one BatchScore
    load.py FOLDER wait NAMESPACE PODS SECONDS    waits until there are PODS pods; prints the number"""
import http.client, json, ssl, sys, threading, time

folder, what, namespace, count = sys.argv[1:4] + [int(sys.argv[4])]
option = sys.argv[5] if len(sys.argv) > 5 else ""
port, token = int(open(folder + "/port").read()), open(folder + "/token").read().strip()
context = ssl.create_default_context(cafile=folder + "/pki/ca.crt")


def connect():
    return http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)


def ask(connection, method, path, body=None, kind="application/json"):
    connection.request(method, path, None if body is None else json.dumps(body),
                       {"Authorization": "Bearer " + token, "Content-Type": kind})
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300 and answer.status != 409:
        sys.exit("load.py: %s %s: %d %s" % (method, path, answer.status, text[:300]))
    return json.loads(text)


def batchscore(name, workers):
    return {"apiVersion": "windlass.dev/v1alpha1", "kind": "BatchScore", "metadata": {"name": name},
            "spec": {"input": {"video": {"path": "data/in.mp4"}}, "scorer": {"onnx": {"path": "data/model.onnx"}},
                     "output": {"path": "data/out"}, "workers": {"min": workers, "max": workers},
                     "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}


def job(name):
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1", "command": ["true"]}]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"parallelism": 2, "completions": 2, "template": {"spec": pod}}}


NOW = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
FINISHED = {"observedGeneration": 1, "run": "0123456789abcdef", "startTime": NOW, "completionTime": NOW, "progress": "8000/8000",
            "items": {"total": 8000, "done": 8000, "failed": 0, "retried": 0},
            "miniBatches": {"total": 1000, "done": 1000, "failed": 0, "retried": 0}, "workers": 0,
            "outputs": ["data/out/in.mp4"], "summary": "data/out/summary.json",
            "conditions": [{"type": "Succeeded", "status": "True", "reason": "Completed", "message": "8000 frames in 100 s",
                            "observedGeneration": 1, "lastTransitionTime": NOW}]}
SCORES = "/apis/windlass.dev/v1alpha1/namespaces/%s/batchscores" % namespace


def create(connection, number):
    if what == "jobs":
        ask(connection, "POST", "/apis/batch/v1/namespaces/%s/jobs" % namespace, job("job-%d" % number))
        return
    name = "%s-%d" % (option or "job", number)
    ask(connection, "POST", SCORES, batchscore(name, 1))
    if option == "finished":
        ask(connection, "PATCH", "%s/%s/status" % (SCORES, name), {"status": FINISHED}, "application/merge-patch+json")


def worker(numbers):
    connection = connect()
    for number in numbers:
        create(connection, number)


def pods(connection):
    answer = ask(connection, "GET", "/api/v1/namespaces/%s/pods?limit=1" % namespace)
    return len(answer["items"]) + answer["metadata"].get("remainingItemCount", 0)


if what in ("batchscores", "jobs"):
    threads = [threading.Thread(target=worker, args=(range(i, count, 4),)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
elif what == "wide":
    ask(connect(), "POST", SCORES, batchscore("wide", count))
else:
    connection, end = connect(), time.monotonic() + float(option)
    seen = pods(connection)
    while seen < count and time.monotonic() < end:
        time.sleep(0.1)
        seen = pods(connection)
    print(seen)
