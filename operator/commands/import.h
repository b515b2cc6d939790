/* import.h: `windlass import`: converts a job.json of Azure Batch AI to a manifest. */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int import_command(int argc, char **argv);
