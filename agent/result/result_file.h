/* result_file.h: OUTPUT/result.json: what was run, and each file of the output with its SHA-256
 * (docs/results.md has the table of its fields). It is written last, and only when the job has
 * succeeded and everything that it names is in place. Pure. */
#pragma once

#include "agent/result/output_lines.h"
#include "lib/tree.h"

#define RESULT_NAME "result.json"
/* Its field kind. */
#define RESULT_BATCHSCORE "BatchScore"
#define RESULT_DISTTRAIN "DistTrain"
#define RESULT_SWEEP "Sweep"
/* Who made a DistTrain's, for result_file_check_kind. */
#define RESULT_TRAINER "trainer"
#define RESULT_COMMAND "command"
#define RESULT_ENVELOPE_NAME "result.intoto.jsonl" /* its signature (envelope.h) */
enum { RESULT_FORMAT = 1, RESULT_BYTES_MAX = 4 << 20, RESULT_FILES_MAX = 4096 };

/* {"name", "bytes", "sha256"}, owned by the caller. */
json_t *result_file_entry(const char *name, int64_t size_bytes, const char *sha256);

/* The same for a list of files, with "files" and "fileBytes". */
json_t *result_file_list_entry(const char *name, const struct output_lines_sum *sum);

/* Checks what a storage holds. INVALID: not JSON, another format, a field that is missing or wrong,
 * or counts that contradict themselves, by its name. The caller owns *ret_result. */
NODISCARD int result_file_parse(const char *text, size_t size, json_t **ret_result,
                                struct error *err);

/* INVALID: a parsed result is that of another kind of job. What one kind has made is not for
 * another one to replace: neither would be complete. A trainer and a command are two kinds. kind:
 * RESULT_BATCHSCORE, RESULT_SWEEP, RESULT_TRAINER or RESULT_COMMAND. path: of the output, for
 * people. */
NODISCARD int result_file_check_kind(const json_t *result, const char *kind, const char *path,
                                     struct error *err);

/* The entry of that name in "outputs" or "reports" of a parsed result, borrowed; NULL: none. */
const json_t *result_file_find(const json_t *result, const char *name);
/* Whether the file belongs to one of these files and folders ("excluded"; NULL: none). */
bool result_file_is_excluded(const json_t *excluded, const char *name);
/* Whether a stored result.json is of this run and names summary.json with these bytes: then the
 * run has ended with all that belongs to it. */
bool result_file_completes(const char *text, size_t size, const char *run, const char *summary,
                           size_t summary_size);
