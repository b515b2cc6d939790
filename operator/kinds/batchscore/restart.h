/* restart.h: `windlass run --restart`: runs a job again from the start, without the records of its
 * earlier run. */
#pragma once

#include "lib/tree.h"

/* Removes the records of the job's run, OUTPUT/.windlass/RUN, and prints a message. Outputs stay
 * until they are written again; the records of other runs are not touched. object: a BatchScore
 * with its defaults; folders: {volume: its folder}. BUSY: a coordinator of the run is alive on this
 * machine (or, on NFS, on any machine). INVALID: its output is not in a folder. */
NODISCARD int restart_forget(const json_t *object, const json_t *folders, struct error *err);
