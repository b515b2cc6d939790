// SPDX-License-Identifier: Apache-2.0
#include "agent/score/ledger/ledger_cells.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void *cells_grow(void *array, size_t count, size_t *room, size_t size) {
    if (count < *room) {
        return array;
    }
    *room = MAX(2 * *room, 64);
    return x_realloc_array(array, *room, size);
}

void cells_init(struct cells *cells, bool is_partitioned) {
    *cells = (struct cells){.partition = is_partitioned ? guided_partition_new() : NULL};
}

void cells_release(struct cells *cells) {
    free(cells->of);
    free(cells->with_failed);
    guided_partition_free(cells->partition);
    free(cells->returned);
}

static void set_state(struct cells *cells, struct cell *cell, enum cell_state state) {
    cells->in[cell->state]--;
    cell->state = state;
    cells->in[state]++;
}

static struct cell_items items_of(const struct cells *cells, const struct cell *cell) {
    return cell->has_failed ? cells->with_failed[cell->lease_or_items]
                            : (struct cell_items){.all = cell->lease_or_items};
}

/* The cell has ended. Few ranges have failed items, so only those have two counts. */
static void set_items(struct cells *cells, struct cell *cell, struct cell_items items) {
    if (items.failed == 0) {
        cell->has_failed = false;
        cell->lease_or_items = items.all;
        return;
    }
    cells->with_failed = cells_grow(cells->with_failed, cells->with_failed_count,
                                    &cells->with_failed_room, sizeof *cells->with_failed);
    cell->has_failed = true;
    cell->lease_or_items = (int32_t)cells->with_failed_count;
    cells->with_failed[cells->with_failed_count++] = items;
}

/* An ended range's items, with sign 1 or -1. */
static void count_ends(struct cells *cells, int64_t first, int64_t end, int sign) {
    for (int64_t i = first; i < end; i++) {
        const struct cell *cell = &cells->of[i];
        if (cell->state < CELL_ACCEPTED) {
            continue;
        }
        *(cell->end == CELL_DONE ? &cells->cells.done : &cells->cells.failed) += sign;
        struct cell_items items = items_of(cells, cell);
        cells->items.done += sign * (int64_t)(items.all - items.failed);
        cells->items.failed += sign * (int64_t)items.failed;
    }
}

/* ---- growing -------------------------------------------------------------------------------- */

void cells_cover(struct cells *cells, int64_t end) {
    size_t wanted = (size_t)end;
    if (wanted <= cells->count) {
        return;
    }
    if (wanted > cells->room) {
        cells->room = MAX(wanted, cells->room + cells->room / 8); /* realloc moves large blocks
                                                                     cheaply */
        cells->of = x_realloc_array(cells->of, cells->room, sizeof *cells->of);
    }
    memset(cells->of + cells->count, 0, (wanted - cells->count) * sizeof *cells->of);
    cells->in[CELL_UNKNOWN] += (int64_t)(wanted - cells->count);
    cells->count = wanted;
}

void cells_extend(struct cells *cells, int64_t count) {
    int64_t end = cells->known + count;
    cells_cover(cells, end);
    for (int64_t i = cells->known; i < end; i++) {
        if (cells->of[i].state == CELL_UNKNOWN) {
            set_state(cells, &cells->of[i], CELL_WAITING);
            cells->never_leased += !cells->of[i].was_leased;
        }
    }
    cells->known = end;
    if (cells->partition) {
        guided_partition_extend(cells->partition, count);
    }
}

/* ---- waiting -------------------------------------------------------------------------------- */

