#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The results of Windlass (cpu/, reference/) and ONNX Runtime (ort.json) against those of the libraries of which classical.py
made the models, one line of the test each: classical_compare.py FOLDER"""
import json
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper


def distance(ours, theirs):
    """Relative to the size of the numbers; labels must be the same."""
    if ours.shape != theirs.shape:
        raise SystemExit(f"shape {ours.shape}, {theirs.shape} expected")
    if ours.dtype == np.int64:
        return float((ours != theirs).sum())
    if (np.isnan(ours) != np.isnan(theirs)).any():
        return float("inf")
    return float(np.nanmax(abs(ours.astype("f8") - theirs) / np.maximum(abs(theirs), 1), initial=0))


def read_told(folder):
    """{output: array} of ONNX Runtime; nothing where it was not asked, or is known to differ (agent/engine/device/cpu/ml/ml.h)."""
    if not os.path.exists(folder + "/ort.json") or "differs" in folder:
        return {}
    with open(folder + "/ort.json", encoding="ascii") as file:
        told = json.load(file)
    return {name: np.array([np.nan if value is None else value for value in tensor["data"]], tensor["type"]).reshape(
        tensor["dims"]) for name, tensor in told.items()}


def compare_one(folder):
    """The error, or None; and the distance of all outputs."""
    wanted, told, far = np.load(folder + "/wanted.npz"), read_told(folder), []
    for name in wanted.files:
        ours, plain = (numpy_helper.to_array(onnx.load_tensor(f"{folder}/{device}/{name}.pb"))
                       for device in ("cpu", "reference"))
        if ours.tobytes() != plain.tobytes():
            return f"{name}: not the plain kernels' bits, {distance(ours, plain)} away", far
        # Coefficients are rounded to float32, and the values that they multiply are large, or many, there.
        limit = 1e-5 if "linear" in folder or "svm" in folder else 2e-6
        others = {"wanted": (wanted[name], limit)}
        if name in told:
            others["ONNX Runtime"] = (told[name], 4e-3 if "rough" in folder else limit)
        for who, (theirs, limit) in others.items():
            theirs = theirs.astype(ours.dtype) if ours.dtype == np.int64 else theirs
            far.append(f"{name} {who} {distance(ours, theirs):.0e}")
            if not distance(ours, theirs) <= limit:
                return f"{far[-1]} away: {ours.ravel()[:5]}, {theirs.ravel()[:5]}", far
    return None, far


def compare(folder):
    with open(folder + "/names", encoding="ascii") as file:
        names = file.read().split()
    failures = 0
    for name in names:
        try:
            fault, far = compare_one(os.path.join(folder, name))
        except OSError as error:
            fault, far = str(error), []
        print("#", fault or ", ".join(far))
        print("not ok" if fault else "ok", "classical", name)
        failures += fault is not None
    return failures


if __name__ == "__main__":
    sys.exit(compare(sys.argv[1]) > 0)
