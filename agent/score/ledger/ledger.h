/* ledger.h: the state machine of cells, leases and slots: which worker gets which work. Pure: time
 * is an argument (now_ms: the coordinator's clock_monotonic_ms); it sends, reads and logs nothing.
 * Used by the coordinator alone; one thread. Every event costs at most O(log n) plus the cells of
 * its lease; a cell takes 8 bytes.
 *
 * A cell is the smallest unit of a lease: a mini-batch, or, where the sizes of mini-batches are
 * chosen while the job runs (ledger_options.is_auto), an item. A lease is a range of cells: one, or
 * (is_auto) as many as the measured durations suggest (ledger_size.h).
 * docs/exactly-once.md has a cell's life cycle and what counts as a try; in short: cells are
 * WAITING, leased, accepted, committed, published; a failed range of several cells is split in
 * halves, which does not count as a try.
 *
 * A worker has slots; a slot holds a queue of leases: the head, which it runs, and some ahead. The
 * head's clock starts when it becomes the head; it stops while the worker is not ready for it
 * (ledger_set_ready) or has not acknowledged that the previous head was revoked, and then starts
 * again from zero. A head that runs longer than timeout_ms is revoked, which counts as a try; its
 * slot is blocked until the worker acknowledges the revoked lease (also after a faster second run).
 * A result of a revoked lease is still accepted, once, unless one of its cells has ended. When
 * nothing waits, a slot is idle and a lease is slow, its cells are leased to another worker, too (a
 * second run, or speculation; the two leases are twins); the first result counts, the other lease
 * is cancelled. */
#pragma once

#include "agent/score/ledger/ledger_types.h"
#include "lib/error.h"

struct ledger;

/* ---- life cycle, input, commits ------------------------------------------------------------- */

struct ledger *ledger_new(const struct ledger_options *options);
void ledger_free(struct ledger *ledger);
/* Makes the numbers of all leases unique in the run: those of this coordinator begin at
 * epoch << LEDGER_LEASE_BITS, so a result for a lease of another coordinator is unknown here.
 * Called once, before the first grant; without it they begin at 0. epoch: 0..LEDGER_EPOCH_MAX. */
void ledger_number_leases(struct ledger *ledger, int64_t epoch);

/* Adds cells that may be leased from now on. The part of the input's list that describes them must
 * be in the store already, so that a successor finds the same cells. items: of all these cells; -1:
 * unknown. If ledger_options.cell_items is set, all cells have this many items, except that the
 * last cell of the last call may have fewer. INVALID: more than LEDGER_CELLS_MAX, or (is_last)
 * fewer than in the commits. */
NODISCARD int ledger_extend(struct ledger *ledger, int64_t cells, int64_t items, bool is_last,
                            struct error *err);

/* Restores a record of an earlier coordinator. Called in the order of the commits, before any
 * worker joins; its cells may still be unknown. decision: DONE, PARTIAL, FAILED. A run is the work
 * that a spec describes: a job that is deleted and created again continues the same one. Of an
 * earlier such job (another metadata.uid) the caller omits the PARTIAL and FAILED records: these
 * cells are tried again.
 * DONE is final, PARTIAL replaces FAILED, DONE replaces both; other records are ignored. INVALID:
 * cells or items that no input can have, or, if all cells are known, that this input does not have.
 */
NODISCARD int ledger_restore(struct ledger *ledger, const struct ledger_record *record,
                             struct error *err);

/* As ledger_restore, for cells that an earlier coordinator leased again: they are counted as
 * retried. is_try: if the lease had one cell, it also uses up one of its max_tries; but a waiting
 * cell always has at least one try left. */
void ledger_retried(struct ledger *ledger, const struct ledger_record *record, bool is_try);

/* The record of these accepted cells has been stored. */
void ledger_committed(struct ledger *ledger, int64_t first, int64_t cells);
/* The files of these committed cells are in the output folder under their own names (PerFile). */
void ledger_published(struct ledger *ledger, int64_t first, int64_t cells);
/* The next cell from `from` on that is committed with results and not published; -1: none. */
int64_t ledger_unpublished(const struct ledger *ledger, int64_t from);
/* The files of the results of all these cells have their final names. */
bool ledger_is_published(const struct ledger *ledger, int64_t first, int64_t cells);
/* The result of a record is missing: its cells wait again, as if never tried. Only for whole
 * records. */
void ledger_void(struct ledger *ledger, int64_t first, int64_t cells);

/* ---- workers -------------------------------------------------------------------------------- */

