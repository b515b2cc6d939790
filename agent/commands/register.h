/* register.h: `windlass-agent register`: copies the best model of a Sweep into a registry
 * (agent/store/registered.h). Its arguments are in WINDLASS_SPEC:
 *   {"from": "out/model/digits-1a2b3c4d/0007", "to": "models/registry", "name": "digits",
 *    "version": "20261122T094400Z-1a2b3c4d", "metadata": {...}, "sweep": {...}, "result":
 * "9f86..."} result: SHA-256 of the trial's result.json, if it is known: a trial's output that is
 * not what its result.json says is not registered. from: the trial's output; to: the folder of all
 * models. Both are paths (store.h); volumes, stores and buckets are passed as to any pod
 * (docs/pod-contract.md). The termination message: {"state": "Succeeded" | "Failed", "message",
 * "outputs":
 * ["models/registry/digits/20261122T094400Z-1a2b3c4d"]}. Exit codes are those of all commands; 2: a
 * retry would fail, too. */
#pragma once

int register_command(int argc, char **argv);
