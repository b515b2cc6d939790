// SPDX-License-Identifier: Apache-2.0
/* Checks in a thread whether a folder answers: a dead hard mount never returns. */
#include "agent/store/path.h"
#include "agent/store/path_folder.h"
#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* Steps of a wait. */
enum { STEP_MS = 100 };

struct path_probe {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int references; /* of the store and of the thread */
    bool is_running;
    char *spec_path;
    struct error result;
};

static void drop(struct path_probe *probe) {
    pthread_mutex_lock(&probe->lock);
    bool is_last = --probe->references == 0;
    pthread_mutex_unlock(&probe->lock);
    if (is_last) {
        pthread_cond_destroy(&probe->ended);
        pthread_mutex_destroy(&probe->lock);
        free(probe->spec_path);
        free(probe);
    }
}

/* Queries the server itself, since a cached result does not show that it is alive. */
static void query_server(const char *spec_path, struct error *err) {
    AUTO(fd_closep) int fd = -1;
    struct statfs status;
    struct statx fresh;
    if (path_open(spec_path, &fd, err) == 0 &&
        (fstatfs(fd, &status) < 0 ||
         statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_MTIME, &fresh) < 0)) {
        error_from_errno(err, errno, "%s", spec_path);
    }
}

static void *run(void *argument) {
    struct path_probe *probe = argument;
    struct error result = {0};
    query_server(probe->spec_path, &result);
    pthread_mutex_lock(&probe->lock);
    probe->result = result;
    probe->is_running = false;
    pthread_cond_broadcast(&probe->ended);
    pthread_mutex_unlock(&probe->lock);
    drop(probe);
    return NULL;
}

struct path_probe *path_probe_new(const char *spec_path) {
    struct path_probe *probe = x_calloc(1, sizeof *probe);
    pthread_mutex_init(&probe->lock, NULL);
    timed_wait_init(&probe->ended);
    probe->references = 1;
    probe->spec_path = x_strdup(spec_path);
    return probe;
}

/* The caller holds the lock. */
static int start(struct path_probe *probe, struct error *err) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    probe->references++;
    probe->is_running = true;
    int result = pthread_create(&thread, &attributes, run, probe);
    pthread_attr_destroy(&attributes);
    if (result != 0) {
        probe->references--;
        probe->is_running = false;
        return error_from_errno(err, result, "%s: cannot start a thread to check it",
                                probe->spec_path);
    }
    return 0;
}

/* A step counts as STEP_MS at most: while a container is paused or a machine sleeps, the storage
 * cannot answer to it. */
int path_probe_wait(struct path_probe *probe, int timeout_ms, struct error *err) {
    pthread_mutex_lock(&probe->lock);
    int result = probe->is_running ? 0 : start(probe, err);
    for (int waited_ms = 0; result == 0 && probe->is_running;) {
        int step_ms = timeout_ms - waited_ms < STEP_MS ? timeout_ms - waited_ms : STEP_MS;
        if (step_ms <= 0) {
            result = error_set(err, ERROR_TIMEOUT, "%s: the storage does not respond within %g s",
                               probe->spec_path, timeout_ms / 1000.0);
        } else if (!timed_wait(&probe->ended, &probe->lock, clock_monotonic_ms() + step_ms)) {
            waited_ms += step_ms;
        }
    }
    if (result == 0 && probe->result.kind != ERROR_NONE) {
        *err = probe->result;
        result = -1;
    }
    pthread_mutex_unlock(&probe->lock);
    return result;
}

void path_probe_free(struct path_probe *probe) {
    if (probe) {
        drop(probe);
    }
}
