// SPDX-License-Identifier: Apache-2.0
#include "tests/broken_store.h"

#include "agent/store/store_ops.h"
#include "tests/seed.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum fault { FAULT_NONE, FAULT_BEFORE, FAULT_LOST, FAULT_TWICE, FAULT_LATE, FAULT_COUNT };

struct broken {
    struct store base;
    struct store *inner;
    struct broken_options options;
    pthread_mutex_t lock;
    uint64_t state; /* the lock guards the rest */
    int64_t calls, faults;
    char *late_name; /* a write that was reported as failed; the next call does it */
    void *late_data;
    size_t late_size;
    enum store_put_mode late_how;
};

struct broken_upload {
    struct store_upload base;
    struct store_upload *inner;
};

static struct broken *broken_of(const struct store *base) {
    return (struct broken *)base;
}

static struct store *inner_of(const struct store *base) {
    return broken_of(base)->inner;
}

/* Called with the lock held. */
static void do_late(struct broken *store) {
    struct error ignored = {0};
    if (store->late_name && store_put(store->inner, store->late_name, store->late_data,
                                      store->late_size, store->late_how, &ignored) < 0) {
        error_clear(&ignored); /* no caller waits for its result */
    }
    free(TAKE(store->late_name));
    free(TAKE(store->late_data));
}

static enum fault next(const struct store *base, bool *ret_absent) {
    struct broken *store = broken_of(base);
    const struct broken_options *options = &store->options;
    pthread_mutex_lock(&store->lock);
    uint64_t draw = test_random(&store->state), which = test_random(&store->state);
    bool is_dead = options->dies_after && store->calls >= options->dies_after;
    bool is_broken = (int)(draw % 100) < options->percent;
    *ret_absent = !is_dead && (int)(draw / 100 % 100) < options->absent_percent;
    if (++store->calls == options->kills_at) {
        _exit(BROKEN_STORE_KILLED);
    }
    store->faults += is_dead || is_broken || *ret_absent;
    if (!is_dead) {
        do_late(store);
    }
    pthread_mutex_unlock(&store->lock);
    while (options->is_held && atomic_load(options->is_held)) {
        poll(NULL, 0, 1);
    }
    if (options->delay_ms_max) {
        poll(NULL, 0, (int)(which / 64 % (uint64_t)(options->delay_ms_max + 1)));
    }
    return is_dead     ? FAULT_BEFORE
           : is_broken ? (enum fault)(1 + which % (FAULT_COUNT - 1))
                       : FAULT_NONE;
}

static int fail(const struct store *base, const char *name, struct error *err) {
    static const enum error_kind kinds[] = {ERROR_UNAVAILABLE, ERROR_TIMEOUT, ERROR_EXHAUSTED};
    error_clear(err);
    return error_set(err, kinds[broken_of(base)->faults % 3], "%s/%s: broken for a test",
                     base->path, name);
}

/* Returns 0 if the call is to be done. */
static int before_read(const struct store *base, const char *name, struct error *err) {
    bool is_absent = false;
    if (next(base, &is_absent) != FAULT_NONE) {
        return fail(base, name, err);
    }
    return is_absent ? error_set(err, ERROR_NOT_FOUND, "%s/%s: absent for a test", base->path, name)
                     : 0;
}

