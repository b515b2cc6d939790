// SPDX-License-Identifier: Apache-2.0
/* A store from the command line, for tests and benchmarks that need whole programs:
 *   store put|create PATH NAME <DATA
 *   store get PATH NAME >DATA
 *   store list PATH [PREFIX]
 *   store faults PATH                    what is there and has no name here, with the reason
 *   store stat|remove PATH NAME
 *   store probe PATH
 *   store hold PATH NAME SECONDS         gets the object ten times a second for SECONDS, all with
 *                                        one store
 *   store outlast PATH NAME FILE         the same until FILE exists, and once more; only the last
 *                                        time may the storage not be away
 *   store upload PATH NAME BYTES         writes BYTES bytes in pieces of 1 MiB
 *   store read PATH NAME BYTES           reads the object in pieces of BYTES; prints its CRC-32C
 *   store fill PATH COUNT BYTES THREADS  writes COUNT objects, n/000000 ...
 *   store drain PATH COUNT THREADS       gets them all; prints the sum of their sizes
 *   store random PATH SEED OPERATIONS    runs random operations on twenty names, checked against
 *                                        a model
 * An error is one line on stderr; the exit code is that of its kind (lib/error.h). */
#include "agent/store/store.h"
#include "agent/store/local_file.h"
#include "agent/store/published/published.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/seed.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OBJECT_BYTES_MAX = 1 << 30, PIECE = 1 << 20, THREADS_MAX = 64, NAMES = 20 };

static int put(struct store *store, char **arguments, enum store_put_mode how, struct error *err) {
    AUTO(buffer_release) struct buffer data;
    char chunk[65536];
    size_t size;
    buffer_init(&data, STORE_PUT_MAX);
    while ((size = fread(chunk, 1, sizeof chunk, stdin)) > 0) {
        if (buffer_append(&data, chunk, size, err) < 0) {
            return -1;
        }
    }
    return store_put(store, arguments[0], data.data ? data.data : "", data.size, how, err);
}

static int do_put(struct store *store, char **arguments, struct error *err) {
    return put(store, arguments, STORE_REPLACE, err);
}

static int do_create(struct store *store, char **arguments, struct error *err) {
    return put(store, arguments, STORE_CREATE, err);
}

static int do_get(struct store *store, char **arguments, struct error *err) {
    AUTO(buffer_release) struct buffer data;
    buffer_init(&data, OBJECT_BYTES_MAX);
    if (store_get(store, arguments[0], &data, NULL, err) < 0) {
        return -1;
    }
    fwrite(data.data, 1, data.size, stdout);
    return 0;
}

static int tell(void *context UNUSED, const char *name, const struct store_info *info,
                struct error *err UNUSED) {
    printf("%s %lld\n", name, info ? (long long)info->size_bytes : -1LL);
    return 0;
}

static int do_list(struct store *store, char **arguments, struct error *err) {
    return store_list(store, arguments[0] ? arguments[0] : "", NULL, tell, NULL, err);
}

static int tell_fault(void *context UNUSED, const char *name, const struct store_info *info,
                      struct error *err UNUSED) {
    if (info && info->fault) {
        printf("%s: %s\n", name, info->fault);
    }
    return 0;
}

static int do_faults(struct store *store, char **arguments UNUSED, struct error *err) {
    return store_list_links(store, "", NULL, tell_fault, NULL, err);
}

static int do_stat(struct store *store, char **arguments, struct error *err) {
    struct store_info info;
    if (store_stat(store, arguments[0], &info, err) < 0) {
        return -1;
    }
    printf("%lld %s\n", (long long)info.size_bytes, info.token);
    return 0;
}

static int do_remove(struct store *store, char **arguments, struct error *err) {
    return store_remove(store, arguments[0], err);
}

static int do_probe(struct store *store, char **arguments UNUSED, struct error *err) {
    return store_probe(store, 3000, err);
}

