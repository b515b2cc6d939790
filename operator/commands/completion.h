/* completion.h: `windlass completion`: scripts for shells that complete commands, options and the
 * names of runs. */
#pragma once

int completion_command(int argc, char **argv);
