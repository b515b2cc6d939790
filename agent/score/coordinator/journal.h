/* journal.h: the ledger together with the commit log. Each range that the ledger accepts becomes a
 * record; it is announced only once the record is stored. The next coordinator restores its ledger
 * from the records. For the coordinator only; one thread. Only journal_parts and journal_publish
 * may run on another thread; meanwhile no other function of the journal may be called, and none
 * that changes the ledger (dispatcher_pause). */
#pragma once

#include "agent/data/parts/part.h"
#include "agent/job.h"
#include "agent/score/ledger/ledger.h"
#include "agent/score/log/commit.h"
#include "agent/score/wire/message.h"

/* The first mini-batch that failed permanently; tries 0: none did. */
struct journal_first {
    int64_t cell;
    int tries;
    char worker[256], cause[LEDGER_CAUSE_MAX]; /* truncated if too long */
};

struct journal {
    const struct job *job;
    struct store *output; /* borrowed */
    struct ledger *ledger;
    struct commit_log *log;
    int64_t epoch, epoch_ns;           /* epoch_ns: time of the claim, monotonic */
    bool is_ended;                     /* the last record says that the run has ended, ... */
    bool has_succeeded;                /* ... and how */
    struct journal_first first_before; /* under earlier coordinators of this job */
    struct journal_entry *entries;     /* added and not stored yet, oldest first */
    size_t first, count, room;
    int64_t stored; /* records stored in this epoch */
    struct journal_void *voids;
    size_t void_count, void_room;
};

/* An accepted range of cells, and the lease that it came from. */
struct journal_entry {
    enum commit_verdict verdict;
    int64_t first, cells;
    int worker; /* index; -1: none */
    int64_t lease;
};

struct journal_void {
    int64_t first, cells;
};

struct journal_options {
    const struct job *job;
    struct store *output;
    struct ledger_options ledger;
    int64_t cells, items; /* of the whole input; cells < 0: ledger_extend adds them later */
};

/* Reads all commits into a new ledger and claims the run; errors as of commit_open. Blocks. */
NODISCARD int journal_open(const struct journal_options *options, struct journal *journal,
                           struct error *err);
void journal_release(struct journal *journal);

/* Why a lease failed. */
struct journal_failure {
    enum commit_fault fault;
    const char *cause;
};

/* A lease succeeded (result: its worker's report), or its mini-batch failed permanently
 * (failure). */
NODISCARD int journal_accept(struct journal *journal, enum ledger_verdict verdict,
                             const struct ledger_lease *lease, const struct message_result *result,
                             const struct journal_failure *failure, struct error *err);
/* The lease failed and will be granted again. This is recorded so that the next coordinator counts
 * the try, too. */
NODISCARD int journal_retried(struct journal *journal, const struct ledger_lease *lease,
                              const struct journal_failure *failure, struct error *err);
/* The files of these cells have their final names. */
NODISCARD int journal_published(struct journal *journal, int64_t first, int64_t cells,
                                struct error *err);
/* Every cell is accounted for: adds the last record, unless it exists already. */
NODISCARD int journal_end(struct journal *journal, bool succeeded, struct error *err);

/* Between events: passes due records to the writer; calls `stored` for each entry that has been
 * stored. at_once: does not wait for more records. Errors as of commit_turn. */
typedef void journal_stored(void *context, const struct journal_entry *entry);
NODISCARD int journal_turn(struct journal *journal, bool at_once, journal_stored *stored,
                           void *context, struct error *err);
bool journal_is_stored(const struct journal *journal); /* every record added so far */
bool journal_is_full(const struct journal *journal);   /* no more leases for now */

/* The first mini-batch of this job that failed permanently, under any coordinator. */
struct journal_first journal_first_failure(const struct journal *journal);

/* ---- when all is committed ------------------------------------------------------------------ */

/* The location of each cell's result, for a join; the caller frees places with free. */
NODISCARD int journal_parts(struct journal *journal, struct parts *ret_parts, struct error *err);
/* Publishes the packs of all committed cells that are not published yet. */
NODISCARD int journal_publish(struct journal *journal, struct error *err);
/* Checks the objects that hold lists of failed items (failures.h). INVALID: some are missing or
 * differ from the commit; journal_void_broken voids these. */
NODISCARD int journal_check_failures(struct journal *journal, struct error *err);
/* True if the record counts for this job. Failures under another job (uid) do not: the run was
 * started again. */
bool journal_counts(const struct journal *journal, const struct commit_head *head,
                    const struct commit_record *record);
/* The result of these cells is missing or differs from the commit. */
void journal_broken(struct journal *journal, int64_t first, int64_t cells);
/* Voids all results found broken (by journal_broken, a check, or the join of `parts`, which may be
 * NULL): their cells wait again. *ret_count: the number of voided results. */
NODISCARD int journal_void_broken(struct journal *journal, const struct parts *parts,
                                  int64_t *ret_count, struct error *err);
