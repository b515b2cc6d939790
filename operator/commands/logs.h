/* logs.h: `windlass logs`: what the pods of a job wrote, each line with its pod. */
#pragma once

#include "lib/base.h"

/* argv[0] is the command's name. Returns the exit code. */
int logs_command(int argc, char **argv);

/* Prints "[worker-3] text". Control characters of a log must not move the cursor of a terminal. */
void logs_line(const char *pod, const char *text, size_t size, bool is_terminal);
