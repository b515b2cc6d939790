/* rsh.h: what an MPI launcher says to the remote shell that we are in ssh's or rsh's place: a host
 * and a command line, as ssh's manual page has them. How it is carried out: shell.h. */
#pragma once

#include "lib/error.h"

/* `ssh [options] HOST WORDS...`: WORDS joined by single spaces, as ssh joins them, go to *ret_line
 * (the caller frees); *ret_host is borrowed from argv. Options of ssh and rsh that choose a user, a
 * port, a key, or what is forwarded change nothing between pods and are passed over. INVALID: there
 * is no host or no command (a shell to type in), an option that is none of theirs, a line that is
 * too long. */
NODISCARD int rsh_read(int argc, char *const *argv, const char **ret_host, char **ret_line,
                       struct error *err);

/* The program in ssh's place: has the agent of this pod ($WINDLASS_SOCKET) start the line on the
 * host's pod, waits for its end and says what it said last; its exit code, 255: it could not be
 * started. */
int rsh_main(int argc, char **argv);
