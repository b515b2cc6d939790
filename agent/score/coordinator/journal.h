/* journal.h: makes the ledger's decisions permanent. The ledger (ledger.h) decides in memory which
 * results count; the journal writes each decision as a record (commit_format.h) into the commit log
 * (commit.h), and reads all earlier records into a new ledger when a coordinator starts. A decision
 * takes effect, for workers and for the outputs, only when its record is stored: journal_turn then
 * calls `stored`.
 *
 * A cell is the smallest range of the input that can be leased; first and cells are the number of a
 * range's first cell and the number of its cells (ledger.h).
 *
 * Run, generation: generation.h. Job: the Kubernetes resource, by its uid; several coordinators,
 * one after the other, may serve it, each with an epoch of its own.
 *
 * Use it from the coordinator's thread only. journal_parts, journal_publish and
 * journal_check_failures take long and may run in another thread; during the call no other thread
 * may use the journal or its ledger (dispatcher_pause). */
#pragma once

#include "agent/data/parts/part.h"
#include "agent/job.h"
#include "agent/score/ledger/ledger.h"
#include "agent/score/log/scored_by.h"
#include "agent/score/wire/message.h"

/* A failure that ended all tries of a range: the range's first cell, the number of tries, the last
 * worker and the cause (both truncated if too long). tries 0: there was no such failure. */
struct journal_first_failure {
    int64_t cell;
    int tries;
    char worker[256], cause[LEDGER_CAUSE_MAX];
};

struct journal {
    const struct job *job;        /* borrowed */
    struct store *output;         /* borrowed */
    struct ledger *ledger;        /* owned */
    struct generation generation; /* the log's last one */
    struct commit_log *log;       /* owned */
    int64_t epoch, epoch_ns; /* of this coordinator; epoch_ns: when it began, monotonic clock */
    int64_t kept_count;      /* results and published files of this epoch that are stored */
    struct journal_first_failure earlier_failure; /* under earlier coordinators of this job */
    json_t *programs; /* owned: of all workers that may have made its results (scored_by.h) */
    json_t *requests; /* owned: of earlier coordinators' workers (commit_head); NULL: none */
    /* Private to journal.c. */
    struct ledger_options ledger_options;
    int64_t cells, items;          /* of the options */
    int64_t skips_to;              /* commits before this number belong to earlier generations */
    struct journal_entry *pending; /* added and not stored yet: from pending_first, oldest first */
    size_t pending_first, pending_count, pending_room;
    int64_t stored_count;         /* records of this epoch that are stored */
    struct journal_range *broken; /* see journal_broken */
    size_t broken_count, broken_room;
};
/* A record, as journal_turn reports it. */
struct journal_entry {
    enum commit_record_type type;
    int64_t first, cells;
    int worker;    /* its index in the ledger; -1: the record is not a worker's result */
    int64_t lease; /* of that worker */
};

struct journal_options {
    const struct job *job;
    struct store *output;
    const struct generation *generation; /* as generation_scan found it; NULL: the first of a run */
    struct commit_seen *seen;       /* what generation_scan read; NULL: nothing. All are borrowed */
    struct commit_trouble *trouble; /* as in commit_identity */
    bool begins;                    /* journal_begin follows: earlier records do not matter */
    struct ledger_options ledger;
    int64_t cells, items; /* of the whole input; cells < 0: unknown yet, see ledger_extend */
};

/* Claims the run and reads its records into a new ledger. The options' pointers are borrowed; end
 * with journal_release. Errors as commit_open, and INVALID: a record does not fit the input;
 * EXHAUSTED: the run has too many commits. Blocks, 5 minutes if the store does not answer. */
NODISCARD int journal_open(const struct journal_options *options, struct journal *journal,
                           struct error *err);
void journal_release(struct journal *journal);
/* Begins a generation: the ledger starts again, and earlier records do not count. Waits until the
 * record is stored; no other record was added before. restart: the text of --restart or of the
 * annotation, ""; keeps: the generation whose results stay, -1: none. Errors as journal_turn. */
NODISCARD int journal_begin(struct journal *journal, const char *restart, int64_t keeps,
                            struct error *err);

/* ---- adding records ------------------------------------------------------------------------- */

