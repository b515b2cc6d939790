// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/background/background_task.h"

static void *run(void *context) {
    struct background_task *task = context;
    task->result = task->run(task->coordinator, &task->err);
    atomic_store(&task->has_ended, true);
    server_wake(task->server);
    return NULL;
}

int background_task_start(struct background_task *task, struct error *err) {
    return pthread_create(&task->thread, NULL, run, task) == 0
               ? 0
               : error_set(err, ERROR_EXHAUSTED, "cannot start a thread");
}

bool background_task_has_ended(struct background_task *task) {
    return atomic_load(&task->has_ended);
}

bool background_task_is_running(struct background_task *task) {
    return task->run && !background_task_has_ended(task);
}

int background_task_join(struct background_task *task, struct error *err) {
    pthread_join(task->thread, NULL);
    if (task->result < 0) {
        *err = task->err;
    }
    return task->result;
}
