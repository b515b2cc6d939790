/* check.h: `windlass check`: is a manifest one that a cluster would take? */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int check_command(int argc, char **argv);