static void broken_free(struct store *base) {
    struct broken *store = broken_of(base);
    store_free(store->inner);
    free(store->late_name);
    free(store->late_data);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static struct store_abilities broken_features(const struct store *base) {
    return store_features(inner_of(base));
}

static int broken_probe(struct store *base, int timeout_ms, struct error *err) {
    bool is_absent = false;
    return next(base, &is_absent) != FAULT_NONE ? fail(base, "", err)
                                                : store_probe(inner_of(base), timeout_ms, err);
}

static int broken_get(struct store *base, const char *name, struct buffer *buffer,
                      struct store_info *ret_info, struct error *err) {
    return before_read(base, name, err) < 0
               ? -1
               : store_get(inner_of(base), name, buffer, ret_info, err);
}

static int broken_read(struct store *base, const char *name, const struct store_piece *piece,
                       size_t *ret_size, struct error *err) {
    return before_read(base, name, err) < 0
               ? -1
               : store_read(inner_of(base), name, piece, ret_size, err);
}

static int broken_stat(struct store *base, const char *name, struct store_info *ret_info,
                       struct error *err) {
    return before_read(base, name, err) < 0 ? -1 : store_stat(inner_of(base), name, ret_info, err);
}

static void keep_late(struct broken *store, const char *name, const void *data, size_t size,
                      enum store_put_mode how) {
    pthread_mutex_lock(&store->lock);
    do_late(store);
    store->late_name = x_strdup(name);
    store->late_data = x_malloc(size + 1);
    store->late_size = size;
    store->late_how = how;
    if (size) {
        memcpy(store->late_data, data, size);
    }
    pthread_mutex_unlock(&store->lock);
}

static int broken_put(struct store *base, const char *name, const void *data, size_t size,
                      enum store_put_mode how, struct error *err) {
    bool is_absent = false;
    enum fault fault = next(base, &is_absent);
    if (fault == FAULT_LATE) {
        keep_late(broken_of(base), name, data, size, how);
    }
    if (fault == FAULT_BEFORE || fault == FAULT_LATE) {
        return fail(base, name, err);
    }
    int result = store_put(inner_of(base), name, data, size, how, err);
    if (fault == FAULT_TWICE) {
        error_clear(err);
        result = store_put(inner_of(base), name, data, size, how, err);
    }
    return fault == FAULT_LOST ? fail(base, name, err) : result;
}

static int broken_remove(struct store *base, const char *name, struct error *err) {
    bool is_absent = false;
    enum fault fault = next(base, &is_absent);
    int result = fault == FAULT_BEFORE ? 0 : store_remove(inner_of(base), name, err);
    return fault == FAULT_NONE || fault == FAULT_TWICE ? result : fail(base, name, err);
}

/* The listing fails after the names: a caller that collects them must begin again. */
static int broken_list(struct store *base, const char *prefix, const char *after, store_each *each,
                       void *context, struct error *err) {
    bool is_absent = false;
    enum fault fault = next(base, &is_absent);
    int result =
        fault == FAULT_BEFORE ? 0 : store_list(inner_of(base), prefix, after, each, context, err);
    return fault == FAULT_NONE ? result : fail(base, prefix, err);
}

static int broken_list_infos(struct store *base, const char *prefix, const char *after,
                             store_each *each, void *context, struct error *err) {
    bool is_absent = false;
    enum fault fault = next(base, &is_absent);
    int result = fault == FAULT_BEFORE
                     ? 0
                     : store_list_infos(inner_of(base), prefix, after, each, context, err);
    return fault == FAULT_NONE ? result : fail(base, prefix, err);
}

static int broken_list_all(struct store *base, const char *prefix, const char *after,
                           store_each *each, void *context, struct error *err) {
    bool is_absent = false;
    enum fault fault = next(base, &is_absent);
    int result = fault == FAULT_BEFORE
                     ? 0
                     : store_list_all(inner_of(base), prefix, after, each, context, err);
    return fault == FAULT_NONE ? result : fail(base, prefix, err);
}

static int broken_upload_open(struct store *base, const char *name,
                              struct store_upload **ret_upload, struct error *err) {
    struct store_upload *inner = NULL;
    if (before_read(base, name, err) < 0 ||
        store_upload_open(inner_of(base), name, &inner, err) < 0) {
        return -1;
    }
    struct broken_upload *upload = x_calloc(1, sizeof *upload);
    upload->inner = inner;
    *ret_upload = &upload->base;
    return 0;
}

static struct store_upload *upload_of(struct store_upload *base) {
    return ((struct broken_upload *)base)->inner;
}

static int broken_upload_add(struct store_upload *base, const void *data, size_t size,
                             struct error *err) {
    bool is_absent = false;
    return next(base->store, &is_absent) != FAULT_NONE
               ? fail(base->store, "", err)
               : store_upload_add(upload_of(base), data, size, err);
}

static int broken_upload_commit(struct store_upload *base, enum store_put_mode how,
                                struct error *err) {
    bool is_absent = false;
    enum fault fault = next(base->store, &is_absent);
    int result = fault == FAULT_BEFORE ? 0 : store_upload_commit(upload_of(base), how, err);
    return fault == FAULT_NONE ? result : fail(base->store, "", err);
}

static void broken_upload_free(struct store_upload *base) {
    store_upload_free(upload_of(base));
    free(base);
}

static const struct store_ops broken_ops = {
    .prefix = "",
    .free = broken_free,
    .features = broken_features,
    .probe = broken_probe,
    .get = broken_get,
    .read = broken_read,
    .stat = broken_stat,
    .put = broken_put,
    .remove = broken_remove,
    .list = broken_list,
    .list_infos = broken_list_infos,
    .list_all = broken_list_all,
    .upload_open = broken_upload_open,
    .upload_add = broken_upload_add,
    .upload_commit = broken_upload_commit,
    .upload_free = broken_upload_free,
};

struct store *broken_store(struct store *inner, const struct broken_options *options) {
    struct broken *store = x_calloc(1, sizeof *store);
    store_init(&store->base, &broken_ops, store_path(inner), /* writes= */ true);
    store->inner = inner;
    store->options = *options;
    store->state = options->seed;
    pthread_mutex_init(&store->lock, NULL);
    return &store->base;
}

int64_t broken_store_faults(const struct store *base) {
    struct broken *store = broken_of(base);
    pthread_mutex_lock(&store->lock);
    int64_t faults = store->faults;
    pthread_mutex_unlock(&store->lock);
    return faults;
}
