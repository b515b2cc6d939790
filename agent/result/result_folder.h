/* result_folder.h: the result of a folder into which a program writes what it likes: result.json
 * with the list of all files that are there, result.outputs.jsonl (output_lines.h). A program may
 * have a result.json of its own: it is never replaced, nor removed. */
#pragma once

#include "agent/result/result_write.h"

#define RESULT_FOLDER_LIST "result.outputs.jsonl"
enum { RESULT_FOLDER_LINKS_MAX = 256 };

/* Before the program starts: removes the result of an earlier run, so that it does not stay as if
 * it were of this one. INVALID: it is that of another kind of job than `kind`. */
NODISCARD int result_folder_begin(struct store *output, const char *kind, struct error *err);

/* After its end: lists and hashes every file but those of "excluded" and links out of the volume,
 * which are added to "excluded"; fills in "outputs", "reports" and "list", and stores all
 * (result_write). FAILED: the program has a result.json of its own there; INVALID: the
 * result of another kind of job, a name that is not UTF-8, or too many links; CONFLICT, NOT_FOUND:
 * a file changes still; else the store's error. */
NODISCARD int result_folder_write(struct store *output, json_t *result,
                                  const struct signature_key *key, char ret_sha256[static 65],
                                  struct error *err);
