/* top.h: `windlass top`: processor time and memory of the pods of jobs. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int top_command(int argc, char **argv);
