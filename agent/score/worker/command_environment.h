/* command_environment.h: the environment of a user's program. */
#pragma once

#include "lib/base.h"

struct command_environment {
    const char *const *variables; /* "NAME=VALUE", NULL-terminated: override all others; NULL:
                                     none */
    const char *job, *worker;
    const char *python; /* a folder that PYTHONPATH ends with; NULL: none */
    int slot, gpus;     /* gpus 0: CUDA_VISIBLE_DEVICES is unchanged */
};

/* The environment of a program: ours without WINDLASS_ variables (one of them is the token), then
 * WINDLASS_JOB, _WORKER, _SLOT, CUDA_VISIBLE_DEVICES (slot modulo gpus; if ours lists devices, one
 * of these), then `variables`; at last our folder behind those of PYTHONPATH. The caller frees with
 * command_environment_free. */
char **command_environment_new(const struct command_environment *environment);
void command_environment_free(char **variables);
