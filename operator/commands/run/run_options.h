/* run_options.h: the options of `windlass run`. */
#pragma once

#include "lib/options.h"
#include "lib/tree.h"

/* Zero-initialized. Texts are borrowed from argv. */
struct run_options {
    const char *state, *stores, *secrets;
    const char *only; /* the name of the one job of the files that runs; NULL: all run */
    struct option_list files, volumes, sets;
    int64_t workers, gpus; /* KIND_UNSET: not given */
    bool keep, restart, once, dry_run;
};

/* 1: the help was printed. */
NODISCARD int run_options_read(struct run_options *options, int argc, char **argv,
                               struct error *err);
/* The words that start the same run again, without its manifest, its folder of logs, --restart, and
 * the values of --set for parameters of other jobs: an array of texts, owned. parameters: those of
 * the job; NULL: none. */
json_t *run_options_again(const struct run_options *options, const json_t *parameters);
