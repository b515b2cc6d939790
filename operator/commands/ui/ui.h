/* ui.h: `windlass ui`: a page in the browser over the runs of this machine, and over the jobs of a
 * cluster. */
#pragma once

/* Returns the exit code (docs/errors.md). */
int ui_command(int argc, char **argv);
