"""The table of sweep_median.sh, made from the files of its runs: sweep_median.py FOLDER AT_ONCE CURVES SEED..."""
import glob
import json
import re
import sys

folder, at_once, curves, seeds = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]


def sweep(name):
    """The steps of its trials, and the metric that each reported after each epoch."""
    steps, epochs, said = 0, 0, []
    for path in sorted(glob.glob(f"{folder}/{name}/*-[0-9][0-9][0-9][0-9]-0.log")):
        with open(path, errors="replace") as file:
            text = file.read()
        reports = re.findall(r"^epoch (\d+) of \d+, step (\d+): .* test accuracy ([0-9.]+),", text, re.M)
        left = re.findall(r"stopped on request; the checkpoint of step (\d+) is written", text)
        last = max([int(step) for step in left + [step for _, step, _ in reports]], default=0)
        if not left and "\nthe result: " not in text and reports:
            # It was ended before it could report its step, which is at most the end of that epoch.
            last = int(reports[-1][1]) + int(reports[0][1])
        steps += last
        epochs += last * int(reports[0][0]) / int(reports[0][1]) if reports else 0
        said.append([value for _, _, value in reports])
    with open(f"{folder}/{name}.said") as file:
        told = file.read()
    best, value = re.search(r" trials is (\S+) with accuracy ([0-9.]+)", told).groups()
    ends = [len(re.findall(rf"^\*? +\S+ +{end} ", told, re.M)) for end in ("Completed", "Stopped", "Failed")]
    return {"steps": steps, "epochs": round(epochs, 2), "ends": ends, "best": best, "accuracy": value}, said


rows, written = [], []
print("seed  completed, stopped, failed         steps              epochs           saved of them    best accuracy")
for seed in seeds:
    (whole, said), (median, _) = sweep(f"whole-{seed}"), sweep(f"median-{seed}")
    saved = {key: round(100 * (1 - median[key] / whole[key]), 1) for key in ("steps", "epochs")}
    print(f"{seed:>4}  {str(whole['ends']):>12} {str(median['ends']):>12}  {whole['steps']:>7} {median['steps']:>7}  "
          f"{whole['epochs']:>8} {median['epochs']:>8}  {saved['steps']:>6} % {saved['epochs']:>6} %  "
          f"{whole['accuracy']} ({whole['best']}) {median['accuracy']} ({median['best']})")
    rows.append({"seed": int(seed), "whole": whole, "median": median, "saved_percent": saved})
    written += [f"# seed {seed}\n"] + [" ".join(trial) + "\n" for trial in said]
with open("build/bench/sweep_median.json", "w") as file:
    json.dump({"command": "make bench", "at_once": at_once, "rows": rows}, file, indent=1)
if curves:
    with open(curves, "w") as file:
        file.writelines(written)
