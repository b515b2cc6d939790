/* batch.h: `windlass batch`: a batch file through a model server, without a manifest. */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int batch_command(int argc, char **argv);
