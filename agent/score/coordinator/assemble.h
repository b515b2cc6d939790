/* assemble.h: makes the outputs from the committed results, in the form of spec.output.mode
 * (sink.h): packs are published, a video's parts are joined, rows go into one file in the order of
 * the input. For the coordinator, when everything is committed or the job has failed. No other
 * function of the journal may be called meanwhile. The same commits give the same bytes. */
#pragma once

#include "agent/score/coordinator/prepared.h"

/* is_whole: false for a failed job; rows and files are then made, but no video. outputs: receives
 * the spec paths; may be NULL. ret_parts: of a video, for journal_void_broken; the caller frees its
 * places with free. INVALID: results are missing; journal_void_broken voids these. */
NODISCARD int assemble(struct prepared_job *prepared, const struct job *job, bool is_whole,
                       struct parts *ret_parts, json_t *outputs, struct error *err);

/* The part for rows, exported for tests: writes OUTPUT/name. */
NODISCARD int assemble_rows(struct journal *journal, const char *name, struct error *err);
