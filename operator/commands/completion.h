/* completion.h: `windlass completion`: scripts for shells that complete commands, options and the
 * names of runs. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int completion_command(int argc, char **argv);
