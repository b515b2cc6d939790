/* checkpoint_name.h: names of a training's checkpoints in its output (train/checkpoint.h), for the
 * trainer that writes them and the job's hub that checks its progress. */
#pragma once

#include "agent/store/store.h"

enum { CHECKPOINT_DIGITS = 12 }; /* of each number, so that names sort by number */
#define CHECKPOINT_FOLDER "checkpoint"

/* PREFIXcheckpoint/GENERATION-STEP; the caller frees. */
char *checkpoint_name(const char *prefix, int64_t generation, int64_t step);
/* Reads CHECKPOINT_DIGITS digits at the beginning of the text. */
bool checkpoint_name_number(const char *text, int64_t *ret_number);
/* "GENERATION-STEP", the name below its folder. False: another one. */
bool checkpoint_name_read(const char *name, int64_t *ret_generation, int64_t *ret_step);
/* The highest step of all checkpoints; 0: there is none. */
NODISCARD int checkpoint_name_highest_step(struct store *store, const char *prefix,
                                           int64_t *ret_step, struct error *err);
