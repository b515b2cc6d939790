/* explain.h: `windlass explain`: every field of the resource, as in docs/api.md. */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int explain_command(int argc, char **argv);
