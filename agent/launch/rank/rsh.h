/* rsh.h: the program that replaces ssh and rsh for MPI launchers: reads their arguments (a host and
 * a command line, as in ssh's manual page) and has the agent start the command (shell.h). */
#pragma once

#include "lib/error.h"

/* `ssh [options] HOST WORDS...`: WORDS joined by single spaces, as ssh joins them, go to *ret_line
 * (the caller frees); *ret_host is borrowed from argv. Options of ssh and rsh for user, port, key
 * and forwarding mean nothing between pods and are ignored. INVALID: no host, no command (an
 * interactive shell), an unknown option, or a line that is too long. */
NODISCARD int rsh_read(int argc, char *const *argv, const char **ret_host, char **ret_line,
                       struct error *err);

/* The program in ssh's place: has the agent of this pod ($WINDLASS_SOCKET) start the line on the
 * host's pod, waits for its end and prints the end of its output. Exits with its code, or 255 if it
 * could not be started. */
int rsh_main(int argc, char **argv);
