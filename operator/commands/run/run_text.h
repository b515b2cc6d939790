/* run_text.h: `windlass run` of a manifest that a command has made. */
#pragma once

#include "lib/error.h"

struct run_text {
    const char *manifest;
    const char *options[4][2]; /* {"--state", DIR}; without a value it is left out */
    bool restarts;             /* --restart */
};

/* Runs it as if it came by standard input: the record of the run has the manifest, so that
 * `windlass resume` needs no file. *ret_code is the exit code. UNAVAILABLE: this machine. */
NODISCARD int run_text_run(const struct run_text *text, int *ret_code, struct error *err);
/* The same, and how to have it on a cluster is printed at the end. save: write the manifest there
 * instead ("-": to standard output), and run nothing; NULL: run. */
NODISCARD int run_text_run_or_save(const struct run_text *text, const char *save, int *ret_code,
                                   struct error *err);
