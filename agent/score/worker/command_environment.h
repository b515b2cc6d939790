/* command_environment.h: what a user's scorer has in its environment. */
#pragma once

#include "lib/base.h"

struct command_environment {
    const char *const *variables; /* "NAME=VALUE", NULL-ended: over all others; NULL: none */
    const char *job, *worker;
    int slot, gpus; /* gpus 0: CUDA_VISIBLE_DEVICES stays as it is */
};

/* The environment of a program: ours without WINDLASS_ variables (the token is one of them), then
 * WINDLASS_JOB, _WORKER, _SLOT, CUDA_VISIBLE_DEVICES (slot modulo gpus; where ours lists devices,
 * one of these), then variables. The caller frees with command_environment_free. */
char **command_environment_new(const struct command_environment *environment);
void command_environment_free(char **variables);
