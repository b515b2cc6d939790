/* train_command.h: `windlass-trainer train`: one rank of a training; the job is in the
 * environment. */
#pragma once

int train_command(int argc, char **argv);
