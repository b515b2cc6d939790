/* serve_command.h: the command that runs a worker's model server (agent/serve/serve.h), and what a
 * worker does first where one runs beside it. */
#pragma once

#include "lib/error.h"

/* `serve FOLDER -- COMMAND...` Returns the exit code (docs/errors.md). */
int serve_command(int argc, char **argv);
/* In a pod with a model server: from now on, until this process has ended, the server's container
 * knows that the worker is there. Before all else: a worker that ends at once takes the server with
 * it only if it has been there. */
NODISCARD int serve_command_announce(struct error *err);
