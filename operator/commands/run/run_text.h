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
