/* run_help.h: the texts of `windlass run --help` to which the kinds contribute. */
#pragma once

#include "lib/base.h"

/* All owned. */
struct run_help {
    char *about;
    char *file, *secrets, *workers; /* of these options */
};

void run_help_make(struct run_help *ret);
void run_help_release(struct run_help *texts); /* for AUTO, too */