/* A worker has connected: *ret_worker is its index; a known name keeps its index. EXHAUSTED: more
 * than LEDGER_WORKERS_MAX; INVALID: slots not in 1..LEDGER_SLOTS_MAX; CONFLICT: the name is
 * connected already. */
NODISCARD int ledger_join(struct ledger *ledger, const char *name, int slots, int *ret_worker,
                          struct error *err);
/* The worker has disconnected and its leases are taken back. Heads are lost (no try, but a cell
 * fails after LEDGER_LOSSES_MAX losses); leases ahead were not begun. ledger_next_revoked returns
 * each head. */
void ledger_leave(struct ledger *ledger, int worker);

/* The next lease to grant, if any; call until false after every event. Slots without a lease come
 * first; a lease ahead is granted only while enough cells wait for all slots and (is_auto) the
 * number of cells per lease no longer grows (it starts small; ledger_size.h). No
 * leases once ledger_check_thresholds fails. */
bool ledger_next_lease(struct ledger *ledger, int64_t now_ms, struct ledger_lease *ret_lease);
int ledger_ahead(const struct ledger *ledger, int worker, int slot); /* leases after the head */
/* 99 % of the answers of a model server come within p99_ms: no lease that has begun is slow before
 * that time. 0: nothing is known. */
void ledger_note_latency(struct ledger *ledger, int64_t p99_ms);
/* Limits leases to this many cells from now on (is_auto), because the description of more cells
 * does not fit into one message. */
void ledger_limit_lease_cells(struct ledger *ledger, int32_t cells);

/* The next lease that the ledger has ended by itself: its worker is lost, its time is over, or its
 * result is not needed any more. Call it until it returns false, before ledger_next_lease. */
bool ledger_next_revoked(struct ledger *ledger, int64_t now_ms, struct ledger_revoked *ret_revoked);
/* The time at which ledger_next_revoked or ledger_next_lease next returns something without another
 * event; -1: never. */
int64_t ledger_deadline_ms(const struct ledger *ledger);

/* Stops or restarts the clock of a lease. is_ready false: its worker is not ready for it yet, and
 * the clock stops, for at most wait_ms; then the lease is revoked, which is not a try but counts as
 * a lost worker. is_ready true: its worker begins it now, with the full time limit. Has an effect
 * only for the head of a slot of this worker. */
void ledger_set_ready(struct ledger *ledger, int worker, int64_t lease, bool is_ready,
                      int64_t now_ms);

/* ---- reports -------------------------------------------------------------------------------- */

/* A worker has ended a lease. *ret_lease (may be NULL): the lease, unless IGNORED. Returns
 *   LEDGER_DONE     all items have a result
 *   LEDGER_LATE     all items have a result, by a lease that had been revoked
 *   LEDGER_PARTIAL  some items have a result, the others have failed permanently
 *   LEDGER_FAILED   no results, and no tries are left
 *   LEDGER_RETRY    the cells wait again, or the lease's twin continues
 *   LEDGER_IGNORED  unknown, ended before, or another worker's: the report changes nothing
 * After the first four the range [first, first + cells) is accepted, and a record must be
 * written. */
enum ledger_decision ledger_take_report(struct ledger *ledger, const struct ledger_report *report,
                                        int64_t now_ms, struct ledger_lease *ret_lease);

/* ---- queries -------------------------------------------------------------------------------- */

/* True if all cells are known and each is accepted, including failed ones. Their records may not be
 * stored yet. */
bool ledger_is_accounted(const struct ledger *ledger);
bool ledger_is_committed(const struct ledger *ledger); /* accounted, and all records are stored */
/* Whether a threshold of the options is exceeded; ret_text says which, with its field. */
enum { LEDGER_THRESHOLD_BYTES = 160 };
bool ledger_find_exceeded(const struct ledger *ledger,
                          char ret_text[static LEDGER_THRESHOLD_BYTES]);
/* Whether the whole job may still succeed (enum ledger_decision is about one lease). 0: it may; -1
 * with FAILED once a threshold of the options is exceeded: the error names the threshold and the
 * first cause. */
NODISCARD int ledger_check_thresholds(const struct ledger *ledger, struct error *err);

struct ledger_counts ledger_read_counts(const struct ledger *ledger);
/* The known cells. Once the input is listed all are known, and any thread may call this. */
int64_t ledger_cells(const struct ledger *ledger);
struct ledger_worker ledger_find_worker(const struct ledger *ledger, int worker);
/* The first LEDGER_FAILURES_MAX, in the order in which they failed, without those of restored
 * commits. */
const struct ledger_failure *ledger_failures(const struct ledger *ledger, size_t *ret_count);
