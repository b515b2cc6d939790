/* run_file.h: OUTPUT/.windlass/RUN/run.json: records what the hash of the spec does not cover and a
 * resumed run must find unchanged: the scorer's files, such as the network and its labels, and the
 * input. The first coordinator of the run writes it once. An input with lines is recorded by its
 * pages instead (list.h). */
#pragma once

#include "agent/data/input/media.h"
#include "agent/job.h"

enum { RUN_FILE_CHANGE_BYTES = 128 };
/* Begins the fields of a program's code (code_files.h). */
#define RUN_FILE_CODE "scorer.command: "

/* What a run with these files (scorer.h: field -> SHA-256; borrowed) and this input begins with.
 * listing: NULL where the input has lines. The caller owns the result. */
json_t *run_file_make(const struct media *media, const struct listing *listing,
                      const json_t *files);
/* Compares two such lists of files: a field whose file differs or is in one list only, borrowed
 * from it; NULL: they are equal. A file that was added to a program's code does not count: programs
 * may write beside their code, and runs of earlier releases have no list of it. */
const char *run_file_find_change(const json_t *then, const json_t *now);
/* "SHA-256 1f0c…, the run began with 77aa…", 12 digits of each. */
void run_file_describe_change(const json_t *then, const json_t *now, const char *field,
                              char text[static RUN_FILE_CHANGE_BYTES]);
/* INVALID: the run began with other files; the error says which have changed. */
NODISCARD int run_file_check(struct store *output, const char *run_name, const json_t *run,
                             struct error *err);
/* Stores it if there is none; if another coordinator has stored one meanwhile, that one is
 * checked. */
NODISCARD int run_file_store(struct store *output, const char *run_name, const json_t *run,
                             struct error *err);
