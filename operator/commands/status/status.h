/* status.h: `windlass status`: the progress of a cluster's jobs, and what they wait for. */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int status_command(int argc, char **argv);
