/* ledger_state.h: the ledger's struct, private to ledger.c (leases and workers) and ledger_job.c
 * (the input, commits, the verdict). */
#pragma once

#include "agent/score/ledger/ledger.h"
#include "agent/score/ledger/ledger_cells.h"
#include "agent/score/ledger/ledger_size.h"
#include "agent/score/ledger/ledger_slots.h"

struct worker {
    struct ledger_worker public;
    char *name;
    int first_slot, slots, slot_room;
};

struct ledger {
    struct ledger_options options;
    struct cells cells;
    struct slots slots;
    struct sizes sizes;
    struct worker *workers;
    size_t worker_count, worker_room;
    int workers_present, slots_present;
    int64_t items; /* of the known cells */
    bool is_all;   /* all cells are known */
    int64_t cells_retried, items_retried;
    int64_t next_lease;
    int64_t seconds;              /* second runs so far */
    int64_t p99_ms;               /* ledger_note_latency */
    int32_t lease_cells;          /* maximum of cells in a lease */
    struct ledger_revoked *taken; /* for ledger_next_revoked: [taken_next, taken_count) */
    size_t taken_next, taken_count, taken_room;
    struct ledger_failure *failures;
    size_t failure_count;
};

struct ledger_lease ledger_view(const struct ledger *ledger, int32_t lease);
int64_t ledger_expected_items(const struct ledger *ledger, int64_t first, int64_t cells);
bool ledger_is_over(const struct ledger *ledger); /* a threshold is exceeded */
/* Whether a lease that has begun may get a second run. */
bool ledger_may_repeat(const struct ledger *ledger);
/* After how many ms a lease of this many cells that has begun is slow; -1: unknown. */
int64_t ledger_slow_ms(const struct ledger *ledger, int32_t cells);
