/* run.h: `windlass run`: one manifest on this machine, from its file to its results. */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int run_command(int argc, char **argv);
