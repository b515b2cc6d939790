/* scored_by.h: which builds of this program were the workers of a run, whether or not each had a
 * result. The head of each commit with results names those of all workers that had joined, under
 * earlier coordinators, too (commit_format.h), so that a later coordinator knows them.
 * An image's tag may lead to another build while a job runs; workers of another version are
 * refused (docs/results.md). For one thread. */
#pragma once

#include "agent/score/log/generation.h"

enum { SCORED_BY_MAX = 64, SCORED_BY_BYTES_MAX = 127 };

/* This process's: "0.1.0 9f86…", its version and the SHA-256 of its file. Without the latter if
 * that cannot be read. Computed once. Any thread. */
const char *scored_by_own(void);
/* INVALID: the program of that worker is of another version than this one. program: as above; "":
 * not known. */
NODISCARD int scored_by_check(const char *program, const char *worker, struct error *err);

/* Adds one to *programs, an array of texts, each once, as far as there is room; NULL: none yet.
 * True: it was not there. */
bool scored_by_add(json_t **programs, const char *program);
/* Adds what the record's head names. A generation that keeps no results begins without any.
 * generation: as generation_see left it. */
void scored_by_see(json_t **programs, const struct generation *generation,
                   const struct commit_head *head, const struct commit_record *record);
/* For result.json: [{"version", "sha256"}]; the caller owns it. */
json_t *scored_by_json(const json_t *programs);
/* A sentence about several, for people; the caller frees. NULL: there is one, or none is known. */
char *scored_by_describe(const json_t *programs);