struct journal_failure { /* why a lease failed */
    enum commit_fault fault;
    const char *cause;
};

/* The four functions below add records. They fail only if the record can never be stored: INVALID,
 * too large; EXHAUSTED, the caller ignored journal_is_full.
 * Adds a record for a lease that ended. decision: what ledger_take_report returned for it;
 * LEDGER_DONE, LEDGER_LATE (done by a revoked lease: recorded as DONE) or LEDGER_PARTIAL: `result`
 * is the worker's message; LEDGER_FAILED: `failure` says why, and result may be NULL; else failure
 * may be NULL. All arguments are copied. */
NODISCARD int journal_accept(struct journal *journal, enum ledger_decision decision,
                             const struct ledger_lease *lease, const struct message_result *result,
                             const struct journal_failure *failure, struct error *err);
/* Adds a record for a lease that failed and is granted again: the next coordinator counts it. */
NODISCARD int journal_retried(struct journal *journal, const struct ledger_lease *lease,
                              const struct journal_failure *failure, struct error *err);
/* Adds a record that the output files of these cells have their final names. */
NODISCARD int journal_published(struct journal *journal, int64_t first, int64_t cells,
                                struct error *err);
/* Adds the run's last record, unless the log already ends with one. succeeded: the result that it
 * records. The caller passes true only when each cell was accepted or has failed within the job's
 * thresholds, and its record was added; the journal does not check this. */
NODISCARD int journal_end(struct journal *journal, bool succeeded, struct error *err);

typedef void journal_stored(void *context, const struct journal_entry *entry);
/* Call it after every event: hands the added records to the log's writer thread, once the oldest is
 * 200 ms old or they have 4 MiB together, or now if at_once; then calls `stored` for each record
 * that has been stored since the last call, in the order in which they were added. Does not wait
 * for the store. After an error nothing more is stored. GONE: a newer coordinator of this job has
 * taken over: exit without recording how the job ended; BUSY: another job's coordinator has taken
 * over: this job has failed; UNAVAILABLE: the store has accepted nothing for 5 minutes. */
NODISCARD int journal_turn(struct journal *journal, bool at_once, journal_stored *stored,
                           void *context, struct error *err);
bool journal_is_stored(const struct journal *journal); /* every record added so far */
/* True: the store is slower than the workers: grant no leases until it is false. */
bool journal_is_full(const struct journal *journal);

/* The first failure of this job that ended all tries of a range, under any coordinator. */
struct journal_first_failure journal_find_first_failure(const struct journal *journal);

/* True if the record's decision holds for this job, which its commit's head names. PARTIAL and
 * FAILED records of another job (uid) of the run do not hold: this job tries those cells again. */
bool journal_counts(const struct journal *journal, const struct commit_head *head,
                    const struct commit_record *record);

/* ---- once all is committed ------------------------------------------------------------------ */

/* Where the result of each cell is stored (part.h). Only for inputs whose kind joins the parts to
 * one output (media.join: films, video_join.h). The caller calls free(ret_parts->places).
 * INVALID: a record does not fit the input; else the store's errors. */
NODISCARD int journal_parts(struct journal *journal, struct parts *ret_parts, struct error *err);
/* Writes the files of all committed packs (pack.h) that are not published yet; all: again of all.
 * INVALID: some are missing or differ; journal_void_broken makes their cells wait again. */
NODISCARD int journal_publish(struct journal *journal, struct error *err);
NODISCARD int journal_publish_all(struct journal *journal, struct error *err);
/* Checks the objects that list failed items (failures.h). INVALID: as for journal_publish. */
NODISCARD int journal_check_failures(struct journal *journal, struct error *err);
/* Notes that the object of these cells' result is missing or differs from its record. */
void journal_broken(struct journal *journal, int64_t first, int64_t cells);
/* For each result noted by journal_broken, journal_publish or journal_check_failures, or marked
 * is_broken in `parts` (may be NULL), adds a VOID record: the result no longer counts, and the
 * ledger leases its cells again. *ret_count: how many there were. */
NODISCARD int journal_void_broken(struct journal *journal, const struct parts *parts,
                                  int64_t *ret_count, struct error *err);
