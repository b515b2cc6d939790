/* rsh.h: the program that replaces ssh and rsh for MPI launchers: takes their arguments (a host and
 * a command line, as in ssh's manual page) and has the agent of this pod start the command on that
 * host's pod (agent_socket.h). */
#pragma once

#include "lib/error.h"

/* Parses `ssh [options] HOST WORDS...`. *ret_line: WORDS joined by single spaces, as ssh does; the
 * caller frees. *ret_host: borrowed from argv. Options for user, port, key and forwarding mean
 * nothing between pods and are ignored. INVALID: no host, no command (an interactive shell), an
 * unknown option, or a line that is too long. */
NODISCARD int rsh_read(int argc, char *const *argv, const char **ret_host, char **ret_line,
                       struct error *err);

/* Starts the command through the agent ($WINDLASS_SOCKET), waits until it has ended, and prints the
 * end of its output. Returns its exit code; 255: it was not started. */
int rsh_main(int argc, char **argv);
