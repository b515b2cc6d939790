#!/usr/bin/python3
"""dask.distributed's side of dispatch.sh:   dispatch_dask.py COUNT RESULT.json
It makes COUNT calls of an empty function, each a separate task (dask's unit of retry, like our mini-batch), with two
worker processes of one thread. It tries dask's interfaces (futures of Client.map; one graph), on asyncio and on uvloop
if installed, with a tenth of the count each; the fastest then does the whole count, ROUNDS (2) times, over plain TCP
and, as we do, over TLS. No dashboard and no profile are drawn meanwhile."""
import datetime, importlib.util, json, os, subprocess, sys, tempfile, time, uuid

rounds = int(os.environ.get("ROUNDS", "2"))


def empty(_):
    return None


def futures(client, number):
    from distributed import wait

    made = client.map(empty, range(number), pure=False)
    wait(made)
    if any(future.status != "finished" for future in made):
        sys.exit("dispatch_dask.py: a task has failed")


def graph(client, number):
    name = uuid.uuid4().hex  # else the answers of the last time may still be there
    keys = [(name, i) for i in range(number)]
    answers = client.get({key: (empty, key[1]) for key in keys}, keys)
    if len(answers) != number:
        sys.exit("dispatch_dask.py: answers are missing")


WAYS = {"futures": futures, "graph": graph}


def certificate(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=bench", "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem"],
                   check=True, stderr=subprocess.DEVNULL)
    return {"tls_ca_file": folder + "/cert.pem", "require_encryption": True,
            **{f"tls_{role}_{part}": f"{folder}/{part}.pem" for role in ("client", "scheduler", "worker") for part in ("cert", "key")}}


def measure(way, loop, number, times, tls=None):
    """The seconds of each repetition, in one cluster."""
    import dask

    dask.config.set({"distributed.admin.event-loop": loop, "distributed.worker.profile.enabled": False,
                     "distributed.scheduler.active-memory-manager.start": False})
    from distributed import Client, LocalCluster
    from distributed.security import Security

    seconds = []
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                      protocol="tls://" if tls else "tcp://", security=Security(**tls) if tls else None) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            WAYS[way](client, 500)
            for _ in range(times):
                start = time.perf_counter()
                WAYS[way](client, number)
                seconds.append(time.perf_counter() - start)
    return seconds


def apart(way, loop, number, times, tls=None):
    """In a separate process: the event loop is chosen once per process."""
    call = json.dumps([way, loop, number, times, tls])
    output = subprocess.run([sys.executable, __file__, "--measure", call], check=True, stdout=subprocess.PIPE).stdout
    seconds = json.loads(output.splitlines()[-1])
    print(f"  {way} on {loop}{' over TLS' if tls else ''}: " + ", ".join(f"{number / s:.0f}/s" for s in seconds), file=sys.stderr)
    return seconds


def main():
    import distributed

    count, result = int(sys.argv[1]), sys.argv[2]
    loops = ["asyncio"] + (["uvloop"] if importlib.util.find_spec("uvloop") else [])
    tried = {(way, loop): min(apart(way, loop, max(count // 10, 1), 2)) for way in WAYS for loop in loops}
    way, loop = min(tried, key=tried.get)
    with tempfile.TemporaryDirectory() as folder:
        plain = min(apart(way, loop, count, rounds))
        secured = min(apart(way, loop, count, rounds, certificate(folder)))
    answer = {"peer": "dask.distributed " + distributed.__version__, "count": count, "workers": 2, "way": way, "loop": loop,
              "per_second": round(count / plain, 1), "overhead_ms": round(1000 * plain / count, 4),
              "tls_per_second": round(count / secured, 1), "date": datetime.date.today().isoformat()}
    with open(result, "w") as file:
        json.dump(answer, file, indent=1)


if __name__ == "__main__":
    if sys.argv[1] == "--measure":
        print(json.dumps(measure(*json.loads(sys.argv[2]))))
    else:
        main()
