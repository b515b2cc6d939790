/* run_file.h: OUTPUT/.windlass/HOME/run.json, of later generations run-N.json: what its results
 * were begun with (generation.h): the spec's fields that decide them, the mini-batch size, the
 * scorer's files, such as the network and its labels, and the input. The first coordinator of
 * the generation writes it once. An input with lines is recorded by its pages instead (list.h). */
#pragma once

#include "agent/data/input/media.h"
#include "agent/job.h"
#include "agent/score/log/generation.h"

enum { RUN_FILE_CHANGE_BYTES = 128, RUN_FILE_CHANGES_BYTES = 320 };
/* Begins the fields of a program's code (code_files.h). */
#define RUN_FILE_CODE "scorer.command: "
/* The same of the models of a worker's own server. */
#define RUN_FILE_SERVER "scorer.endpoint.server: "

/* What a run with these files (scorer.h: field -> SHA-256; borrowed) and this input begins with.
 * spec: the job's, as it was given; listing: NULL where the input has lines. The caller owns the
 * result. */
json_t *run_file_make(const json_t *spec, const struct media *media, const struct listing *listing,
                      const json_t *files);
/* Compares two such lists of files: a field whose file differs or is in one list only, borrowed
 * from it; NULL: they are equal. A file that was added to a program's code does not count: programs
 * may write beside their code, and runs of earlier releases have no list of it. */
const char *run_file_find_change(const json_t *then, const json_t *now);
/* "SHA-256 1f0c…, the run began with 77aa…", 12 digits of each. */
void run_file_describe_change(const json_t *then, const json_t *now, const char *field,
                              char text[static RUN_FILE_CHANGE_BYTES]);
/* INVALID: a worker has loaded other files than the run began with. */
NODISCARD int run_file_check_worker(const json_t *then, const json_t *now, const char *worker,
                                    struct error *err);
/* Adds what the spec's paths led to when the run began (moving_paths.h); borrowed. */
void run_file_add_paths(json_t *run, const json_t *paths);
/* How many fields, files and inputs differ; the mini-batch size is none of them. text: each by its
 * name, then and now, as far as there is room, and how many more. */
int run_file_changes(const json_t *then, const json_t *now,
                     char text[static RUN_FILE_CHANGES_BYTES]);

/* What that generation began with. *ret_run: NULL: it has no such file yet. INVALID: it is
 * truncated, or of another release. */
NODISCARD int run_file_read(struct store *output, const char *home, int64_t number,
                            json_t **ret_run, struct error *err);
/* Stores it if there is none. INVALID: another coordinator has stored another one meanwhile. */
NODISCARD int run_file_store(struct store *output, const char *home, int64_t number,
                             const json_t *run, struct error *err);
