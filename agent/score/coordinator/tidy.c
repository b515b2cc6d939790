// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/tidy.h"

#include "agent/score/coordinator/summary.h"
#include "agent/score/wire/volume_watch.h"
#include "lib/log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WATCH_MS = 5000,   /* interval of checks of the volumes */
    HANGS_MS = 300000, /* how long to wait for a hanging volume */
};

void tidy_run(const struct job *job, struct store *output, bool was_killed) {
    static const char *const folders[] = {"try", "join"};
    struct error err = {0};
    for (size_t i = 0; i < ARRAY_LEN(folders) && !err.kind; i++) {
        AUTO(text_freep) char *prefix = x_printf(".windlass/%s/%s/", job->run, folders[i]);
        (void)!store_clear(output, prefix, &err);
    }
    if (!err.kind && was_killed) {
        (void)!store_remove_leftovers(output, &err);
    }
    if (err.kind) {
        log_event(LOG_WARNING, "leftovers remain: %s", err.text);
    }
}

static void on_hang(void *context UNUSED, const struct error *why) {
    log_event(LOG_WARNING, "leftovers remain: %s", why->text);
    _exit(0);
}

void tidy_run_ended(const struct job *job) {
    struct volume_watch_options watched = {
        .job = job, .every_ms = WATCH_MS, .timeout_ms = HANGS_MS, .hangs = on_hang};
    struct volume_watch *volumes = NULL;
    AUTO(store_freep) struct store *output = NULL;
    struct error err = {0};
    if (volume_watch_start(&watched, &volumes, &err) < 0 ||
        store_open(job->output, /* writes= */ true, &output, &err) < 0) {
        log_event(LOG_WARNING, "leftovers may remain: %s", err.text);
    } else {
        tidy_run(job, output, /* was_killed= */ true);
    }
    volume_watch_free(volumes);
}

static int add_name(void *context, const char *name, const struct store_info *info UNUSED,
                    struct error *err UNUSED) {
    json_array_append_new(context, json_string(name));
    return 0;
}

/* A name ends with EPOCH-LEASE (part_name), and possibly a suffix. */
static void remove_tries(const struct job *job, struct store *output, int64_t epoch) {
    struct error err = {0};
    AUTO(text_freep) char *prefix = x_printf(".windlass/%s/try/", job->run);
    AUTO(tree_freep) json_t *names = json_array();
    json_t *name;
    size_t i;
    if (store_list(output, prefix, NULL, add_name, names, &err) < 0) {
        log_event(LOG_WARNING, "leftovers remain: %s", err.text);
        return;
    }
    json_array_foreach(names, i, name) {
        const char *text = json_string_value(name);
        if (strtoll(text + strlen(prefix), NULL, 10) <= epoch &&
            store_remove(output, text, &err) < 0) {
            log_event(LOG_WARNING, "leftovers remain: %s", err.text);
        }
    }
}

void tidy_run_left(const struct job *job, int64_t epoch) {
    struct error err = {0};
    int exit_code = 1;
    AUTO(tree_freep) json_t *words = NULL;
    AUTO(store_freep) struct store *output = NULL;
    if (volume_watch_check(job, VOLUME_CHECK_MS, &err) < 0) {
        return;
    }
    words = summary_read_message(job, /* any_uid= */ true, &exit_code);
    if (words && exit_code == 0 &&
        store_open(job->output, /* writes= */ true, &output, &err) == 0) {
        remove_tries(job, output, epoch);
    }
}
