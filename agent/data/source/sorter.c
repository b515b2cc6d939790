// SPDX-License-Identifier: Apache-2.0
#include "agent/data/source/sorter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A key is stored as its size in two bytes, then its bytes. */
enum { SIZE_BYTES = 2 };
static_assert(SORTER_KEY_MAX <= UINT16_MAX, "a size fits");

struct sorter {
    struct store *store;
    char *name;
    size_t run_bytes;
    char *keys; /* of the run that is being collected */
    size_t size, room;
    uint32_t *starts;
    size_t count, starts_room;
    int runs; /* in the store */
};

/* A run during the merge: a slice of it, and the position of its next key. */
struct run {
    char *name;
    int64_t offset; /* of the slice in the object */
    size_t size, at;
    char slice[SORTER_SLICE_BYTES];
};

struct sorter *sorter_new(struct store *store, const char *name, size_t run_bytes) {
    struct sorter *sorter = x_calloc(1, sizeof *sorter);
    sorter->store = store;
    sorter->name = x_strdup(name);
    sorter->run_bytes = run_bytes ? run_bytes : SORTER_RUN_BYTES;
    return sorter;
}

static char *run_name(const struct sorter *sorter, int run) {
    return x_printf("%s%04d", sorter->name, run);
}

void sorter_free(struct sorter *sorter) {
    if (!sorter) {
        return;
    }
    for (int i = 0; i < sorter->runs; i++) {
        struct error ignored = {0}; /* objects that remain are garbage below .windlass */
        AUTO(text_freep) char *name = run_name(sorter, i);
        if (store_remove(sorter->store, name, &ignored) < 0) {
            break;
        }
    }
    free(sorter->name);
    free(sorter->keys);
    free(sorter->starts);
    free(sorter);
}

void sorter_freep(struct sorter **sorter) {
    sorter_free(*sorter);
}

static size_t key_size(const char *key) {
    return (size_t)(unsigned char)key[0] << 8 | (unsigned char)key[1];
}

