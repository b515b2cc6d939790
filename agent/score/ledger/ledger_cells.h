/* ledger_cells.h: the state of each cell, and which ones wait. Pure; used by the ledger only. */
#pragma once

#include "agent/score/ledger/guided_partition.h"
#include "agent/score/ledger/ledger_types.h"

#include <assert.h>

enum cell_state {
    CELL_UNKNOWN, /* commits name later cells, but its page is not listed yet */
    CELL_WAITING,
    CELL_LEASED,
    CELL_ACCEPTED,
    CELL_COMMITTED,
    CELL_PUBLISHED,
    CELL_STATES
};
/* How a cell ended. In ascending order: a later one replaces an earlier one. */
enum cell_end { CELL_FAILED, CELL_PARTIAL, CELL_DONE };

/* The items of a range that ended together are in its first cell; its other cells have 0. */
struct cell {
    int32_t lease_or_items; /* LEASED: index of the lease; ended: items, with has_failed the index
                               of their counts */
    uint16_t tries;         /* tries that ended in an error or a time-out */
    uint8_t losses;
    uint8_t state : 3, end : 2, was_leased : 1, has_failed : 1;
};
static_assert(sizeof(struct cell) == 8, "a million cells take 8 MB");

/* Of a range that ended with failed items. */
struct cell_items {
    int32_t all, failed;
};

struct cell_range {
    int64_t first, end;
};

struct cells {
    struct cell *of;                /* [count], by number */
    size_t count, room;             /* including cells that only commits name */
    struct cell_items *with_failed; /* counts of those that were replaced are unused */
    size_t with_failed_count, with_failed_room;
    int64_t known;                      /* the first `known` cells may be leased */
    int64_t in[CELL_STATES];            /* how many known cells are in each state */
    int64_t never_leased;               /* of the known cells */
    struct ledger_count cells;          /* done and failed */
    struct ledger_count items;          /* items of those cells */
    struct guided_partition *partition; /* chooses among the cells that were not leased yet; NULL:
                                           they are leased in order, from `dealt` on */
    int64_t dealt;
    /* A min-heap, by first cell, of ranges whose lease failed or was revoked. Some of their cells
     * may have got a result since. */
    struct cell_range *returned;
    size_t returned_count, returned_room;
};

/* Makes room for one more element in an array, doubling it if it is full. */
void *cells_grow(void *array, size_t count, size_t *room, size_t size);

void cells_init(struct cells *cells, bool is_partitioned);
void cells_release(struct cells *cells);

void cells_extend(struct cells *cells, int64_t count);
/* Makes room for a record's cells, known or not. */
void cells_cover(struct cells *cells, int64_t end);

/* The next range to lease for this slot (of `slots`): 1 to `most` waiting cells. At least one cell
 * must wait. The caller sets them LEASED. */
int64_t cells_next(struct cells *cells, int slot, int slots, int32_t most, int32_t *ret_count);
void cells_lease(struct cells *cells, int64_t first, int64_t end, int32_t lease);
/* The cells wait again, as one range; some may be waiting already. */
void cells_put_back(struct cells *cells, int64_t first, int64_t end);

/* The cells have ended; this replaces their earlier state in all counts. */
void cells_end(struct cells *cells, const struct ledger_record *record, enum cell_state state);
/* The cells are as if they had never been leased. */
void cells_void(struct cells *cells, int64_t first, int64_t end);
/* Advances the cells of [first, end) that are in state `from`. */
void cells_advance(struct cells *cells, int64_t first, int64_t end, enum cell_state from,
                   enum cell_state to);
