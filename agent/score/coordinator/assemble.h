/* assemble.h: makes the outputs from the committed results, in the form of spec.output.mode
 * (sink.h): packs are published, a video's parts are joined, rows go into one file in the order of
 * the input. For the coordinator, when everything is committed or the job has failed. No other
 * function of the journal may be called meanwhile. The same commits give the same bytes. For a job
 * that has succeeded the hashes of the outputs are left in prepared_job, for result.json. */
#pragma once

#include "agent/score/coordinator/prepared.h"

/* For a job that succeeds and makes its outputs by the functions below: while missing results can
 * still be scored again. INVALID as for assemble. */
NODISCARD int assemble_begin(struct prepared_job *prepared, struct error *err);
/* is_whole: false for a failed job; rows and files are then made, but no video. Not for reruns that
 * succeed (outputs.h). outputs: receives the spec paths; may be NULL. ret_parts: of a video, for
 * journal_void_broken; the caller frees its places with free. INVALID: results are missing;
 * journal_void_broken voids these. */
NODISCARD int assemble(struct prepared_job *prepared, const struct job *job, bool is_whole,
                       struct parts *ret_parts, json_t *outputs, struct error *err);

/* Its parts, exported for tests. Writes OUTPUT/name, and appends {"name", "bytes", "sha256"} to
 * files (NULL: not wanted). */
NODISCARD int assemble_rows(struct journal *journal, const char *name, json_t *files,
                            struct error *err);
/* Writes a list of files (output_lines.h) from the indices of the packs. *ret_list: its entry with
 * "files" and "fileBytes"; owned by the caller. */
NODISCARD int assemble_file_list(struct journal *journal, const char *name, json_t **ret_list,
                                 struct error *err);
