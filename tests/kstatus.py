#!/usr/bin/env python3
"""The status that kstatus gives an object of an unknown kind (Flux and helm --wait
use it), after the rules in its README: Terminating, InProgress, Failed or Current.

    kstatus.py <OBJECT      JSON"""
import json
import sys


def word(thing):
    metadata, status = thing.get("metadata", {}), thing.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return "Terminating"
    generation = metadata.get("generation")
    if status.get("observedGeneration", generation) != generation:
        return "InProgress"
    for condition in status.get("conditions") or []:
        if condition["type"] == "Reconciling" and condition["status"] == "True":
            return "InProgress"
        if condition["type"] == "Stalled" and condition["status"] == "True":
            return "Failed"
    for condition in status.get("conditions") or []:
        if condition["type"] == "Ready":
            return "Current" if condition["status"] == "True" else "InProgress"
    return "Current"


if __name__ == "__main__":
    print(word(json.load(sys.stdin)))
