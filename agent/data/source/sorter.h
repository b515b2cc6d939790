/* sorter.h: an external merge sort: keys are collected in runs, each run is sorted and stored as
 * an object, and the runs are merged. One thread. */
#pragma once

#include "agent/store/store.h"

enum {
    SORTER_KEY_MAX = 16 << 10,     /* bytes of a key */
    SORTER_RUN_BYTES = 8 << 20,    /* keys held in memory; beyond this, runs go to the store */
    SORTER_SLICE_BYTES = 64 << 10, /* read from each run at a time while merging */
    SORTER_RUNS_MAX = 4096,
};

struct sorter;

/* store: must outlive the sorter. name: prefix of its objects, which sorter_free removes.
 * run_bytes: 0 means SORTER_RUN_BYTES. */
struct sorter *sorter_new(struct store *store, const char *name, size_t run_bytes);
void sorter_free(struct sorter *sorter);
void sorter_freep(struct sorter **sorter); /* for AUTO */

/* The key is copied; 1 to SORTER_KEY_MAX bytes. INVALID: too many keys. Other errors are the
 * store's. */
NODISCARD int sorter_add(struct sorter *sorter, const void *key, size_t size, struct error *err);

/* -1 with *err ends the run. */
typedef int sorter_each(void *context, const char *key, size_t size, struct error *err);
/* Calls `each` for all keys in byte order; equal keys come as often as they were added. May be
 * called once. */
NODISCARD int sorter_run(struct sorter *sorter, sorter_each *each, void *context,
                         struct error *err);
