/* list_sort.h: sorts more than fits into memory: keys are collected in runs, each sorted and put
 * into the store as an object, and merged. One thread. */
#pragma once

#include "agent/store/store.h"

enum {
    SORT_KEY_MAX = 16 << 10,     /* bytes of a key */
    SORT_RUN_BYTES = 8 << 20,    /* keys that are held; a second run sends them to the store */
    SORT_SLICE_BYTES = 64 << 10, /* of each run, while they are merged */
    SORT_RUNS_MAX = 4096,
};

struct sorter;

/* store: must outlive the sorter; name: of objects that are removed by sorter_free; run_bytes: 0
 * for SORT_RUN_BYTES. */
struct sorter *sorter_new(struct store *store, const char *name, size_t run_bytes);
void sorter_free(struct sorter *sorter);
void sorter_freep(struct sorter **sorter); /* for AUTO */

/* Copied; 1 to SORT_KEY_MAX bytes. INVALID: too many keys; else the store's errors. */
NODISCARD int sorter_add(struct sorter *sorter, const void *key, size_t size, struct error *err);

/* -1 with *err ends it. */
typedef int sorter_each(void *context, const char *key, size_t size, struct error *err);
/* All keys in order of their bytes, equal ones as often as they were added. Once. */
NODISCARD int sorter_run(struct sorter *sorter, sorter_each *each, void *context,
                         struct error *err);
