/* journal.h: what counts of a run: the ledger beside the log of commits. What the ledger accepts
 * becomes a record, and nobody outside hears of it before the record is stored; what a record says
 * is in the ledger of whoever comes next. For the coordinator alone; one thread, but for
 * journal_parts and journal_publish, during which no other function is called, and none of the
 * ledger's that changes it (dispatcher_pause). */
#pragma once

#include "agent/data/parts/part.h"
#include "agent/job.h"
#include "agent/score/ledger/ledger.h"
#include "agent/score/log/commit.h"
#include "agent/score/wire/message.h"

/* A mini-batch that was given up; tries 0: there is none. */
struct journal_first {
    int64_t cell;
    int tries;
    char worker[256], cause[LEDGER_CAUSE_MAX]; /* cut, if need be */
};

struct journal {
    const struct job *job;
    struct store *output; /* borrowed */
    struct ledger *ledger;
    struct commit_log *log;
    int64_t epoch, epoch_ns;           /* epoch_ns: when it was claimed, monotonic */
    bool is_ended;                     /* the last record of all says that the run has ended ... */
    bool has_succeeded;                /* ... and how */
    struct journal_first first_before; /* of earlier coordinators of this job */
    struct journal_entry *entries;     /* added and not stored yet, oldest first */
    size_t first, count, room;
    int64_t stored; /* records of this epoch */
    struct journal_void *voids;
    size_t void_count, void_room;
};

/* A range of cells that was accepted, and by whose lease. */
struct journal_entry {
    enum commit_verdict verdict;
    int64_t first, cells;
    int worker; /* index; -1: nobody's */
    int64_t lease;
};

struct journal_void {
    int64_t first, cells;
};

struct journal_options {
    const struct job *job;
    struct store *output;
    struct ledger_options ledger;
    int64_t cells, items; /* of the whole input; cells < 0: they come with ledger_extend */
};

/* Reads all commits into a new ledger and claims the run; commit.h has the errors. Blocks. */
NODISCARD int journal_open(const struct journal_options *options, struct journal *journal,
                           struct error *err);
void journal_release(struct journal *journal);

/* Of a lease that did not end well. */
struct journal_failure {
    enum commit_fault fault;
    const char *cause;
};

/* A lease has ended well (result: what its worker said), or for good (failure). */
NODISCARD int journal_accept(struct journal *journal, enum ledger_verdict verdict,
                             const struct ledger_lease *lease, const struct message_result *result,
                             const struct journal_failure *failure, struct error *err);
/* It has ended otherwise, and is given again: so that whoever comes next can tell, too. */
NODISCARD int journal_retried(struct journal *journal, const struct ledger_lease *lease,
                              const struct journal_failure *failure, struct error *err);
/* Cells have their final files. */
NODISCARD int journal_published(struct journal *journal, int64_t first, int64_t cells,
                                struct error *err);
/* All is accounted for: the last record, unless it is the last already. */
NODISCARD int journal_end(struct journal *journal, bool succeeded, struct error *err);

/* Between events: hands on what is due; each entry that is stored now goes to `stored`. at_once:
 * nothing else will come. Errors as of commit_turn. */
typedef void journal_stored(void *context, const struct journal_entry *entry);
NODISCARD int journal_turn(struct journal *journal, bool at_once, journal_stored *stored,
                           void *context, struct error *err);
bool journal_is_stored(const struct journal *journal); /* all that was added */
bool journal_is_full(const struct journal *journal);   /* no more leases for now */

/* The first mini-batch that this job gave up, whichever coordinator led. */
struct journal_first journal_first_failure(const struct journal *journal);

/* ---- when all is committed ------------------------------------------------------------------ */

/* Where the result of each cell is, for a join; places is the caller's, freed with free. */
NODISCARD int journal_parts(struct journal *journal, struct parts *ret_parts, struct error *err);
/* Publishes the packs of all committed cells whose files nobody has published. */
NODISCARD int journal_publish(struct journal *journal, struct error *err);
/* Are the lists of failed items there that lie in objects (failures.h)? INVALID: some are gone, or
 * are not what was committed; journal_void_broken knows which. */
NODISCARD int journal_check_failures(struct journal *journal, struct error *err);
/* Does the record count for this job? What another one (uid) gave up does not: somebody has run it
 * anew. */
bool journal_counts(const struct journal *journal, const struct commit_head *head,
                    const struct commit_record *record);
/* The result of these cells is gone, or is not what was committed. */
void journal_broken(struct journal *journal, int64_t first, int64_t cells);
/* What was found broken, by journal_broken, a check or the join of `parts` (may be NULL), is void:
 * its cells wait again. *ret_count: of these. */
NODISCARD int journal_void_broken(struct journal *journal, const struct parts *parts,
                                  int64_t *ret_count, struct error *err);
