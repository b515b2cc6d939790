/* log_line.h: one line of a pod's log, for a terminal or a file. */
#pragma once

#include "lib/base.h"

/* Prints "[worker-3] text" to standard output. For a terminal, control characters are replaced by
 * spaces, because they could move the cursor. */
void log_line_print(const char *pod, const char *text, size_t size, bool is_terminal);
