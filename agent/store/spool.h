/* spool.h: stores the output of programs as objects of a store. Objects cannot be appended to, so a
 * log consists of pieces NAME/0000, NAME/0001, ..., each of up to 1 MiB or 10 s of output. There is
 * one log per slot: what runs there belongs to one program at a time. The last lines also stay in
 * memory, for a status. Existing names, of an earlier process, are skipped. Any thread may add; a
 * thread of the spool writes. A log never fails a job: writes to a failing store are retried, and
 * if the store is slower than the programs, lines are dropped and their number is noted in the log.
 *
 * A worker (agent/score/worker/runners.c) calls spool_begin before each lease, spool_add for a
 * program's output, spool_tail after a failed try, and spool_free before it leaves. For ranks see
 * agent/launch/rank/rank.h. */
#pragma once

#include "agent/store/store.h"

enum {
    SPOOL_SIZE = 1 << 20, /* bytes of an object, at most */
    SPOOL_WAITING =
        2 << 20, /* bytes of a slot that are not stored yet; further lines are dropped */
    SPOOL_EVERY_MS = 10000,
    SPOOL_TAIL = 2048, /* bytes of a slot's output that spool_tail returns, at most */
    SPOOL_MARK = 160,  /* bytes of the mark of spool_begin, at most */
    SPOOL_SLOTS_MAX = 1024,
    SPOOL_LINE_MAX = SPOOL_SIZE / 2, /* bytes of a line; longer ones are cut */
    SPOOL_COUNT_MAX = 10000, /* objects of a slot: 10 GB; further output is dropped, uncounted */
};

struct spool_options {
    struct store *store;      /* must outlive the spool; NULL: only the tails are kept */
    const char *const *names; /* of each slot: ".windlass/RUN/log/WORKER-SLOT-EPOCH" */
    int count;                /* slots */
    int every_ms;             /* 0: SPOOL_EVERY_MS */
};

struct spool;

/* Texts are copied. INVALID: the number of slots, 1 to SPOOL_SLOTS_MAX. */
NODISCARD int spool_new(const struct spool_options *options, struct spool **ret_spool,
                        struct error *err);
/* Writes the waiting lines, trying each piece once, for at most timeout_ms, and ends. 1: the store
 * did not respond and the thread still uses it, so the store must not be freed; nor is the spool,
 * which must not be used again. Accepts NULL. */
int spool_free(struct spool *spool, int timeout_ms);

/* slot, here and below: 0 to count - 1. Its following output belongs to another try or round:
 * writes a line with time and mark before its first line, and clears the tail. */
void spool_begin(struct spool *spool, int slot, const char *mark);
/* Adds a line, without newline; any bytes. */
void spool_add(struct spool *spool, int slot, const char *line, size_t size);

/* The slot's last lines since spool_begin, complete lines if they fit; NUL-terminated, bytes
 * unchanged. */
void spool_tail(struct spool *spool, int slot, char text[static SPOOL_TAIL + 1]);
/* The number of dropped lines of all slots. */
int64_t spool_lost(struct spool *spool);
