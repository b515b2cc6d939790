/* failures.h: the failed items of a try with their causes. A worker collects them. Up to
 * FAILURES_BYTES_MAX of them are sent with its result; more become an object next to the try's, and
 * the result and the commit's record hold its size and CRC-32C, and only the first item. So neither
 * a message nor a commit limits how many items of a mini-batch may fail, and no process holds them
 * all in memory.
 *
 * The object, .windlass/RUN/try/EPOCH-LEASE.failed, has lines [index in the lease,"cause"], in the
 * order of the items. It follows the rules of a try: it is written whole or not at all, its name is
 * used once, it is garbage unless a commit names it, and it is removed with the tries. */
#pragma once

#include "agent/data/parts/staged_output.h"
#include "agent/score/log/commit_format.h"

enum {
    FAILURES_BYTES_MAX = 64 << 10, /* of the lines that are sent with a result */
};

/* ---- for workers ---------------------------------------------------------------------------- */

/* For one try; one thread. */
struct failures {
    struct store *store; /* borrowed, like the run */
    const char *run;
    int64_t epoch, lease;
    json_t *list;      /* owned: [[index, cause], ...], all of them, or (is_many) the first */
    size_t list_bytes; /* as lines */
    bool is_many;      /* an object exists or will exist */
    struct staged_output *lines; /* NULL: nothing has failed */
    struct buffer line;
};

void failures_init(struct failures *failures, struct store *store, const char *run, int64_t epoch,
                   int64_t lease);
void failures_release(struct failures *failures); /* for AUTO, too */
/* Adds the next failed item. At most COMMIT_ITEM_CAUSE_MAX bytes of the cause are kept. */
NODISCARD int failures_add(struct failures *failures, int64_t index, const char *cause,
                           struct error *err);
/* Stores the object durably, if there is one. May be called once. */
NODISCARD int failures_close(struct failures *failures, struct error *err);
/* True if the store failed, not the scorer; the error is the store's. */
bool failures_has_failed(const struct failures *failures);
/* After failures_close: the object; size_bytes is 0 if there is none. */
struct part failures_part(const struct failures *failures);
/* Removes what a failed failures_close may have stored nevertheless. */
void failures_remove(const struct failures *failures);

/* ---- for coordinators ----------------------------------------------------------------------- */

/* Borrowed until it returns; -1 with *err ends the reading. */
typedef int failures_each(void *context, int64_t index, const char *cause, size_t size,
                          struct error *err);

/* Passes each failed item of a PARTIAL or FAILED record of this run's log to `each`, in constant
 * memory. output: not needed without an object. INVALID: the object's content is not what
 * workers write; see failures_check. */
NODISCARD int failures_read(struct store *output, const char *run,
                            const struct commit_record *record, failures_each *each, void *context,
                            struct error *err);
/* Checks that the record's object, if it has one, is what was committed; like part_check. */
NODISCARD int failures_check(struct store *output, const char *run,
                             const struct commit_record *record, bool *ret_broken,
                             struct error *err);
