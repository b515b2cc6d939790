// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/proof/result_check.h"

#include "agent/launch/proof/proof_thread.h"
#include "lib/log.h"
#include "lib/secret.h"
#include "lib/text/text_list.h"
#include "lib/time/clock.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMEOUT_MS = 300000, PAUSE_MS = 1000 };

struct result_check {
    struct proof_thread thread;
    char *path, *prefix;
    char run[17];
    int64_t round, timeout_ms;
    char **outputs; /* NULL-ended */
    struct ended ended;
    char *ended_path, *ended_run, *uid, *token;
    struct ended_place ended_place; /* of these texts */
    bool is_end_stored;
    struct result_origin *origin;
    struct result_check_end end;
    pthread_mutex_t lock; /* guards trouble */
    struct error trouble; /* why it tries again */
};

static void release(struct proof_thread *self) {
    struct result_check *check = (struct result_check *)self;
    result_origin_free(check->origin);
    pthread_mutex_destroy(&check->lock);
    text_list_free(check->outputs);
    json_decref(check->ended.end);
    free(check->ended_path);
    free(check->ended_run);
    free(check->uid);
    secret_forget(&check->token);
    free(check->path);
    free(check->prefix);
    free(check);
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
                                                        json_object_get(check->ended.end, "proof"),
                                                        check->end.result_sha256, err)
                         : 0;
}

/* ---- a command ------------------------------------------------------------------------------ */

/* 1: written; the program has left no file there. */
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
                                             (const char *const *)check->outputs, check->ended.end,
                                             ret_sha256, err);
}

/* What keeps one output from having its result does not keep the others. */
static int write_outputs(struct result_check *check, struct error *err) {
    struct error first = {0};
    struct result_check_end *end = &check->end;
    *end->result_sha256 = *end->empty = 0;
    for (size_t i = 0; check->outputs[i]; i++) {
        struct error why = {0};
        char sha256[65] = "";
        int written = write_output(check, check->outputs[i], sha256, &why);
        if (written < 0) {
            first = first.kind ? first : why;
        } else if (!*end->result_sha256) {
            memcpy(end->result_sha256, sha256, sizeof sha256);
        }
        if (written > 0 && !*end->empty) {
            snprintf(end->empty, sizeof end->empty, "%s", check->outputs[i]);
        }
    }
    *err = first;
    return first.kind ? -1 : 0;
}

/* ---- the thread ----------------------------------------------------------------------------- */

/* Without the record all is as it was before there were records: a hub that dies now starts the
 * gang again. So only a successor's word ends the check. False: that. */
static bool store_end(struct result_check *check) {
    struct error err = {0};
    if (check->is_end_stored || !check->ended_place.path) {
        return true;
    }
    check->is_end_stored = ended_put(&check->ended_place, &check->ended, &err) == 0;
    check->end.is_overtaken = err.kind == ERROR_CONFLICT;
    if (!check->is_end_stored) {
        log_event(LOG_WARNING, "cannot store that all ranks have ended: %s", err.text);
    }
    return !check->end.is_overtaken;
}

static int try_once(struct result_check *check, struct error *err) {
    return !store_end(check) ? 0
           : check->path     ? check_training(check, err)
                             : write_outputs(check, err);
}

/* Of a training: another round follows, in which no hub may find this end. */
static void take_back(struct result_check *check) {
    struct error err = {0};
    if (check->path && check->end.err.kind && check->is_end_stored && check->ended_place.path &&
        ended_withdraw(&check->ended_place, check->ended.attempt, &err) < 0) {
        log_event(LOG_WARNING, "cannot take back that all ranks have ended: %s", err.text);
    }
}

static void note_trouble(struct result_check *check, const struct error *why) {
    pthread_mutex_lock(&check->lock);
    check->trouble = *why;
    pthread_mutex_unlock(&check->lock);
}

static void run_check(struct proof_thread *self) {
    struct result_check *check = (struct result_check *)self;
    struct error *err = &check->end.err;
    int64_t until_ms = clock_monotonic_ms() + check->timeout_ms;
    while (try_once(check, err) < 0 && store_error_is_machine(err) &&
           clock_monotonic_ms() < until_ms) {
        note_trouble(check, err);
        error_clear(err);
        nanosleep(&(struct timespec){.tv_sec = PAUSE_MS / 1000}, NULL);
    }
    take_back(check);
}

static char *copy(const char *text) {
    return text ? x_strdup(text) : NULL;
}

static void copy_place(struct result_check *check, const struct ended_place *place) {
    check->ended_path = copy(place->path);
    check->ended_run = copy(place->run);
    check->uid = copy(place->uid);
    check->token = copy(place->token);
    check->ended_place = (struct ended_place){.path = check->ended_path,
                                              .run = check->ended_run,
                                              .uid = check->uid,
                                              .token = check->token,
                                              .attempt = place->attempt};
}

struct result_check *result_check_start(const struct result_check_options *options) {
    struct result_check *check = x_calloc(1, sizeof *check);
    pthread_mutex_init(&check->lock, NULL);
    const char *name = options->run ? options->run : "";
    check->path = copy(options->path);
    check->prefix = x_printf(".windlass/%s/", name);
    snprintf(check->run, sizeof check->run, "%s", name);
    check->round = options->round;
    check->outputs = text_list_copy(options->outputs);
    check->ended = (struct ended){.attempt = options->ended_attempt ? options->ended_attempt
                                                                    : options->ended.attempt,
                                  .end = options->end_new};
    check->is_end_stored = options->ended_attempt > 0;
    copy_place(check, &options->ended);
    check->origin = result_origin_hold(options->origin);
    check->timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;
    if (!proof_thread_start(&check->thread, run_check, release)) {
        error_set(&check->end.err, ERROR_UNAVAILABLE, "cannot start a thread");
    }
    return check;
}

bool result_check_poll(struct result_check *check, struct result_check_end *ret_end) {
    if (!proof_thread_is_done(&check->thread)) {
        return false;
    }
    *ret_end = check->end;
    return true;
}

void result_check_read_trouble(struct result_check *check, char *text, size_t size) {
    pthread_mutex_lock(&check->lock);
    snprintf(text, size, "%s", check->trouble.text);
    pthread_mutex_unlock(&check->lock);
}

void result_check_free(struct result_check *check) {
    if (check) {
        proof_thread_leave(&check->thread);
    }
}
