/* assemble.h: makes the outputs of what is committed, in the form of spec.output.mode (sink.h):
 * packs are published, a video's parts are joined, rows go into one file in the order of the input.
 * For the coordinator, when all is committed or the job has failed; while it works no other
 * function of the journal is called. The same commits make the same bytes. */
#pragma once

#include "agent/score/coordinator/prepare.h"

/* is_whole: false for a job that has failed, of which rows and files are made and a video is not.
 * outputs: gets the spec paths; may be NULL. ret_parts: of a video, for journal_void_broken; its
 * places are the caller's, freed with free. INVALID where results are missing; journal_void_broken
 * voids these. */
NODISCARD int assemble(struct prepared *prepared, const struct job *job, bool is_whole,
                       struct parts *ret_parts, json_t *outputs, struct error *err);

/* Its part for rows, for the tests: writes OUTPUT/name. */
NODISCARD int assemble_rows(struct journal *journal, const char *name, struct error *err);