static void heap_push(struct cells *cells, int64_t first, int64_t end) {
    cells->returned = cells_grow(cells->returned, cells->returned_count, &cells->returned_room,
                                 sizeof *cells->returned);
    size_t at = cells->returned_count++;
    while (at > 0 && cells->returned[(at - 1) / 2].first > first) {
        cells->returned[at] = cells->returned[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    cells->returned[at] = (struct cell_range){first, end};
}

static struct cell_range heap_pop(struct cells *cells) {
    struct cell_range *heap = cells->returned, smallest = heap[0];
    struct cell_range moved = heap[--cells->returned_count];
    size_t at = 0, count = cells->returned_count;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && heap[child + 1].first < heap[child].first;
        if (heap[child].first >= moved.first) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    return smallest;
}

/* Takes the first waiting cells of a range, at most `most`; the cells after them go back. */
static int32_t first_waiting(struct cells *cells, struct cell_range *range, int32_t most) {
    int64_t end = range->end;
    while (range->first < end && cells->of[range->first].state != CELL_WAITING) {
        range->first++;
    }
    range->end = range->first;
    while (range->end < end && range->end - range->first < most &&
           cells->of[range->end].state == CELL_WAITING) {
        range->end++;
    }
    if (range->end > range->first && range->end < end) {
        heap_push(cells, range->end, end);
    }
    return (int32_t)(range->end - range->first);
}

static struct cell_range next_dealt(struct cells *cells, int slot, int slots, int32_t most) {
    if (cells->partition) {
        int32_t count = 0;
        int64_t first = guided_partition_next(cells->partition, slot, slots, most, &count);
        assert(first >= 0); /* otherwise the count of waiting cells is wrong */
        return (struct cell_range){first, first + count};
    }
    int64_t first = cells->dealt;
    assert(first < cells->known);
    cells->dealt = MIN(first + most, cells->known);
    return (struct cell_range){first, cells->dealt};
}

int64_t cells_next(struct cells *cells, int slot, int slots, int32_t most, int32_t *ret_count) {
    for (;;) {
        struct cell_range range =
            cells->returned_count ? heap_pop(cells) : next_dealt(cells, slot, slots, most);
        int32_t count = first_waiting(cells, &range, most);
        if (count) {
            *ret_count = count;
            return range.first;
        }
    }
}

void cells_lease(struct cells *cells, int64_t first, int64_t end, int32_t lease) {
    for (int64_t i = first; i < end; i++) {
        struct cell *cell = &cells->of[i];
        set_state(cells, cell, CELL_LEASED);
        cell->lease_or_items = lease;
        cells->never_leased -= !cell->was_leased;
        cell->was_leased = true;
    }
}

void cells_put_back(struct cells *cells, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; i++) {
        set_state(cells, &cells->of[i], CELL_WAITING);
    }
    if (first < end) {
        heap_push(cells, first, end);
    }
}

/* ---- ended ---------------------------------------------------------------------------------- */

void cells_end(struct cells *cells, const struct ledger_record *record, enum cell_state state) {
    int64_t first = record->first, end = record->first + record->cells;
    count_ends(cells, first, end, -1);
    for (int64_t i = first; i < end; i++) {
        struct cell *cell = &cells->of[i];
        cells->never_leased -= cell->state == CELL_WAITING && !cell->was_leased;
        set_state(cells, cell, state);
        cell->end = record->decision == LEDGER_FAILED    ? CELL_FAILED
                    : record->decision == LEDGER_PARTIAL ? CELL_PARTIAL
                                                         : CELL_DONE;
        set_items(cells, cell,
                  i == first ? (struct cell_items){(int32_t)record->items, (int32_t)record->failed}
                             : (struct cell_items){0});
        cell->was_leased = true;
    }
    count_ends(cells, first, end, 1);
}

void cells_void(struct cells *cells, int64_t first, int64_t end) {
    end = MIN(end, (int64_t)cells->count);
    count_ends(cells, first, end, -1);
    int64_t known = first;
    for (int64_t i = first; i < end; i++) {
        struct cell *cell = &cells->of[i];
        if (cell->state < CELL_ACCEPTED) {
            continue;
        }
        set_state(cells, cell, i < cells->known ? CELL_WAITING : CELL_UNKNOWN);
        *cell = (struct cell){.state = cell->state, .was_leased = true};
        known = i < cells->known ? i + 1 : known;
    }
    if (known > first) {
        heap_push(cells, first, known);
    }
}

void cells_advance(struct cells *cells, int64_t first, int64_t end, enum cell_state from,
                   enum cell_state to) {
    end = MIN(end, (int64_t)cells->count);
    for (int64_t i = first; i < end; i++) {
        if (cells->of[i].state == from) {
            set_state(cells, &cells->of[i], to);
        }
    }
}
