/* outputs.h: all outputs of a job that succeeds: those of its commits (assemble.h), for a rerun
 * with the rows that it keeps (kept_lines.h); what the next rerun needs to know (kept.h); and
 * without the files of earlier generations that are stale (stale.h). */
#pragma once

#include "agent/score/coordinator/prepared.h"

/* ret_parts, outputs, errors: as for assemble. May be repeated; each step finds what was done. */
NODISCARD int outputs_make(struct prepared_job *prepared, const struct job *job,
                           struct parts *ret_parts, json_t *outputs, struct error *err);
