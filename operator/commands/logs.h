/* logs.h: `windlass logs`: what the pods of a job wrote, each line with its pod. */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int logs_command(int argc, char **argv);