static int do_hold(struct store *store, char **arguments, struct error *err) {
    int64_t end_ms = clock_monotonic_ms() + strtoll(arguments[1], NULL, 10) * 1000;
    int count = 0;
    for (; clock_monotonic_ms() < end_ms; count++) {
        AUTO(buffer_release) struct buffer data;
        buffer_init(&data, OBJECT_BYTES_MAX);
        if (store_get(store, arguments[0], &data, NULL, err) < 0) {
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    printf("%d times\n", count);
    return 0;
}

/* How long a storage is away depends on the machine; how long a store waits for it does not. */
static int do_outlast(struct store *store, char **arguments, struct error *err) {
    enum { MOST = 6000 };
    int count = 0, missed = 0;
    for (bool is_last = false; !is_last; count++) {
        AUTO(buffer_release) struct buffer data;
        struct error cause = {0};
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        is_last = access(arguments[1], F_OK) == 0;
        if (count == MOST) {
            return error_set(err, ERROR_TIMEOUT, "%s never came", arguments[1]);
        }
        buffer_init(&data, OBJECT_BYTES_MAX);
        if (store_get(store, arguments[0], &data, NULL, &cause) == 0) {
            continue;
        }
        missed++;
        if (is_last || cause.kind != ERROR_UNAVAILABLE) {
            *err = cause;
            return -1;
        }
    }
    printf("%d times, %d of them not\n", count, missed);
    return 0;
}

static int do_upload(struct store *store, char **arguments, struct error *err) {
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    AUTO(text_freep) char *piece = x_malloc(PIECE);
    for (size_t i = 0; i < PIECE; i++) {
        piece[i] = (char)(i * 2654435761u >> 13);
    }
    if (store_upload_open(store, arguments[0], &upload, err) < 0) {
        return -1;
    }
    for (long long left = strtoll(arguments[1], NULL, 10); left > 0; left -= PIECE) {
        memcpy(piece, &left, sizeof left);
        if (store_upload_add(upload, piece, (size_t)MIN(left, (long long)PIECE), err) < 0) {
            return -1;
        }
    }
    return store_upload_commit(upload, STORE_REPLACE, err);
}

static int do_read(struct store *store, char **arguments, struct error *err) {
    size_t piece = strtoull(arguments[1], NULL, 10), got = 0;
    AUTO(text_freep) char *data = x_malloc(piece);
    struct store_info info;
    uint32_t crc = 0;
    if (store_stat(store, arguments[0], &info, err) < 0) {
        return -1;
    }
    for (int64_t at = 0; at < info.size_bytes; at += (int64_t)got) {
        if (store_read(store, arguments[0], &(struct store_piece){at, data, piece, info.token},
                       &got, err) < 0) {
            return -1;
        }
        crc = arguments[2] ? digest_crc32c(crc, data, got) : crc;
    }
    printf("%lld %08x\n", (long long)info.size_bytes, crc);
    return 0;
}

/* ---- many objects, by threads --------------------------------------------------------------- */

struct crowd {
    struct store *store;
    long count, size; /* size 0: get */
    long next, bytes; /* atomic */
    struct error err; /* under the lock */
    pthread_mutex_t lock;
};

static void *work(void *context) {
    struct crowd *crowd = context;
    AUTO(text_freep) char *data = x_calloc(1, (size_t)crowd->size + 1);
    for (;;) {
        long number = __atomic_fetch_add(&crowd->next, 1, __ATOMIC_RELAXED);
        if (number >= crowd->count) {
            return NULL;
        }
        char name[32];
        struct error err = {0};
        AUTO(buffer_release) struct buffer buffer;
        buffer_init(&buffer, OBJECT_BYTES_MAX);
        snprintf(name, sizeof name, "n/%06ld", number);
        int result = crowd->size ? store_put(crowd->store, name, data, (size_t)crowd->size,
                                             STORE_REPLACE, &err)
                                 : store_get(crowd->store, name, &buffer, NULL, &err);
        __atomic_fetch_add(&crowd->bytes, (long)buffer.size, __ATOMIC_RELAXED);
        if (result < 0) {
            pthread_mutex_lock(&crowd->lock);
            crowd->err = err;
            pthread_mutex_unlock(&crowd->lock);
            return NULL;
        }
    }
}

static int run_crowd(struct store *store, long count, long size, long threads, struct error *err) {
    struct crowd crowd = {.store = store, .count = count, .size = size};
    pthread_t workers[THREADS_MAX];
    pthread_mutex_init(&crowd.lock, NULL);
    threads = MIN(threads, (long)THREADS_MAX);
    for (long i = 0; i < threads; i++) {
        pthread_create(&workers[i], NULL, work, &crowd);
    }
    for (long i = 0; i < threads; i++) {
        pthread_join(workers[i], NULL);
    }
    printf("%ld bytes\n", crowd.bytes);
    *err = crowd.err;
    return err->kind ? -1 : 0;
}

static int do_fill(struct store *store, char **arguments, struct error *err) {
    return run_crowd(store, strtol(arguments[0], NULL, 10), strtol(arguments[1], NULL, 10),
                     strtol(arguments[2], NULL, 10), err);
}

static int do_drain(struct store *store, char **arguments, struct error *err) {
    return run_crowd(store, strtol(arguments[0], NULL, 10), 0, strtol(arguments[1], NULL, 10), err);
}

/* ---- against a model ------------------------------------------------------------------------ */

/* The expected object: one letter, repeated. Letter 0: the object does not exist. */
struct model {
    char letter;
    size_t size;
};

/* Every error is a failure of the test: where a fault leaves the outcome open, the store retries
 * until it knows. Exception: CONFLICT of a create, which may come from the create's own lost
 * answer. */
static int create(struct store *store, const char *name, struct model *model, char letter,
                  size_t size, struct error *err) {
    AUTO(text_freep) char *data = x_malloc(size + 1);
    memset(data, letter, size);
    struct error cause = {0};
    int result = store_put(store, name, data, size, STORE_CREATE, &cause);
    bool was_there = model->letter != 0;
    if (result < 0 && cause.kind != ERROR_CONFLICT) {
        *err = cause;
        return -1;
    }
    if (result == 0 && was_there) {
        return error_set(err, ERROR_BUG, "%s: was created twice", name);
    }
    if (!was_there) {
        model->letter = letter;
        model->size = size;
    }
    return 0;
}

static int check(struct store *store, const char *name, const struct model *model,
                 struct error *err) {
    AUTO(buffer_release) struct buffer data;
    struct error cause = {0};
    struct store_info info;
    buffer_init(&data, OBJECT_BYTES_MAX);
    int result = store_get(store, name, &data, &info, &cause);
    if (result < 0 && !(cause.kind == ERROR_NOT_FOUND && !model->letter)) {
        *err = cause;
        return -1;
    }
    bool is_same = result < 0 || (model->letter && data.size == model->size &&
                                  info.size_bytes == (int64_t)data.size);
    for (size_t at = 0; is_same && at < data.size; at++) {
        is_same = data.data[at] == model->letter;
    }
    return is_same ? 0 : error_set(err, ERROR_BUG, "%s: is not what was written", name);
}

static int write_upload(struct store *store, const char *name, char letter, size_t size,
                        struct error *err) {
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    AUTO(text_freep) char *data = x_malloc(size + 1);
    memset(data, letter, size);
    return store_upload_open(store, name, &upload, err) < 0 ||
                   store_upload_add(upload, data, size / 3, err) < 0 ||
                   store_upload_add(upload, data, size - size / 3, err) < 0
               ? -1
               : store_upload_commit(upload, STORE_REPLACE, err);
}

static int count_one(void *context, const char *name UNUSED, const struct store_info *info UNUSED,
                     struct error *err UNUSED) {
    ++*(int *)context;
    return 0;
}

static int one_operation(struct store *store, struct model *models, uint64_t *state,
                         struct error *err) {
    int i = (int)(test_random(state) % NAMES), seen = 0, there = 0;
    char letter = (char)('a' + test_random(state) % 26), name[32];
    size_t large = test_random(state) % 8 == 0 ? 20u << 20 : 3000;
    size_t size = test_random(state) % large;
    snprintf(name, sizeof name, "random/%d", i);
    switch (test_random(state) % 6) {
    case 0:
        return create(store, name, &models[i], letter, size, err);
    case 1:
        models[i].letter = 0;
        return store_remove(store, name, err);
    case 2:
        models[i] = (struct model){letter, size};
        return write_upload(store, name, letter, size, err);
    case 3:
        for (int k = 0; k < NAMES; k++) {
            there += models[k].letter != 0;
        }
        return store_list(store, "random/", NULL, count_one, &seen, err) < 0 ? -1
               : seen == there                                               ? 0
                               : error_set(err, ERROR_BUG, "%d names, wanted %d", seen, there);
    default:
        return check(store, name, &models[i], err);
    }
}

static int do_random(struct store *store, char **arguments, struct error *err) {
    uint64_t state = strtoull(arguments[0], NULL, 10);
    struct model models[NAMES] = {0};
    for (long left = strtol(arguments[1], NULL, 10); left > 0; left--) {
        if (one_operation(store, models, &state, err) < 0) {
            return error_context(err, "%ld operations before the end", left);
        }
    }
    for (int i = 0; i < NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "random/%d", i);
        if (check(store, name, &models[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static const struct {
    const char *name;
    int arguments;
    bool writes;
    int (*run)(struct store *store, char **arguments, struct error *err);
} commands[] = {
    {"put", 1, true, do_put},          {"create", 1, true, do_create},
    {"get", 1, false, do_get},         {"list", 0, false, do_list},
    {"stat", 1, false, do_stat},       {"remove", 1, true, do_remove},
    {"probe", 0, false, do_probe},     {"hold", 2, false, do_hold},
    {"upload", 2, true, do_upload},    {"read", 2, false, do_read},
    {"fill", 3, true, do_fill},        {"drain", 2, false, do_drain},
    {"random", 2, true, do_random},    {"faults", 0, false, do_faults},
    {"outlast", 2, false, do_outlast},
};

/* What a path of published.h leads to, as a model is read: its pinned path on stdout, its bytes in
 * the file. sha256: "": none. */
static int fetch(const char *path, const char *sha256, const char *to, struct error *err) {
    AUTO(text_freep) char *pinned = NULL;
    AUTO(local_file_release) struct local_file file = {0};
    char *data = NULL;
    size_t size = 0;
    if (published_pin(path, *sha256 ? sha256 : NULL, &pinned, err) < 0 ||
        local_file_open(pinned, &file, err) < 0 ||
        local_file_read(&file, (size_t)1 << 30, &data, &size, NULL, err) < 0) {
        return -1;
    }
    int result = file_write(to, data, size, err);
    free(data);
    printf("%s\n", pinned);
    return result;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); /* as the agent's main does */
    if (argc == 5 && strcmp(argv[1], "fetch") == 0) {
        struct error err = {0};
        if (fetch(argv[2], argv[3], argv[4], &err) < 0) {
            fprintf(stderr, "%s: %s\n", error_kind_name(err.kind), err.text);
            return error_exit_code(&err);
        }
        return 0;
    }
    for (size_t i = 0; argc > 2 && i < ARRAY_LEN(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0 && argc >= 3 + commands[i].arguments) {
            struct error err = {0};
            AUTO(store_freep) struct store *store = NULL;
            if (store_open(argv[2], commands[i].writes, &store, &err) < 0 ||
                commands[i].run(store, argv + 3, &err) < 0) {
                fprintf(stderr, "%s: %s\n", error_kind_name(err.kind), err.text);
                return error_exit_code(&err);
            }
            return 0;
        }
    }
    fprintf(stderr, "store: see tests/azurite/store.c\n");
    return 2;
}
