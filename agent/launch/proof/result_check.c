// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/proof/result_check.h"

#include "lib/time/clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_MS = 300000, PAUSE_MS = 1000 };

/* Owned by the caller and the thread together: who leaves last frees it. */
struct result_check {
    char *path, *prefix;
    char run[17];
    int64_t round, patience_ms;
    struct result_origin *origin;
    struct finished finished;
    struct error err;
    atomic_bool is_done;
    atomic_int users;
};

static void leave(struct result_check *check) {
    if (atomic_fetch_sub(&check->users, 1) == 1) {
        result_origin_free(check->origin);
        free(check->path);
        free(check->prefix);
        free(check);
    }
}

static int check_once(struct result_check *check, struct error *err) {
    AUTO(store_freep) struct store *store = NULL;
    struct finished *finished = &check->finished;
    bool found = false;
    if (store_open(check->path, /* writes= */ check->origin != NULL, &store, err) < 0 ||
        finished_newest(store, check->prefix, &found, finished, err) < 0) {
        return -1;
    }
    if (!found) {
        return error_set(err, ERROR_FAILED,
                         "all ranks ended with 0, but rank 0 left no record of the result in "
                         "%s/%sfinished",
                         check->path, check->prefix);
    }
    if (finished->round != check->round || strcmp(finished->run, check->run) != 0) {
        return error_set(err, ERROR_FAILED,
                         "all ranks ended with 0, but the newest record of the result in "
                         "%s/%sfinished is of round %" PRId64 " and not of this one, %" PRId64,
                         check->path, check->prefix, finished->round, check->round);
    }
    if (finished_check(store, finished, err) < 0) {
        return -1;
    }
    return check->origin
               ? result_origin_write_training(check->origin, store, check->path, finished, err)
               : 0;
}

static void *run(void *context) {
    struct result_check *check = context;
    int64_t until_ms = clock_monotonic_ms() + check->patience_ms;
    while (check_once(check, &check->err) < 0 && store_error_is_machine(&check->err) &&
           clock_monotonic_ms() < until_ms) {
        error_clear(&check->err);
        nanosleep(&(struct timespec){.tv_sec = PAUSE_MS / 1000}, NULL);
    }
    atomic_store(&check->is_done, true);
    leave(check);
    return NULL;
}

struct result_check *result_check_start(const struct result_check_options *options) {
    struct result_check *check = x_calloc(1, sizeof *check);
    pthread_t thread;
    check->path = x_strdup(options->path);
    check->prefix = x_printf(".windlass/%s/", options->run);
    snprintf(check->run, sizeof check->run, "%s", options->run);
    check->round = options->round;
    check->origin = result_origin_hold(options->origin);
    check->patience_ms = options->patience_ms ? options->patience_ms : PATIENCE_MS;
    atomic_store(&check->users, 2);
    if (pthread_create(&thread, NULL, run, check) == 0) {
        pthread_detach(thread);
    } else {
        error_set(&check->err, ERROR_UNAVAILABLE, "cannot start a thread");
        atomic_store(&check->is_done, true);
        leave(check);
    }
    return check;
}

bool result_check_poll(struct result_check *check, struct finished *ret_finished,
                       struct error *err) {
    if (!atomic_load(&check->is_done)) {
        return false;
    }
    *err = check->err;
    *ret_finished = check->finished;
    return true;
}

void result_check_free(struct result_check *check) {
    if (check) {
        leave(check);
    }
}
