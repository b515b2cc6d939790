/* run_file.h: OUTPUT/.windlass/RUN/run.json: records what the hash of the spec does not cover and a
 * resumed run must find unchanged: the network, its labels, the input. The first coordinator of the
 * run writes it once. An input with lines is recorded by its pages instead (list.h). */
#pragma once

#include "agent/data/input/media.h"
#include "agent/job.h"

/* Describes the current files and input. network: the network's file on this machine; may be NULL.
 * Errors name the spec's field. The caller owns the result. */
NODISCARD int run_file_make(const struct job *job, const struct media *media,
                            const struct listing *listing, const char *network, json_t **ret_run,
                            struct error *err);
/* INVALID: the run began with other files; the error says which have changed. */
NODISCARD int run_file_check(struct store *output, const char *run_name, const json_t *run,
                             struct error *err);
/* Stores it if there is none; if another coordinator has stored one meanwhile, that one is
 * checked. */
NODISCARD int run_file_store(struct store *output, const char *run_name, const json_t *run,
                             struct error *err);
