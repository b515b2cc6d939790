/* wait.h: `windlass wait`: until a job has ended, or runs. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int wait_command(int argc, char **argv);
