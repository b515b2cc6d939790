/* spool.h: what programs say while they work, kept in a store, where nothing can be appended to:
 * pieces NAME/0000, 0001, ..., each up to 1 MiB or 10 s of one program's lines; and the last lines
 * in memory, for a status. Names that are taken (an earlier process of the same place) are passed
 * over. Any thread may add; a thread of its own writes. A log is worth no job: a store that fails
 * is tried again, one that is slower than the programs loses lines, which are counted where they
 * are missing.
 *
 * How a worker uses it (agent/score/worker/runners.c): spool_begin before each lease, spool_add
 * from what a program says, spool_tail when the try has failed, spool_free before it leaves. A
 * rank's: agent/launch/rank/rank.h. */
#pragma once

#include "agent/store/store.h"

enum {
    SPOOL_SIZE = 1 << 20,    /* bytes of an object */
    SPOOL_WAITING = 2 << 20, /* of a slot's lines that are not stored yet; what is more is lost */
    SPOOL_EVERY_MS = 10000,
    SPOOL_TAIL = 2048, /* bytes of a slot that are kept */
    SPOOL_MARK = 160,  /* bytes of what a line of ours says */
    SPOOL_SLOTS_MAX = 1024,
    SPOOL_COUNT_MAX = 10000, /* of a slot: 10 GB; then it keeps silent */
};

struct spool_options {
    struct store *store;      /* NULL: only the tails are kept; must outlive the spool */
    const char *const *names; /* of each slot: ".windlass/RUN/log/WORKER-SLOT-EPOCH" */
    int count;                /* slots */
    int every_ms;             /* 0: SPOOL_EVERY_MS */
};

struct spool;

/* Texts are copied. */
NODISCARD int spool_new(const struct spool_options *options, struct spool **ret_spool,
                        struct error *err);
/* Writes what there is, for at most so long, and ends. A store that never answers is left behind
 * with its thread (and must not be freed then: 1). NULL is fine. */
int spool_free(struct spool *spool, int timeout_ms);

/* From here on what the slot says belongs to something else (a try, a round): a line of ours, time
 * and mark, says so before its first. The tail begins anew. */
void spool_begin(struct spool *spool, int slot, const char *mark);
/* A line, without newline; any bytes. */
void spool_add(struct spool *spool, int slot, const char *line, size_t size);

/* The last lines that a slot has said since spool_begin, whole ones where they fit;
 * NUL-terminated, bytes as they came. */
void spool_tail(struct spool *spool, int slot, char text[static SPOOL_TAIL + 1]);
/* Lines that were lost so far, of all slots. */
int64_t spool_lost(struct spool *spool);
