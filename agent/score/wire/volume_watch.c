// SPDX-License-Identifier: Apache-2.0
#include "agent/score/wire/volume_watch.h"

#include "agent/store/store.h"
#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { VOLUMES_MAX = 16 };

/* ---- the volumes -------------------------------------------------------------------------------
 */

struct volumes {
    char *names[VOLUMES_MAX];
    size_t count;
};

static void volumes_release(struct volumes *volumes) {
    for (size_t i = 0; i < volumes->count; i++) {
        free(volumes->names[i]);
    }
    volumes->count = 0;
}

/* Adds the volume of a path, unless it is known already. */
static void add(struct volumes *volumes, const char *spec_path) {
    if (!spec_path || strstr(spec_path, "://") || volumes->count == VOLUMES_MAX) {
        return;
    }
    size_t length = strcspn(spec_path, "/");
    for (size_t i = 0; i < volumes->count; i++) {
        const char *name = volumes->names[i];
        if (strncmp(name, spec_path, length) == 0 && !name[length]) {
            return;
        }
    }
    volumes->names[volumes->count++] = x_strndup(spec_path, length);
}

static void collect(const json_t *spec, struct volumes *volumes) {
    static const char *const fields[] = {"output.path", "logs.path", "scorer.onnx.path",
                                         "scorer.onnx.postprocess.labels",
                                         "scorer.onnx.tokenizer.path"};
    const char *kind;
    json_t *input;
    *volumes = (struct volumes){0};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        add(volumes, tree_text(spec, fields[i], NULL));
    }
    json_object_foreach(json_object_get(spec, "input"), kind, input) {
        add(volumes, tree_text(input, "path", NULL));
        add(volumes, tree_text(input, "manifest", NULL));
    }
}

static int try_all(const struct volumes *volumes, int timeout_ms, struct error *err) {
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;
    for (size_t i = 0; i < volumes->count; i++) {
        int64_t left_ms = MAX(end_ms - clock_monotonic_ms(), (int64_t)1);
        if (store_probe_path(volumes->names[i], (int)left_ms, err) < 0) {
            return error_context(err, "volume");
        }
    }
    return 0;
}

int volume_watch_check(const struct job *job, int timeout_ms, struct error *err) {
    AUTO(volumes_release) struct volumes volumes;
    collect(job->spec, &volumes);
    return try_all(&volumes, timeout_ms, err);
}

/* ---- watching ------------------------------------------------------------------------------- */

struct volume_watch {
    struct volume_watch_options options;
    struct volumes volumes;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by the lock */
    int references; /* the caller's and that of the thread, which may hang */
    bool ends;
};

/* The caller holds the lock, which is freed with the last reference. */
static void drop(struct volume_watch *volumes) {
    bool is_last = --volumes->references == 0;
    pthread_mutex_unlock(&volumes->lock);
    if (is_last) {
        pthread_cond_destroy(&volumes->changed);
        pthread_mutex_destroy(&volumes->lock);
        volumes_release(&volumes->volumes);
        free(volumes);
    }
}

static void rest(struct volume_watch *volumes) {
    int64_t until_ms = clock_monotonic_ms() + volumes->options.every_ms;
    while (!volumes->ends && timed_wait(&volumes->changed, &volumes->lock, until_ms)) {
    }
}

static void *watch(void *argument) {
    struct volume_watch *volumes = argument;
    pthread_mutex_lock(&volumes->lock);
    for (bool hangs = false; !volumes->ends && !hangs; rest(volumes)) {
        struct error why = {0};
        pthread_mutex_unlock(&volumes->lock);
        (void)!try_all(&volumes->volumes, volumes->options.timeout_ms, &why);
        pthread_mutex_lock(&volumes->lock);
        hangs = why.kind == ERROR_TIMEOUT;
        if (hangs && !volumes->ends) {
            volumes->options.hangs(volumes->options.context, &why);
        }
    }
    drop(volumes);
    return NULL;
}

int volume_watch_start(const struct volume_watch_options *options, struct volume_watch **ret_mounts,
                       struct error *err) {
    struct volume_watch *volumes = x_calloc(1, sizeof *volumes);
    pthread_t thread;
    volumes->options = *options;
    volumes->references = 2;
    collect(options->job->spec, &volumes->volumes);
    pthread_mutex_init(&volumes->lock, NULL);
    timed_wait_init(&volumes->changed);
    int failed = pthread_create(&thread, NULL, watch, volumes);
    if (failed) {
        pthread_mutex_lock(&volumes->lock);
        volumes->references--;
        drop(volumes);
        return error_from_errno(err, failed, "no thread to watch the volumes");
    }
    pthread_detach(thread);
    *ret_mounts = volumes;
    return 0;
}

void volume_watch_free(struct volume_watch *volumes) {
    if (volumes) {
        pthread_mutex_lock(&volumes->lock);
        volumes->ends = true;
        pthread_cond_broadcast(&volumes->changed);
        drop(volumes);
    }
}
