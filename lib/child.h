/* child.h: a new child process between fork and exec. */
#pragma once

/* Gives the process what a new program expects: the default action for every signal, no blocked
 * signals, and a process group of its own. */
void child_begin(void);
