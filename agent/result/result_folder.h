/* result_folder.h: the result of a folder into which a program writes what it likes: result.json
 * with the list of all files that are there, result.outputs.jsonl (output_lines.h). A program may
 * have a result.json of its own: it is never replaced, nor removed. */
#pragma once

#include "agent/result/result_write.h"

#define RESULT_FOLDER_LIST "result.outputs.jsonl"
enum { RESULT_FOLDER_LINKS_MAX = 256 };

/* Whose program it is; uid NULL: not known. Texts are borrowed. */
struct result_folder_job {
    const char *kind, *uid, *run;
};

/* INVALID: the result that is there is that of another kind of job than this one
 * (result_file_check_kind). Other errors are the store's. Changes nothing. */
NODISCARD int result_folder_check(struct store *output, const char *kind, struct error *err);

/* Before the program starts: removes the result of an earlier run, so that it does not stay as if
 * it were of this one, and what says that an earlier run's ranks have ended (launch/proof/ended.h).
 * From then on no other job's end counts there. INVALID: the result is that of another kind of
 * job. */
NODISCARD int result_folder_begin(struct store *output, const struct result_folder_job *job,
                                  struct error *err);

/* After its end: lists and hashes every file but those of "excluded" and links out of the volume,
 * which are added to "excluded"; fills in "outputs", "reports" and "list", and stores all
 * (result_write). FAILED: the program has a result.json of its own there, or another job has begun
 * to write there meanwhile, whose files they may be; INVALID: the result of another kind of job, a
 * name that is not UTF-8, or too many links; CONFLICT, NOT_FOUND: a file changes still; else the
 * store's error. */
NODISCARD int result_folder_write(struct store *output, json_t *result,
                                  const struct signature_key *key, char ret_sha256[static 65],
                                  struct error *err);
