/* stop_signals.h: the signals that stop a command, as a descriptor that poll waits for. */
#pragma once

#include "lib/error.h"

/* Blocks SIGINT and SIGTERM, with `hangup` SIGHUP too, in this thread and those that it starts from
 * now on. *ret_fd: a signalfd that does not block; the caller closes it. */
NODISCARD int stop_signals_open(bool hangup, int *ret_fd, struct error *err);
