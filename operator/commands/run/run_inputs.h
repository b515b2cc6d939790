/* run_inputs.h: whether what a job reads on this machine has changed since a time. */
#pragma once

#include "lib/tree.h"

/* Whether a file or folder that the spec names was made, changed, or moved to its place since
 * begun_ms (wall clock). Looked at are paths (VOLUME/path) and each $(VOLUME)/path in what a
 * program gets, also at the end of links and behind `--option=`, up to the first character that
 * ends a word of a shell; not what a script in a word reads otherwise. What the job itself writes
 * (output, outputs, logs, metrics, register, trainer.output) does not count. folders:
 * {volume: its folder}. within: the part of the spec that has volumes (kind.h), may be all of it.
 */
bool run_inputs_are_newer(const json_t *spec, const json_t *within, const json_t *folders,
                          int64_t begun_ms);

/* VOLUME/path on this machine; owned by the caller; NULL: the volume is unknown. */
char *run_inputs_path(const char *text, const json_t *folders);
