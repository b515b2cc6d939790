/* register.h: `windlass-agent register`: copies the best model of a Sweep into a registry
 * (agent/store/registered.h). What it does stands in WINDLASS_SPEC:
 *   {"from": "out/model/digits-1a2b3c4d/0007", "to": "models/registry", "name": "digits",
 *    "version": "20261122T094400Z-1a2b3c4d", "metadata": {...}}
 * from: the trial's output, to: the folder of all models, VOLUME/path or az://..., whose volumes
 * and stores are told as to any pod (WINDLASS_STORES). Its last words: {"state": "Succeeded" |
 * "Failed", "message", "outputs": ["models/registry/digits/20261122T094400Z-1a2b3c4d"]}. Exit codes
 * as everywhere: 2: another try would end the same. */
#pragma once

int register_command(int argc, char **argv);
