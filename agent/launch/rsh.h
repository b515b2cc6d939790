/* rsh.h: what an MPI launcher says to the remote shell that we are in ssh's or rsh's place: a host
 * and a command line, as ssh's manual page has them. Pure; who carries it out comes with step 5. */
#pragma once

#include "lib/error.h"

enum { RSH_LINE_MAX = 256 << 10 /* bytes */ };

/* `ssh [options] HOST WORDS...`: WORDS joined by single spaces, as ssh joins them, go to *ret_line
 * (the caller frees); *ret_host is borrowed from argv. Options of ssh and rsh that choose a user, a
 * port, a key, or what is forwarded change nothing between pods and are passed over. INVALID: there
 * is no host or no command (a shell to type in), an option that is none of theirs, a line that is
 * too long. */
NODISCARD int rsh_read(int argc, char *const *argv, const char **ret_host, char **ret_line,
                       struct error *err);
