// SPDX-License-Identifier: Apache-2.0
/* How long a new coordinator waits: PATH gets logs of COUNT... commits, and each is opened again.
 *   restart PATH COUNT...
 * The commits are written directly as objects of our format, 16 at a time: through a log it would
 * take days. */
#include "agent/score/log/commit.h"
#include "lib/time/clock.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITERS = 16, CELLS = 40 /* per commit: 200 mini-batches a second */ };

struct writing {
    struct store *store;
    char run[17];
    long count, next; /* next: atomic */
};

static void fail(const struct error *err) {
    fprintf(stderr, "restart: %s\n", err->text);
    exit(1);
}

static void *write_some(void *context) {
    struct writing *writing = context;
    for (long number;
         (number = __atomic_fetch_add(&writing->next, 1, __ATOMIC_RELAXED)) < writing->count;) {
        struct error err = {0};
        struct commit_writer writer;
        struct commit_head head = {.run = writing->run,
                                   .uid = "uid",
                                   .job = "restart",
                                   .nonce = "0123456789abcdef",
                                   .number = number,
                                   .epoch = 0,
                                   .void_from = -1};
        size_t size = 0;
        char name[64];
        commit_writer_init(&writer);
        for (int i = 0; number > 0 && i < CELLS; i++) {
            struct commit_record record = {.type = COMMIT_DONE,
                                           .first = (number - 1) * CELLS + i,
                                           .cells = 1,
                                           .items = 1,
                                           .lease = (number - 1) * CELLS + i,
                                           .try = 1,
                                           .worker = "worker-0",
                                           .took_ms = 5,
                                           .place = COMMIT_OBJECT,
                                           .size_bytes = 12345,
                                           .crc = 0x1c291ca3};
            if (commit_writer_add(&writer, &record, &err) <= 0) {
                fail(&err);
            }
        }
        AUTO(text_freep) char *text = commit_writer_text(&writer, &head, &size);
        snprintf(name, sizeof name, ".windlass/%s/commit/%012ld", writing->run, number);
        if (store_put(writing->store, name, text, size, STORE_CREATE, &err) < 0) {
            fail(&err);
        }
        commit_writer_release(&writer);
    }
    return NULL;
}

static int count_cell(void *context, const struct commit_head *head UNUSED,
                      const struct commit_record *record, struct error *err UNUSED) {
    *(long *)context += record->type == COMMIT_DONE;
    return 0;
}

static void measure(const char *path, long count) {
    struct error err = {0};
    struct writing writing = {.count = count};
    struct commit_log *log = NULL;
    long cells = 0;
    pthread_t threads[WRITERS];
    AUTO(text_freep) char *folder = x_printf("%s/%ld", path, count);
    snprintf(writing.run, sizeof writing.run, "%016lx", count);
    struct commit_identity identity = {.run = writing.run, .uid = "uid", .job = "restart"};
    if (store_open(folder, /* writes= */ true, &writing.store, &err) < 0) {
        fail(&err);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_create(&threads[i], NULL, write_some, &writing);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
    int64_t start_ms = clock_monotonic_ms();
    if (commit_open(writing.store, &identity, count_cell, &cells, &log, &err) < 0) {
        fail(&err);
    }
    double seconds = (double)(clock_monotonic_ms() - start_ms) / 1000;
    printf("%7ld commits, %8ld mini-batches: %7.2f s, %.0f commits/s\n", count, cells, seconds,
           (double)count / seconds);
    commit_free(log);
    store_free(writing.store);
    if (cells != (count - 1) * CELLS) {
        exit(1);
    }
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    for (int i = 2; i < argc; i++) {
        measure(argv[1], strtol(argv[i], NULL, 10));
    }
    return argc > 2 ? 0 : 2;
}
