"""A scorer program that misbehaves as argv[1] says, for test_command.sh and test_exactly_once.sh."""
import hashlib, json, os, signal, subprocess, sys, time

mode = sys.argv[1]
line = json.loads(sys.stdin.readline())["init"]


def say(answer):
    print(json.dumps(answer), flush=True)


def first_time(name):
    """True once, for the first of all processes."""
    try:
        os.close(os.open(os.path.join(line["arguments"]["marks"], name), os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False


def draw(request, what):
    """0..99, by the mini-batch and the try alone."""
    text = f"{what} {request['miniBatch']} {request['try']}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % 100


def noise(number):
    print(f"progress {number}\n{{'id': {number}}}\n[1]\n\"text\"\n{{\"id\":99999999,\"results\":[]}}\n{{\"ready\":true}}")
    print("z" * 300000, flush=True)
    print(f"what goes wrong in {number}", file=sys.stderr, flush=True)


if mode == "init-dies":
    sys.exit("ModuleNotFoundError: No module named 'torch'")
if mode == "usage":
    print("usage: hostile.py [-h] MODE\nhostile.py: error: unrecognized arguments: --mode", file=sys.stderr)
    sys.exit(2)
if mode == "init-error":
    say({"error": "no such model: none.bin"})
    time.sleep(1000)
if mode == "init-once" and first_time("init"):
    sys.exit("only this once")
if mode == "init-silent":
    time.sleep(1000)
is_first = mode != "late-again" or first_time("life")
if not is_first:
    time.sleep(18)
say({"ready": True})

for text in sys.stdin:
    request = json.loads(text)
    number, items, attempt = request["id"], request["items"], request["try"]
    results = [{"name": os.path.basename(item), "size": os.path.getsize(item)} for item in items]
    if mode in ("mixed", "plain") and sys.argv[2][0].isdigit():  # the seconds of a mini-batch
        time.sleep(float(sys.argv[2]))
    if mode == "noise":
        noise(number)
    if mode == "rows":
        results = [result["name"] if i % 2 else result["size"] for i, result in enumerate(results)]
    if mode == "environment":
        results = [{"slot": os.environ["WINDLASS_SLOT"], "mine": os.environ.get("MINE"), "gpu": os.environ.get("CUDA_VISIBLE_DEVICES"),
                    "ours": sorted(name for name in os.environ if name.startswith("WINDLASS_")), "more": sys.argv[2:]} for _ in items]
    if mode == "wrong-id":
        say({"id": number + 1000, "results": results})
        continue
    if mode == "never" or (mode == "never-once" and attempt == 1) or (mode == "mixed" and attempt < 3 and draw(request, "hang") < 2):
        time.sleep(1000)
    if (mode == "crash-once" and attempt == 1) or (mode == "mixed" and attempt < 3 and draw(request, "crash") < 1):
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "mixed" and attempt < 3 and draw(request, "fail") < 4:
        say({"id": number, "error": "drawn by lot"})
        continue
    if mode == "forks":
        subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    if mode == "refuses" and "f03" in str(items):
        sys.exit(0)
    if mode == "few":
        results.pop()
    if mode in ("error", "says"):
        for i in range(20 if mode == "says" else 0):
            print(f"line {i} of {number} \033[31m\u00fc\x9d", file=sys.stderr if i % 2 else sys.stdout, flush=True)
        say({"id": number, "error": "out of memory"})
        continue
    bad = {str(i): "no such shop" for i, item in enumerate(items) if "3" in os.path.basename(item)} if mode == "failed" else {}
    say({"id": number, "results": results, **({"failed": bad} if bad else {})})
    if mode == "noise":
        say({"id": number, "results": ["second"] * len(items)})
    if mode == "once-each" or (mode == "late-again" and is_first):  # a moment later, as programs end
        time.sleep(0.02)
        sys.exit(0)
