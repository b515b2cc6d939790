/* comm_command.h: `windlass-trainer comm check`. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int comm_command(int argc, char **argv);
