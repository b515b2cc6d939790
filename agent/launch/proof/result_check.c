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
    char **outputs; /* NULL-ended */
    json_t *proof;
    struct result_origin *origin;
    struct result_check_end end;
    atomic_bool is_done;
    atomic_int users;
};

static void leave(struct result_check *check) {
    if (atomic_fetch_sub(&check->users, 1) == 1) {
        result_origin_free(check->origin);
        for (size_t i = 0; check->outputs[i]; i++) {
            free(check->outputs[i]);
        }
        free(check->outputs);
        json_decref(check->proof);
        free(check->path);
        free(check->prefix);
        free(check);
    }
}

/* ---- a training ----------------------------------------------------------------------------- */

static int check_training(struct result_check *check, struct error *err) {
    AUTO(store_freep) struct store *store = NULL;
    struct finished *finished = &check->end.finished;
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
    return check->origin ? result_origin_write_training(check->origin, store, finished,
                                                        check->proof, check->end.result_sha256, err)
                         : 0;
}

/* ---- a command ------------------------------------------------------------------------------ */

static int write_output(struct result_check *check, const char *path, char ret_sha256[static 65],
                        struct error *err) {
    AUTO(store_freep) struct store *store = NULL;
    if (!strchr(path, '/')) {
        return error_set(err, ERROR_FAILED,
                         "%s is a whole volume, where others write, too: give the output a folder "
                         "of its own to have result.json",
                         path);
    }
    return store_open(path, /* writes= */ true, &store, err) < 0
               ? -1
               : result_origin_write_command(check->origin, store,
                                             (const char *const *)check->outputs, check->proof,
                                             ret_sha256, err);
}

/* What keeps one output from having its result does not keep the others. */
static int write_outputs(struct result_check *check, struct error *err) {
    struct error first = {0};
    *check->end.result_sha256 = 0;
    for (size_t i = 0; check->outputs[i]; i++) {
        struct error why = {0};
        char sha256[65] = "";
        if (write_output(check, check->outputs[i], sha256, &why) < 0) {
            first = first.kind ? first : why;
        } else if (!*check->end.result_sha256) {
            memcpy(check->end.result_sha256, sha256, sizeof sha256);
        }
    }
    *err = first;
    return first.kind ? -1 : 0;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static void *run(void *context) {
    struct result_check *check = context;
    struct error *err = &check->end.err;
    int64_t until_ms = clock_monotonic_ms() + check->patience_ms;
    while ((check->path ? check_training(check, err) : write_outputs(check, err)) < 0 &&
           store_error_is_machine(err) && clock_monotonic_ms() < until_ms) {
        error_clear(err);
        nanosleep(&(struct timespec){.tv_sec = PAUSE_MS / 1000}, NULL);
    }
    atomic_store(&check->is_done, true);
    leave(check);
    return NULL;
}

static char **copy_texts(char *const *texts) {
    size_t count = 0;
    while (texts && texts[count]) {
        count++;
    }
    char **copy = x_calloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        copy[i] = x_strdup(texts[i]);
    }
    return copy;
}

struct result_check *result_check_start(const struct result_check_options *options) {
    struct result_check *check = x_calloc(1, sizeof *check);
    const char *name = options->run ? options->run : "";
    pthread_t thread;
    check->path = options->path ? x_strdup(options->path) : NULL;
    check->prefix = x_printf(".windlass/%s/", name);
    snprintf(check->run, sizeof check->run, "%s", name);
    check->round = options->round;
    check->outputs = copy_texts(options->outputs);
    check->proof = options->proof_new;
    check->origin = result_origin_hold(options->origin);
    check->patience_ms = options->patience_ms ? options->patience_ms : PATIENCE_MS;
    atomic_store(&check->users, 2);
    if (pthread_create(&thread, NULL, run, check) == 0) {
        pthread_detach(thread);
    } else {
        error_set(&check->end.err, ERROR_UNAVAILABLE, "cannot start a thread");
        atomic_store(&check->is_done, true);
        leave(check);
    }
    return check;
}

bool result_check_poll(struct result_check *check, struct result_check_end *ret_end) {
    if (!atomic_load(&check->is_done)) {
        return false;
    }
    *ret_end = check->end;
    return true;
}

void result_check_free(struct result_check *check) {
    if (check) {
        leave(check);
    }
}
