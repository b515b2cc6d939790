"""What a Windlass scorer in Python needs: init(arguments) once, run(mini_batch) for each mini-batch.

    import windlass
    def run(mini_batch):                 # a list of paths, or of rows
        return [len(item) for item in mini_batch]
    windlass.serve(run)
"""
import json, os, sys, traceback


def serve(run, init=lambda arguments: None):
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # whatever prints, prints into the log
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            if "init" in request:
                answer = {"ready": init(request["init"]["arguments"]) is not False}
            else:
                answer = {"id": request["id"], "results": list(run(request["items"]))}
            text = json.dumps(answer, allow_nan=False)
        except Exception as error:
            traceback.print_exc()
            answer = {"id": request["id"]} if "id" in request else {}
            text = json.dumps({**answer, "error": f"{type(error).__name__}: {error}"})
        print(text, file=answers)
