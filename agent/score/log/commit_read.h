/* commit_read.h: reads commits in order from the store and detects truncated ones
 * (commit_is_whole), void ones (a later head's void_from excludes them) and missing ones. For
 * commit.c only. */
#pragma once

#include "agent/score/log/commit.h"
#include "agent/store/store_many.h"

/* Commits that are read ahead, if the store supports it; otherwise a start over az:// would wait
 * for each response in turn. A commit never changes, so a whole one that was read early is valid;
 * anything else is read again in its turn. */
struct commit_ahead {
    int64_t first; /* the number of objects[0] */
    int count;
    struct store_peeked objects[STORE_PEEK_MAX];
    char *names[STORE_PEEK_MAX];
    char *data; /* NULL before the first */
};

/* A commit is passed to `each` only once the next one is known not to void it, or at
 * commit_reader_finish; so the reader holds one back. All texts are borrowed. */
struct commit_reader {
    struct store *store;
    const char *run;
    int64_t timeout_ms, absent_ms;
    struct commit_trouble *trouble; /* NULL: it is not shown */
    commit_each *each;
    bool is_brief; /* see commit_read_records */
    void *context;
    struct commit_seen *seen; /* NULL: none */
    int64_t next;             /* number */
    int64_t truncated_from;   /* all from this number up to `next` are truncated; -1: none */
    int64_t epoch;            /* of the newest claim that counts; -1: none yet */
    int64_t end;              /* no reading ahead from this number on; 0: unknown */
    struct commit_ahead ahead;
    struct commit_object held;
    bool is_held;
    bool lacks_commit; /* one is missing for good */
};

void commit_reader_init(struct commit_reader *reader);
void commit_reader_release(struct commit_reader *reader);
/* Reads commit `next`. 1: it exists; 0: it does not, or not yet. must_exist: absence is blamed on a
 * stale cache for absent_ms; afterwards it is INVALID. */
NODISCARD int commit_reader_step(struct commit_reader *reader, bool must_exist, struct error *err);
/* Passes on the commit that is held back. */
NODISCARD int commit_reader_finish(struct commit_reader *reader, struct error *err);

/* Passes the records of this commit on again; nothing else changes. */
NODISCARD int commit_reader_again(const struct commit_reader *reader, int64_t number,
                                  struct error *err);

/* ".windlass/RUN/commit/000000000017"; the caller frees. */
char *commit_name(const char *run, int64_t number);

/* Sleeps between two tries of a store's call: 10 ms, doubling to 2 s. */
void commit_wait(int64_t *wait_ms);
