/* own_server.h: the model server of this worker alone (spec.scorer.endpoint.server): in a container
 * of the worker's pod, or with `windlass run` a child of the worker; agent/serve/serve.h has how
 * the two find each other. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

struct own_server;

/* Starts it, where it is a child. INVALID: its port is taken. */
NODISCARD int own_server_open(const json_t *spec, struct own_server **ret_server,
                              struct error *err);
/* Ends it, where it is a child, and waits for some seconds. Accepts NULL. */
void own_server_close(struct own_server *server);
int own_server_port(const struct own_server *server); /* at 127.0.0.1 */

/* Whether the files that its command names are those of its start, as far as that is known: in a
 * pod the server's container may start it some seconds before the worker opens it, and what is
 * replaced in that time is not noticed. Files that were added, as by the server itself, do not
 * count. UNAVAILABLE: one has changed or is gone. Any thread. */
NODISCARD int own_server_check_files(const struct own_server *server, struct error *err);

/* answers: how many requests the server has answered so far. Logs when it has ended. -1: it
 * will not answer any more. INVALID: it has never answered, so the server of another worker would
 * not either; UNAVAILABLE: it has answered before, or its container is gone, and another worker's
 * may answer; or it has ended, and the files that its command names have changed since it was
 * opened, so that it would answer by another model. One thread. Accepts NULL. */
NODISCARD int own_server_look(struct own_server *server, int64_t answers, struct error *err);
