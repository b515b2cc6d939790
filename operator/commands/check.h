/* check.h: `windlass check`: would a cluster accept this manifest? */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int check_command(int argc, char **argv);
