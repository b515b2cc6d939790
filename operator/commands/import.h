/* import.h: `windlass import`: makes a manifest of a job of another system (kinds/import/). */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int import_command(int argc, char **argv);
