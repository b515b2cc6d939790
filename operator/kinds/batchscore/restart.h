/* restart.h: `windlass run --restart`: a job that has been run before is run as if it never had
 * been. */
#pragma once

#include "lib/tree.h"

/* Removes the memory of the job's own run, OUTPUT/.windlass/RUN, and says so; outputs stay until
 * they are written again, and another run's memory is not touched. object: a BatchScore with its
 * defaults; folders: {volume: its folder}. BUSY: a coordinator of it lives on this machine (or, on
 * NFS, on any). INVALID: its output is in no folder. */
NODISCARD int restart_forget(const json_t *object, const json_t *folders, struct error *err);
