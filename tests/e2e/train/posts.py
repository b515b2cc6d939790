#!/usr/bin/env python3
"""posts.py [STEPS]: a training that posts its status as Hugging Face's KubeflowCallback does (transformers 5.5): 0 % with
total_steps at the beginning; after each step the percentage (at most 99), the time left and what was logged last; 100 % at
the end. Only rank 0 posts. Prints the answers' status codes."""
import json
import os
import ssl
import sys
import urllib.request

if os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("WINDLASS_RANK", "0")) != "0":
    assert os.environ["KUBEFLOW_TRAINER_SERVER_URL"].startswith("https://127.0.0.1:")
    sys.exit(0)
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 4
context = ssl.create_default_context(cafile=os.environ["KUBEFLOW_TRAINER_SERVER_CA_CERT"])
with open(os.environ["KUBEFLOW_TRAINER_SERVER_TOKEN"], encoding="utf-8") as file:
    token = file.read().strip()


def post(percent, seconds, metrics):
    status = {"lastUpdatedTime": "2026-11-30T10:00:00.123456+00:00", "progressPercentage": percent}
    if seconds is not None:
        status["estimatedRemainingSeconds"] = seconds
    if metrics:
        status["metrics"] = [{"name": name, "value": str(value)} for name, value in metrics.items()]
    request = urllib.request.Request(
        os.environ["KUBEFLOW_TRAINER_SERVER_URL"], data=json.dumps({"trainerStatus": status}).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=60, context=context) as answer:
        print("posted", answer.status, flush=True)


logged = {}
post(0, None, {"total_steps": steps})
for step in range(1, steps + 1):
    post(min(step * 100 // steps, 99), 2 * (steps - step),
         {**logged, "current_step": step, "total_steps": steps, "current_epoch": round(step / 2, 2)})
    logged.update({"loss": 1 / step, "grad_norm": 0.5, "learning_rate": 5e-05, "epoch": step / 2})
    if step % 2 == 0:
        logged["eval_loss"] = 2 / step
post(100, 0, logged)
