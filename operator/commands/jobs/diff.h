/* diff.h: `windlass diff`: what manifests would change in jobs that exist. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int diff_command(int argc, char **argv);
