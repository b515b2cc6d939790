"""Scores rows of a table for test_table.sh and test_many_inputs.sh, as argv[1] says; lines of JSON in and out."""
import json, os, signal, sys, time

mode = sys.argv[1]
init = json.loads(sys.stdin.readline())["init"]
print('{"ready":true}', flush=True)
for line in sys.stdin:
    if mode == "raw":  # rows are returned byte for byte
        items = line[line.index('"items":') + 8 : line.rindex(',"miniBatch":')]
        print(f'{{"id":{json.loads(line)["id"]},"results":{items}}}', flush=True)
        continue
    request = json.loads(line)
    if mode == "crash" and request["miniBatch"] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "half" and request["miniBatch"] == 1:
        time.sleep(3)
    results = request["items"]
    if mode == "batch":  # with the mini-batch
        results = [{"miniBatch": request["miniBatch"], "row": row} for row in results]
    if mode == "name":
        results = [os.path.basename(path) for path in results]
    if mode == "number":
        results = [row["number"] for row in results]
    answer = {"id": request["id"], "results": results}
    if mode == "failed":
        answer["failed"] = {str(i): "no such shop" for i, row in enumerate(results) if row["n"].endswith("7")}
    if mode == "half":
        answer["failed"] = {str(i): f"odd: {row['n']}" for i, row in enumerate(results) if int(row["n"]) % 2}
    print(json.dumps(answer), flush=True)
