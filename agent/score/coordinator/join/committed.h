/* committed.h: the committed results of a run, in the order of the input: finds in the commit log
 * which record counts for each cell, and reads what they name. For the coordinator, when everything
 * is committed or the job has failed; no other function of the journal may be called meanwhile.
 * Memory: 4 bytes per cell and a few commits. One thread. */
#pragma once

#include "agent/score/coordinator/journal.h"

/* A record with results. */
struct committed_row {
    enum commit_place place;
    int64_t first, cells, epoch, lease, size_bytes;
    uint32_t crc;
    char *text; /* size_bytes of it, if they are in the record */
};

struct committed;

/* Reads the whole log. The journal must outlive it. */
NODISCARD int committed_open(struct journal *journal, struct committed **ret_committed,
                             struct error *err);
void committed_free(struct committed *committed); /* accepts NULL */

struct committed_take {
    int (*bytes)(void *context, const char *data, size_t size, struct error *err);
    /* A cell without results: its items have failed. NULL: not wanted. */
    int (*missing)(void *context, int64_t cell, struct error *err);
    void *context;
};
/* Gives the bytes of all results, in any pieces; may be called again. INVALID: some are missing or
 * differ from the commit, and are noted in the journal (journal_void_broken), or as
 * committed_each. */
NODISCARD int committed_bytes(struct committed *committed, const struct committed_take *take,
                              struct error *err);

/* -1 with *err ends the reading. row: borrowed until it returns. */
typedef int committed_each_row(void *context, const struct committed_row *row, struct error *err);
/* Calls `each` for all records with results. INVALID: the log has changed, or a part of a record's
 * cells was scored again in other ranges. */
NODISCARD int committed_each(struct committed *committed, committed_each_row *each, void *context,
                             struct error *err);
/* The bytes of a row that `each` was called with, if they are in memory: from the record, or read
 * together with those of others, and as the commit says; else NULL. */
const char *committed_in_memory(struct committed *committed, const struct committed_row *row);
