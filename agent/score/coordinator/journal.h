/* books.h: what counts of a run: the ledger beside the log of commits. What the ledger accepts
 * becomes a record, and nobody outside hears of it before the record is stored; what a record says
 * is in the ledger of whoever comes next. For the coordinator alone; one thread, but for
 * books_parts and books_publish, during which no other function is called, and none of the ledger's
 * that changes it (desk_hold). */
#pragma once

#include "agent/data/parts/part.h"
#include "agent/job.h"
#include "agent/score/ledger/ledger.h"
#include "agent/score/log/commit.h"
#include "agent/score/wire/message.h"

/* A mini-batch that was given up; tries 0: there is none. */
struct books_first {
    int64_t cell;
    int tries;
    char worker[256], cause[LEDGER_CAUSE_MAX]; /* cut, if need be */
};

struct books {
    const struct job *job;
    struct store *output; /* borrowed */
    struct ledger *ledger;
    struct commit_log *log;
    int64_t epoch, epoch_ns;         /* epoch_ns: when it was claimed, monotonic */
    bool is_ended;                   /* the last record of all says that the run has ended ... */
    bool has_succeeded;              /* ... and how */
    struct books_first first_before; /* of earlier coordinators of this job */
    struct books_entry *entries;     /* added and not stored yet, oldest first */
    size_t first, count, room;
    int64_t stored; /* records of this epoch */
    struct books_void *voids;
    size_t void_count, void_room;
};

/* A range of cells that was accepted, and by whose lease. */
struct books_entry {
    enum commit_verdict verdict;
    int64_t first, cells;
    int worker; /* index; -1: nobody's */
    int64_t lease;
};

struct books_void {
    int64_t first, cells;
};

struct books_options {
    const struct job *job;
    struct store *output;
    struct ledger_options ledger;
    int64_t cells, items; /* of the whole input; cells < 0: they come with ledger_extend */
};

/* Reads all commits into a new ledger and claims the run; commit.h has the errors. Blocks. */
NODISCARD int books_open(const struct books_options *options, struct books *books,
                         struct error *err);
void books_release(struct books *books);

/* Of a lease that did not end well. */
struct books_failure {
    enum commit_fault fault;
    const char *cause;
};

/* A lease has ended well (result: what its worker said), or for good (failure). */
NODISCARD int books_accept(struct books *books, enum ledger_verdict verdict,
                           const struct ledger_lease *lease, const struct message_result *result,
                           const struct books_failure *failure, struct error *err);
/* It has ended otherwise, and is given again: so that whoever comes next can tell, too. */
NODISCARD int books_retried(struct books *books, const struct ledger_lease *lease,
                            const struct books_failure *failure, struct error *err);
/* Cells have their final files. */
NODISCARD int books_published(struct books *books, int64_t first, int64_t cells, struct error *err);
/* All is accounted for: the last record, unless it is the last already. */
NODISCARD int books_end(struct books *books, bool succeeded, struct error *err);

/* Between events: hands on what is due; each entry that is stored now goes to `stored`. at_once:
 * nothing else will come. Errors as of commit_turn. */
typedef void books_stored(void *context, const struct books_entry *entry);
NODISCARD int books_turn(struct books *books, bool at_once, books_stored *stored, void *context,
                         struct error *err);
bool books_are_stored(const struct books *books); /* all that was added */
bool books_are_full(const struct books *books);   /* no more leases for now */

/* The first mini-batch that this job gave up, whichever coordinator led. */
struct books_first books_first_failure(const struct books *books);

/* ---- when all is committed ------------------------------------------------------------------- */

/* Where the result of each cell is, for a join; places is the caller's, freed with free. */
NODISCARD int books_parts(struct books *books, struct parts *ret_parts, struct error *err);
/* Publishes the packs of all committed cells whose files nobody has published. */
NODISCARD int books_publish(struct books *books, struct error *err);
/* Are the lists of failed items there that lie in objects (failures.h)? INVALID: some are gone, or
 * are not what was committed; books_void_broken knows which. */
NODISCARD int books_check_failures(struct books *books, struct error *err);
/* Does the record count for this job? What another one (uid) gave up does not: somebody has run it
 * anew. */
bool books_counts(const struct books *books, const struct commit_head *head,
                  const struct commit_record *record);
/* The result of these cells is gone, or is not what was committed. */
void books_broken(struct books *books, int64_t first, int64_t cells);
/* What was found broken, by books_broken, a check or the join of `parts` (may be NULL), is void:
 * its cells wait again. *ret_count: of these. */
NODISCARD int books_void_broken(struct books *books, const struct parts *parts, int64_t *ret_count,
                                struct error *err);
