/* background_task.h: runs long work in a separate thread: listing, joining, publishing. The
 * server's thread starts the task, continues serving until the task has ended, and joins it. */
#pragma once

#include "lib/error.h"
#include "lib/net/server.h"

#include <pthread.h>
#include <stdatomic.h>

struct coordinator;

struct background_task {
    struct coordinator *coordinator;
    int (*run)(struct coordinator *coordinator, struct error *err);
    struct server *server; /* woken when the task ends */
    /* Private to background_task.c. */
    pthread_t thread;
    int result; /* result and err are read when has_ended is true */
    struct error err;
    atomic_bool has_ended;
};

/* The task must not move until it is joined. EXHAUSTED: no thread could be started. */
NODISCARD int background_task_start(struct background_task *task, struct error *err);
bool background_task_has_ended(struct background_task *task);
/* True if the task was started and has not ended. */
bool background_task_is_running(struct background_task *task);
/* Returns the result and the error of `run`. Blocks until the task has ended. */
NODISCARD int background_task_join(struct background_task *task, struct error *err);
