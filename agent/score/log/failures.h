/* failures.h: which items of a try have failed, and why. A worker collects them: few go with its
 * result; more than FAILURES_BYTES_MAX become an object beside the try's; the result and the
 * commit's record hold its size and CRC-32C, and the first item alone. So neither a message nor a
 * commit limits how many items of a mini-batch may fail, and no process holds them all.
 *
 * The object, .windlass/RUN/try/EPOCH-LEASE.failed, has lines [index in the lease,"cause"], in the
 * order of the items. As for a try: whole or not there, its name is used once, garbage unless a
 * commit names it, removed with the tries. */
#pragma once

#include "agent/data/parts/staged_output.h"
#include "agent/score/log/commit_format.h"

enum {
    FAILURES_BYTES_MAX = 64 << 10, /* as lines, of what goes with a result */
};

/* ---- a worker's ----------------------------------------------------------------------------- */

/* For one try; one thread. */
struct failures {
    struct store *store; /* borrowed, as the run */
    const char *run;
    int64_t epoch, lease;
    json_t *list;      /* owned: [[index, cause], ...], all of them, or (is_many) the first */
    size_t list_bytes; /* as lines */
    bool is_many;      /* there is, or will be, an object */
    struct staged_output *lines; /* NULL: nothing has failed */
    struct buffer line;
};

void failures_init(struct failures *failures, struct store *store, const char *run, int64_t epoch,
                   int64_t lease);
void failures_release(struct failures *failures); /* for AUTO, too */
/* The next one that has failed. Of the cause at most COMMIT_ITEM_CAUSE_MAX bytes are kept. */
NODISCARD int failures_add(struct failures *failures, int64_t index, const char *cause,
                           struct error *err);
/* What does not go with the result is stored for good. Once. */
NODISCARD int failures_close(struct failures *failures, struct error *err);
/* The store failed, not the scorer: the error is its own. */
bool failures_has_failed(const struct failures *failures);
/* After failures_close: the object; size_bytes is 0 where there is none. */
struct part failures_part(const struct failures *failures);
/* What a close that has failed may have stored all the same. */
void failures_remove(const struct failures *failures);

/* ---- a coordinator's ------------------------------------------------------------------------ */

/* Borrowed until it returns; -1 with *err ends the reading. */
typedef int failures_each(void *context, int64_t index, const char *cause, size_t size,
                          struct error *err);

/* Passes each failed item of a PARTIAL or FAILED record of this run's log to `each`; in constant
 * memory. output: not needed where there is no object. INVALID: the object is not what a worker
 * writes; see failures_check. */
NODISCARD int failures_read(struct store *output, const char *run,
                            const struct commit_record *record, failures_each *each, void *context,
                            struct error *err);
/* Is the record's object, if it has one, what was committed? part_check. */
NODISCARD int failures_check(struct store *output, const char *run,
                             const struct commit_record *record, bool *ret_broken,
                             struct error *err);
