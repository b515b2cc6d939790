/* serve.h: runs the model server of a worker (spec.scorer.endpoint.server), in a container beside
 * the worker's, or with `windlass run` as its child:
 *
 *     worker  --- FOLDER/agent: a lock as long as it lives --->  serve  --- starts ---> server
 *        ^                                                         |
 *        +------ FOLDER/state: how often it ended, and how; -------+
 *                FOLDER/server: a lock
 *
 * A server that ends is started again, after pauses that grow. When the worker has ended, so must
 * the server: SIGTERM, and 10 s later SIGKILL. A pod whose restartPolicy is Never ends with the
 * last of its containers. */
#pragma once

#include "lib/error.h"

/* Names in the folder of both. */
#define SERVE_AGENT "agent"
#define SERVE_SERVER "server"

struct serve_options {
    const char *folder;
    const char *const *words; /* the server and its arguments; NULL-ended */
    char **variables;         /* its environment; NULL-ended */
    bool (*is_interrupted)(void);
};

/* Blocks until the worker has ended and the server, too. Before the worker is there an interrupt
 * ends it; later it does not, since the worker still finishes what it has. */
NODISCARD int serve_run(const struct serve_options *options, struct error *err);
/* How long a server is away that has ended for the `ends`th time, in ms; 0 or less: it is new. */
int64_t serve_pause_ms(int64_t ends);
