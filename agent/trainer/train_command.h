/* train_command.h: `windlass-trainer train`: one rank of a training; the job is in the
 * environment. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int train_command(int argc, char **argv);
