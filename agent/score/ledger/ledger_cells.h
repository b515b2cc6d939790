/* ledger_cells.h: what became of each cell, and which ones wait. PURE; used by the ledger alone. */
#pragma once

#include "agent/score/ledger/guided_partition.h"
#include "agent/score/ledger/ledger_types.h"

#include <assert.h>

enum cell_state {
    CELL_UNKNOWN, /* commits name cells behind it, its page has not come yet */
    CELL_WAITING,
    CELL_LEASED,
    CELL_ACCEPTED,
    CELL_COMMITTED,
    CELL_PUBLISHED,
    CELL_STATES
};
/* In the order in which records yield. */
enum cell_end { CELL_FAILED, CELL_PARTIAL, CELL_FINE };

/* The items of a range that ended together are kept in its first cell, the others have 0. */
struct cell {
    int32_t lease_or_failed; /* LEASED: index of the lease; ended: failed items */
    int32_t items;           /* ended */
    uint16_t tries;          /* that ended in an error or a time-out */
    uint8_t losses;
    uint8_t state : 3, end : 2, was_leased : 1;
};
static_assert(sizeof(struct cell) == 12, "a million cells take 12 MB");

struct cell_range {
    int64_t first, end;
};

struct cells {
    struct cell *of;
    size_t count, room; /* with those that only commits name */
    int64_t known;      /* these may be leased */
    int64_t in[CELL_STATES];
    int64_t never;               /* known, and not leased up to now */
    struct ledger_count batches; /* done and failed */
    struct ledger_count items;   /* likewise */
    struct guided_partition
        *partition; /* of those that were never dealt; NULL: in order, from `dealt` */
    int64_t dealt;
    struct cell_range *back; /* min-heap of what came back; may hold what does not wait any more */
    size_t back_count, back_room;
};

/* Makes room for one more in an array that doubles. */
void *cells_grow(void *array, size_t count, size_t *room, size_t size);

void cells_init(struct cells *cells, bool is_partitioned);
void cells_release(struct cells *cells);

void cells_extend(struct cells *cells, int64_t count);
/* Room for a record's cells, known or not. */
void cells_cover(struct cells *cells, int64_t end);

/* The next range to lease, 1 to most cells that wait, for this slot of so many; there must be one.
 * The caller sets them LEASED. */
int64_t cells_next(struct cells *cells, int slot, int slots, int32_t most, int32_t *ret_count);
void cells_lease(struct cells *cells, int64_t first, int64_t end, int32_t lease);
/* They wait again, in one piece. Those that do already, too. */
void cells_put_back(struct cells *cells, int64_t first, int64_t end);

/* They ended; what they were before does not count any more. */
void cells_end(struct cells *cells, const struct ledger_record *record, enum cell_state state);
/* As if they had never been leased. */
void cells_void(struct cells *cells, int64_t first, int64_t end);
/* Of those in [first, end) that are in state `from`. */
void cells_advance(struct cells *cells, int64_t first, int64_t end, enum cell_state from,
                   enum cell_state to);
