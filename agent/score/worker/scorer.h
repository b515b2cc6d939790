/* scorer.h: what gives items their results: one lease, from its lines to the bytes of its staged
 * output. A kind (onnx, command) is one file and one row of agent/registry.c. A scorer belongs to
 * one slot of a worker and stays from lease to lease. */
#pragma once

#include "agent/data/input/sink.h"
#include "agent/score/log/failures.h"

#include <stdatomic.h>

struct scorer; /* each kind has its own */

/* A line that a program has said, without its newline; any bytes. */
typedef void scorer_say(void *context, const char *line, size_t size);

/* Of the lease that runs, in its thread: it cannot be begun yet, for no fault of its own; or is
 * begun now, with all its time before it. */
typedef void scorer_waits(void *context, bool waits);

/* All is borrowed and must outlive the scorer. */
struct scorer_options {
    const json_t *spec;
    const struct media *media;
    const char *network; /* the file of an onnx on this machine, if it is here; NULL: fetched */
    /* What follows is a worker's; the coordinator, which only tries, has none of it. */
    const char *job, *worker;
    int slot, gpus; /* gpus: of the whole worker */
    int64_t timeout_ms;
    const atomic_bool *ends; /* set from another thread: this worker leaves, now */
    scorer_say *say;
    scorer_waits *waits;
    void *context;
};

struct scorer_lease {
    int64_t epoch, lease, first; /* first: cell */
    int try;
    json_t *work; /* an object, or lines */
};

struct scorer_task {
    struct scorer_lease lease; /* its work is borrowed */
    /* What this slot is likely to get next, borrowed likewise: may be begun. NULL: not known. */
    const struct scorer_lease *ahead;
    struct staged_output *staged; /* gets the results' bytes; the caller closes it */
    struct failures *failures;    /* gets the items that have failed; likewise */
    atomic_bool *dropped;         /* set from another thread: the lease is no longer wanted */
};

struct scorer_count {
    int64_t items, failed; /* failed ones among the items */
};

struct scorer_kind {
    const char *name; /* the field of spec.scorer */
    /* It ends a lease itself after timeout_ms, also one that was dropped: the coordinator's clock
     * comes later, and a worker need not watch it. */
    bool has_clock;
    /* It hands to `say` what programs say. */
    bool says;
    /* Reads the fields, loads what is to be loaded, and checks that it fits. Every message names
     * the field. */
    int (*open)(const struct scorer_options *options, struct scorer **ret_scorer,
                struct error *err);
    /* What can be tried cheaply before a job begins. */
    int (*try_out)(struct scorer *scorer, struct error *err);
    /* In the thread that will run it, which must live until it is freed: blocks until it is ready
     * for a lease. CANCELLED when `ends` is set. */
    int (*start)(struct scorer *scorer, struct error *err);
    /* CANCELLED when the task was dropped, or the worker leaves. On failure *ret_count is
     * untouched, but for `items`: as many as the lease has, if that is known. */
    int (*run)(struct scorer *scorer, const struct scorer_task *task,
               struct scorer_count *ret_count, struct error *err);
    void (*free)(struct scorer *scorer); /* in its thread, if it was started; NULL is fine */
};

extern const struct scorer_kind scorer_onnx;    /* reader -> preprocess -> network -> postprocess */
extern const struct scorer_kind scorer_command; /* a program of the user's (command.h) */
extern const struct scorer_kind *const scorer_kinds[]; /* agent/registry.c; ends with NULL */

/* The row of the field in spec.scorer. */
NODISCARD int scorer_find(const json_t *spec, const struct scorer_kind **ret_kind,
                          struct error *err);
/* So long a scorer may have a lease wait at the most. */
int64_t scorer_wait_ms(const json_t *spec, int64_t timeout_ms);
int64_t scorer_init_ms(const json_t *spec); /* for a program to say that it is ready */
/* The next item has failed: it is counted, and its cause told to the task's failures. */
NODISCARD int scorer_count_failure(const struct scorer_task *task, struct scorer_count *count,
                                   const char *cause, struct error *err);
/* What to do about a mini-batch that is too large, for an error: "make spec.miniBatchSize smaller",
 * or what there is instead of it for this input. */
const char *scorer_size_hint(const json_t *spec);
