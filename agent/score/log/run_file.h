/* run_file.h: OUTPUT/.windlass/RUN/run.json: what a hash of the spec does not cover and a resumed
 * run must find unchanged: the network, its labels, the input. Written once, by the first
 * coordinator of the run. Of an input by lines its pages say what it was (list.h). */
#pragma once

#include "agent/data/input/media.h"
#include "agent/job.h"

/* What the files and the input are now. network: the network's file on this machine, if there is
 * one. Errors name the spec's field. Owned. */
NODISCARD int run_file_make(const struct job *job, const struct media *media,
                            const struct listing *listing, const char *network, json_t **ret_run,
                            struct error *err);
/* INVALID, with what has changed: the run began with other files. */
NODISCARD int run_file_check(struct store *output, const char *run_name, const json_t *run,
                             struct error *err);
/* Stores it if there is none; what another coordinator has stored meanwhile is checked. */
NODISCARD int run_file_store(struct store *output, const char *run_name, const json_t *run,
                             struct error *err);
