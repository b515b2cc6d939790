/* commit_read.h: reads commits in order from the store and finds what is torn, void or missing. For
 * commit.c alone. */
#pragma once

#include "agent/score/log/commit.h"

struct commit_object {
    struct buffer text;
    struct commit_head head;
    json_t *tree;
};

/* Commits that were read before it is their turn, as far as the store does that: a start over az://
 * would wait for one answer after the other. Such an object never changes, so that a whole one is
 * as good as one read later; all else is read when it is its turn. */
struct commit_ahead {
    int64_t first; /* number of objects[0] */
    int count;
    struct store_peeked objects[STORE_PEEK_MAX];
    char *names[STORE_PEEK_MAX];
    char *data; /* NULL before the first */
};

/* A commit is passed on only when the next one is known not to void it, or at commit_reader_finish:
 * one is held back. Borrows all texts. */
struct commit_reader {
    struct store *store;
    const char *run;
    int64_t patience_ms, absent_ms;
    commit_each *each;
    void *context;
    int64_t next;      /* number */
    int64_t torn_from; /* all from here to next are torn; -1: none */
    int64_t epoch;     /* of the newest claim that counts; -1: none yet */
    int64_t end;       /* nothing is read ahead from here on; 0: unknown */
    struct commit_ahead ahead;
    struct commit_object held;
    bool is_held;
};

void commit_reader_init(struct commit_reader *reader);
void commit_reader_release(struct commit_reader *reader);
/* Reads commit `next`. 1: it was there; 0: it is not, or not yet. must_exist: for absent_ms absence
 * may come from a stale cache; afterwards it is INVALID. */
NODISCARD int commit_reader_step(struct commit_reader *reader, bool must_exist, struct error *err);
/* Passes on the one that is held back. */
NODISCARD int commit_reader_finish(struct commit_reader *reader, struct error *err);

/* Passes the records of this commit on again; nothing else changes. */
NODISCARD int commit_reader_again(const struct commit_reader *reader, int64_t number,
                                  struct error *err);

/* ".windlass/RUN/commit/000000000017"; the caller frees. */
char *commit_name(const char *run, int64_t number);

/* Between two tries of a store's call: 10 ms, doubling to 2 s. */
void commit_wait(int64_t *wait_ms);
