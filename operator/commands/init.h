/* init.h: `windlass init`: a manifest with comments to begin with. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int init_command(int argc, char **argv);
