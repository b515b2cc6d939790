/* try_log.h: what users' programs say while they work, kept with the results: pieces
 * PREFIX-SLOT-EPOCH/0000, 0001, ... in a store, each up to 1 MiB or 10 s of one slot's lines; and
 * the last lines in memory, for a status. For the worker. Any thread may add; a thread of its own
 * writes. A log is worth no job: a store that fails is tried again, one that is slower than the
 * programs loses lines, which are counted where they are missing.
 *
 * How the worker uses it (runners.c): try_log_begin before each lease, try_log_add from what a
 * program says, try_log_tail when the try has failed, try_log_free before it leaves. */
#pragma once

#include "agent/store/store.h"

enum {
    TRY_LOG_PIECE = 1 << 20,   /* bytes of an object */
    TRY_LOG_WAITING = 2 << 20, /* of a slot's lines that are not stored yet; what is more is lost */
    TRY_LOG_EVERY_MS = 10000,
    TRY_LOG_TAIL = 2048, /* bytes of a slot that are kept */
    TRY_LOG_SLOTS_MAX = 1024,
    TRY_LOG_PIECES_MAX = 10000, /* of a slot: 10 GB; then it keeps silent */
};

struct try_log_options {
    struct store *store; /* NULL: only the tails are kept; must outlive the log */
    const char *prefix;  /* ".windlass/RUN/log/WORKER" */
    int64_t epoch;
    int slots;
    int every_ms; /* 0: TRY_LOG_EVERY_MS */
};

struct try_log;

/* Texts are copied. */
NODISCARD int try_log_new(const struct try_log_options *options, struct try_log **ret_log,
                          struct error *err);
/* Writes what there is, for at most so long, and ends. A store that never answers is left behind
 * with its thread (and must not be freed then: 1). NULL is fine. */
int try_log_free(struct try_log *log, int timeout_ms);

/* From here on what the slot says belongs to this try: a line of ours says so before its first. */
void try_log_begin(struct try_log *log, int slot, int64_t mini_batch, int try);
/* A line, without newline; any bytes. */
void try_log_add(struct try_log *log, int slot, const char *line, size_t size);

/* The last lines that a slot has said since try_log_begin, whole ones where they fit;
 * NUL-terminated, bytes as they came. */
void try_log_tail(struct try_log *log, int slot, char text[static TRY_LOG_TAIL + 1]);
/* Lines that were lost so far, of all slots. */
int64_t try_log_lost(struct try_log *log);
