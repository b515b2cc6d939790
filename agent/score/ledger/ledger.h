/* ledger.h: the state machine of cells, leases and slots: which worker gets which work. PURE: time
 * is an argument; it sends, reads and logs nothing. Used by the coordinator alone; one thread.
 * Every event costs O(log n) or less and what the cells of its lease cost; a cell takes 12 bytes.
 *
 * A cell is the smallest thing that is ever leased: a mini-batch, or (is_auto) an item. A lease is
 * a range of cells: one, or (is_auto) as many as fit the measured costs. docs/exactly-once.md has a
 * cell's life and what counts as a try; in short: cells are WAITING, leased, accepted, committed,
 * published; a range of several cells that fails is cut in halves, which does not count as a try.
 *
 * A worker has slots; a slot holds a queue of leases: the head, which it runs, and some ahead. The
 * head's clock starts when it becomes the head; it stops while the worker is not ready for it
 * (ledger_wait) or has not acknowledged the head before, and then starts again from zero. A head
 * that runs longer than timeout_ms is revoked, which counts as a try; its slot is blocked until the
 * worker acknowledges the revoked lease (also after a faster duplicate). A result of a revoked
 * lease is still accepted, once, unless one of its cells has ended. When nothing waits, a slot is
 * idle and a lease is slow, the lease is duplicated on another worker (speculation); the first
 * result counts, the other lease is cancelled. */
#pragma once

#include "agent/score/ledger/ledger_types.h"
#include "lib/error.h"

struct ledger;

/* ---- life cycle, input, commits ------------------------------------------------------------- */

struct ledger *ledger_new(const struct ledger_options *options);
void ledger_free(struct ledger *ledger);

/* Adds cells that may be leased: their page is stored. items: of all these cells; -1: not known.
 * With cell_items only the last cell of the last call may have fewer. INVALID: more than
 * LEDGER_CELLS_MAX, or (is_last) fewer than in the commits. */
NODISCARD int ledger_extend(struct ledger *ledger, int64_t cells, int64_t items, bool is_last,
                            struct error *err);

/* A record of an earlier coordinator, in the order of the commits, before any worker joins; cells
 * may not be known yet. verdict: DONE, PARTIAL, FAILED (the caller leaves out those of other uids).
 * DONE is final, FAILED yields to PARTIAL, both to DONE; other records are ignored. INVALID: cells
 * or items that no input can have, or that this input does not have, where all is known. */
NODISCARD int ledger_restore(struct ledger *ledger, const struct ledger_record *record,
                             struct error *err);

/* Likewise: cells that an earlier coordinator gave out again, which are counted. is_try: as one of
 * max_tries, too, if it was a lease of one cell; one try is left to a cell that still waits. */
void ledger_retried(struct ledger *ledger, const struct ledger_record *record, bool is_try);

/* Of what was accepted, a record was stored. */
void ledger_committed(struct ledger *ledger, int64_t first, int64_t cells);
void ledger_published(struct ledger *ledger, int64_t first, int64_t cells);
/* The next cell, `from` or behind it, that is committed with results and not published; -1: none.
 */
int64_t ledger_unpublished(const struct ledger *ledger, int64_t from);
/* The result of a record is missing: its cells wait again, as if never tried. Whole records only.
 */
void ledger_void(struct ledger *ledger, int64_t first, int64_t cells);

/* ---- workers -------------------------------------------------------------------------------- */

/* A worker came: *ret_worker is its index; a name that was here before keeps its index. EXHAUSTED
 * beyond LEDGER_WORKERS_MAX, INVALID for slots out of 1..LEDGER_SLOTS_MAX, CONFLICT when the name
 * is present. */
NODISCARD int ledger_join(struct ledger *ledger, const char *name, int slots, int *ret_worker,
                          struct error *err);
/* Its leases go back: heads are lost (not a try; LEDGER_LOSSES_MAX of them are the end), those
 * ahead were not begun. ledger_take returns each head. */
void ledger_leave(struct ledger *ledger, int worker);

/* The next lease to give out, if any; call until false after every event. Slots with nothing come
 * first; a lease ahead is given only while enough waits for all slots and (is_auto) sizes no longer
 * grow. None once ledger_verdict fails. */
bool ledger_grant(struct ledger *ledger, int64_t now_ms, struct ledger_lease *ret_lease);
int ledger_ahead(const struct ledger *ledger, int worker, int slot); /* leases behind the head */
/* No lease has more cells than that from now on (is_auto): they do not fit into one message. */
void ledger_limit(struct ledger *ledger, int32_t cells);

/* Call until false, before ledger_grant. */
bool ledger_take(struct ledger *ledger, int64_t now_ms, struct ledger_taken *ret_taken);
/* When ledger_take or ledger_grant next returns something if no event comes before; -1: never. */
int64_t ledger_deadline_ms(const struct ledger *ledger);

/* Its worker is not ready for this lease, or (is_ready) begins it only now, with all its time
 * before it. Only a head's clock stops, for wait_ms at most; then the lease is revoked, which does
 * not cost a try, but counts as a lost worker. For any other lease nothing happens. */
void ledger_wait(struct ledger *ledger, int worker, int64_t lease, bool is_ready, int64_t now_ms);

/* ---- reports -------------------------------------------------------------------------------- */

/* A worker ends a lease. *ret_lease (may be NULL) is what it was, unless IGNORED. DONE, LATE,
 * PARTIAL, FAILED: the range [first, first + cells) is accepted, and a record has to be written. */
enum ledger_verdict ledger_report(struct ledger *ledger, const struct ledger_report *report,
                                  int64_t now_ms, struct ledger_lease *ret_lease);

/* ---- what is known -------------------------------------------------------------------------- */

/* All cells are known, and each is accepted, failed ones among them. Maybe not stored yet. */
bool ledger_is_accounted(const struct ledger *ledger);
bool ledger_is_committed(const struct ledger *ledger); /* and all of it is stored */
/* -1 with FAILED, once a threshold is passed: says which, and the first cause. */
NODISCARD int ledger_verdict(const struct ledger *ledger, struct error *err);

struct ledger_counts ledger_counts(const struct ledger *ledger);
/* Those that are known. All are once the input is listed: from then on any thread may ask. */
int64_t ledger_cells(const struct ledger *ledger);
size_t ledger_worker_count(const struct ledger *ledger); /* ever seen */
struct ledger_worker ledger_worker(const struct ledger *ledger, int worker);
/* The first LEDGER_FAILURES_MAX, in the order they failed; those of commits are not among them. */
const struct ledger_failure *ledger_failures(const struct ledger *ledger, size_t *ret_count);
