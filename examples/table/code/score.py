"""Scores orders: asked with lines of JSON, answers with lines of JSON (docs/scorers.md).

`import windlass` (docs/scorers.md) makes functions init() and run() of this; here it is as it goes over the pipes.
"""
import json, sys

large = 0.0


def score(order):
    price = float(order["price"]) * int(order["count"])
    return {"order": order["order"], "risk": round(min(1.0, price / large / 2), 3)}


for line in sys.stdin:
    request = json.loads(line)
    if "init" in request:
        large = request["init"]["arguments"]["large"]
        print(json.dumps({"ready": True}), flush=True)
        continue
    results, failed = [], {}
    for i, order in enumerate(request["items"]):
        try:
            results.append(score(order))
        except ValueError as error:  # this row has failed, the others have not
            results.append(None)
            failed[i] = str(error)
    print(json.dumps({"id": request["id"], "results": results, "failed": failed}), flush=True)
