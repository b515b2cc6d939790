/* spool.h: keeps the output of programs in a store. Objects cannot be appended to, so a log is
 * pieces NAME/0000, 0001, ..., each up to 1 MiB or 10 s of one program's lines; the last lines stay
 * in memory, for a status. Names that exist (from an earlier process) are skipped. Any thread may
 * add; the spool's thread writes. A log never fails a job: writes to a failing store are retried,
 * and with a store that is slower than the programs lines are lost, which are counted at their
 * place in the log.
 *
 * How a worker uses it (agent/score/worker/runners.c): spool_begin before each lease, spool_add for
 * a program's output, spool_tail after a failed try, spool_free before it leaves. A rank's:
 * agent/launch/rank/rank.h. */
#pragma once

#include "agent/store/store.h"

enum {
    SPOOL_SIZE = 1 << 20,    /* maximum of an object, bytes */
    SPOOL_WAITING = 2 << 20, /* maximum of a slot's lines that are not stored yet; further ones are
                                lost */
    SPOOL_EVERY_MS = 10000,
    SPOOL_TAIL = 2048, /* bytes of a slot's output that are kept */
    SPOOL_MARK = 160,  /* maximum of the text in a line of the spool, bytes */
    SPOOL_SLOTS_MAX = 1024,
    SPOOL_COUNT_MAX = 10000, /* objects of a slot: 10 GB; further output is dropped */
};

struct spool_options {
    struct store *store;      /* must outlive the spool; NULL: only the tails are kept */
    const char *const *names; /* of each slot: ".windlass/RUN/log/WORKER-SLOT-EPOCH" */
    int count;                /* slots */
    int every_ms;             /* 0: SPOOL_EVERY_MS */
};

struct spool;

/* Texts are copied. */
NODISCARD int spool_new(const struct spool_options *options, struct spool **ret_spool,
                        struct error *err);
/* Writes the waiting lines, for at most timeout_ms, and ends. 1: the store did not respond and the
 * thread still uses it, so the store must not be freed. NULL is fine. */
int spool_free(struct spool *spool, int timeout_ms);

/* From now on the slot's output belongs to something else (a try, a round). A line with time and
 * mark is written before its first line. Clears the tail. */
void spool_begin(struct spool *spool, int slot, const char *mark);
/* Adds a line, without newline; any bytes. */
void spool_add(struct spool *spool, int slot, const char *line, size_t size);

/* The slot's last lines since spool_begin, complete lines if they fit; NUL-terminated, bytes
 * unchanged. */
void spool_tail(struct spool *spool, int slot, char text[static SPOOL_TAIL + 1]);
/* The number of lost lines of all slots. */
int64_t spool_lost(struct spool *spool);
