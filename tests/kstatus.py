#!/usr/bin/env python3
"""The status that kstatus gives an object of an unknown kind (Flux and helm --wait use it), after
the rules of kubernetes-sigs/cli-utils pkg/kstatus/status (generic.go, status.go): Terminating,
InProgress, Failed, Current or Unknown. A field of a wrong type is an error there, and here.

    kstatus.py <OBJECT      JSON; or one object a line: one word a line"""
import json
import sys


def word(thing):
    metadata, status = thing.get("metadata", {}), thing.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return "Terminating"
    # Compared only where both are there.
    generation, observed = metadata.get("generation"), status.get("observedGeneration")
    if generation is not None and observed is not None and observed != generation:
        return "InProgress"
    conditions = status.get("conditions") or []
    # In the order of the list: the first of the two that is True decides.
    for condition in conditions:
        if condition["status"] == "True" and condition["type"] in ("Reconciling", "Stalled"):
            return "InProgress" if condition["type"] == "Reconciling" else "Failed"
    for condition in conditions:
        if condition["type"] == "Ready" and condition["status"] in ("True", "False", "Unknown"):
            return "Current" if condition["status"] == "True" else "InProgress"
    return "Current"


if __name__ == "__main__":
    text = sys.stdin.read()
    try:
        things = [json.loads(text)]
    except json.JSONDecodeError:
        things = [json.loads(line) for line in text.splitlines()]
    for one in things:
        print(word(one))