static int compare(const char *a, const char *b) {
    size_t a_size = key_size(a), b_size = key_size(b);
    int order = memcmp(a + SIZE_BYTES, b + SIZE_BYTES, MIN(a_size, b_size));
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

static int by_key(const void *a, const void *b, void *keys) {
    return compare((char *)keys + *(const uint32_t *)a, (char *)keys + *(const uint32_t *)b);
}

/* Sorts the run and stores it as an object. */
static int store_run(struct sorter *sorter, struct error *err) {
    if (sorter->runs == SORTER_RUNS_MAX) {
        return error_set(err, ERROR_INVALID,
                         "%s holds too many names to be sorted: more than %d runs",
                         store_path(sorter->store), SORTER_RUNS_MAX);
    }
    AUTO(text_freep) char *name = run_name(sorter, sorter->runs);
    AUTO(text_freep) char *sorted = x_malloc(sorter->size);
    char *end = sorted;
    qsort_r(sorter->starts, sorter->count, sizeof *sorter->starts, by_key, sorter->keys);
    for (size_t i = 0; i < sorter->count; i++) {
        const char *key = sorter->keys + sorter->starts[i];
        size_t size = SIZE_BYTES + key_size(key);
        memcpy(end, key, size);
        end += size;
    }
    sorter->runs++; /* must be removed even if the store has failed */
    if (store_put(sorter->store, name, sorted, sorter->size, STORE_REPLACE, err) < 0) {
        return -1;
    }
    sorter->size = sorter->count = 0;
    return 0;
}

int sorter_add(struct sorter *sorter, const void *key, size_t size, struct error *err) {
    assert(size >= 1 && size <= SORTER_KEY_MAX);
    size_t wanted = sorter->size + SIZE_BYTES + size;
    if (sorter->count && wanted > sorter->run_bytes) {
        if (store_run(sorter, err) < 0) {
            return -1;
        }
        wanted = SIZE_BYTES + size;
    }
    if (wanted > sorter->room) {
        sorter->room = MAX(MIN(2 * sorter->room, sorter->run_bytes), wanted);
        sorter->keys = x_realloc(sorter->keys, sorter->room);
    }
    if (sorter->count == sorter->starts_room) {
        sorter->starts_room = MAX(2 * sorter->starts_room, 256);
        sorter->starts =
            x_realloc_array(sorter->starts, sorter->starts_room, sizeof *sorter->starts);
    }
    char *at = sorter->keys + sorter->size;
    at[0] = (char)(size >> 8);
    at[1] = (char)size;
    memcpy(at + SIZE_BYTES, key, size);
    sorter->starts[sorter->count++] = (uint32_t)sorter->size;
    sorter->size = wanted;
    return 0;
}

/* ---- merging -------------------------------------------------------------------------------- */

/* Reads on until the slice has the run's next complete key. 1: it has; 0: no key is left. */
static int refill(const struct sorter *sorter, struct run *run, struct error *err) {
    size_t left = run->size - run->at;
    if (left >= SIZE_BYTES && left >= SIZE_BYTES + key_size(run->slice + run->at)) {
        return 1;
    }
    run->offset += (int64_t)run->at;
    run->at = 0;
    if (store_read(sorter->store, run->name,
                   &(struct store_piece){run->offset, run->slice, sizeof run->slice, NULL},
                   &run->size, err) < 0) {
        return -1;
    }
    if (run->size == 0) {
        return 0;
    }
    if (run->size < SIZE_BYTES || run->size < SIZE_BYTES + key_size(run->slice) ||
        key_size(run->slice) > SORTER_KEY_MAX) {
        return error_set(err, ERROR_INVALID, "%s/%s is truncated", store_path(sorter->store),
                         run->name);
    }
    return 1;
}

struct merge {
    struct run **heap; /* ordered by their next key */
    size_t count;
};

static const char *next_key(const struct merge *merge, size_t i) {
    return merge->heap[i]->slice + merge->heap[i]->at;
}

static void sift(struct merge *merge, size_t at) {
    for (size_t child = 2 * at + 1; child < merge->count; child = 2 * at + 1) {
        child += child + 1 < merge->count &&
                 compare(next_key(merge, child + 1), next_key(merge, child)) < 0;
        if (compare(next_key(merge, at), next_key(merge, child)) <= 0) {
            return;
        }
        struct run *moved = merge->heap[at];
        merge->heap[at] = merge->heap[child];
        merge->heap[child] = moved;
        at = child;
    }
}

static void run_free(struct run *run) {
    free(run->name);
    free(run);
}

static void merge_release(struct merge *merge) {
    for (size_t i = 0; i < merge->count; i++) {
        run_free(merge->heap[i]);
    }
    free(merge->heap);
}

static int merge_runs(const struct sorter *sorter, sorter_each *each, void *context,
                      struct error *err) {
    AUTO(merge_release)
    struct merge merge = {.heap = x_calloc((size_t)sorter->runs, sizeof(struct run *))};
    for (int i = 0; i < sorter->runs; i++) {
        struct run *run = x_malloc(sizeof *run);
        run->name = run_name(sorter, i);
        run->offset = 0;
        run->size = run->at = 0;
        merge.heap[merge.count++] = run;
        if (refill(sorter, run, err) < 0) {
            return -1; /* no run is empty */
        }
    }
    for (size_t i = merge.count / 2; i-- > 0;) {
        sift(&merge, i);
    }
    while (merge.count) {
        struct run *run = merge.heap[0];
        const char *key = run->slice + run->at;
        if (each(context, key + SIZE_BYTES, key_size(key), err) < 0) {
            return -1;
        }
        run->at += SIZE_BYTES + key_size(key);
        int left = refill(sorter, run, err);
        if (left < 0) {
            return -1;
        }
        if (left == 0) {
            merge.heap[0] = merge.heap[--merge.count];
            run_free(run);
        }
        sift(&merge, 0);
    }
    return 0;
}

int sorter_run(struct sorter *sorter, sorter_each *each, void *context, struct error *err) {
    if (sorter->runs) {
        if (sorter->count && store_run(sorter, err) < 0) {
            return -1;
        }
        free(TAKE(sorter->keys)); /* makes room for the slices */
        return merge_runs(sorter, each, context, err);
    }
    if (sorter->count) {
        qsort_r(sorter->starts, sorter->count, sizeof *sorter->starts, by_key, sorter->keys);
    }
    for (size_t i = 0; i < sorter->count; i++) {
        const char *key = sorter->keys + sorter->starts[i];
        if (each(context, key + SIZE_BYTES, key_size(key), err) < 0) {
            return -1;
        }
    }
    return 0;
}
