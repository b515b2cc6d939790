/* unchanged.h: what a run that has ended has left, for a job that finds no work: the job succeeds
 * once more only if all is as that run wrote it, and signed if the job signs. */
#pragma once

#include "agent/score/coordinator/prepared.h"

/* is_compared: rows and lists of files have been compared already (rerun_look). INVALID: rows or a
 * film were edited or cut, or result.json is not signed with spec.signingKey; `--restart` makes it
 * again. One that is gone is made again without. Reads what result.json names. */
NODISCARD int unchanged_check(const struct prepared_job *prepared, const struct job *job,
                              bool is_compared, struct error *err);
/* Fails: this file of the output was edited or cut. */
NODISCARD int unchanged_refuse(const struct job *job, const char *name, struct error *err);
