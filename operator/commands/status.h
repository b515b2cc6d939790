/* status.h: `windlass status`: how far jobs of a cluster are, and what keeps them. */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int status_command(int argc, char **argv);
