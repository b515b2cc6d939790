/* child.h: what a child process does between fork and exec. Only async-signal-safe calls, because
 * other threads of the parent may have held locks at the fork. */
#pragma once

#include "lib/base.h"

#include <sys/types.h>

/* Gives the child a process group of its own, the default action of every signal, and no blocked
 * signals. */
void child_begin(void);
/* The kernel kills the child when the thread that started it ends. parent: getpid() before the
 * fork; the child exits if that process has ended meanwhile. False, with errno: not possible. */
bool child_dies_with(pid_t parent);
/* Writes errno, an int, to a pipe that the parent reads, and exits with 127. The pipe closes at
 * exec (O_CLOEXEC), so the parent reads nothing if exec has succeeded. */
_Noreturn void child_fail(int pipe_fd);
