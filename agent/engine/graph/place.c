// SPDX-License-Identifier: Apache-2.0
/* The memory plan of a schedule: largest piece first, each at the lowest offset that is free
 * during its whole lifetime. */
#include "agent/engine/graph/schedule.h"

#include <stdlib.h>

enum { ALIGNMENT_LEAST = 64 };
static const size_t block_bytes_max = (size_t)1 << 42;

struct piece {
    size_t size, offset;
    size_t first, last; /* the first and last step that need it */
    size_t *ret_offset;
};

static int by_size(const void *left, const void *right) {
    const struct piece *a = left, *b = right;
    if (a->size != b->size) {
        return a->size < b->size ? 1 : -1;
    }
    return a->first < b->first ? -1 : a->first > b->first;
}

/* The pieces of all slots, indexed by slot, with lifetimes from a pass over the steps. */
static void find_lifetimes(struct schedule *schedule, struct piece *pieces) {
    for (size_t i = 0; i < schedule->slot_count; i++) {
        pieces[i].first = SIZE_MAX;
    }
    for (size_t n = 0; n < schedule->step_count; n++) {
        const struct step *step = &schedule->steps[n];
        for (int k = 0; step->node && k < step->output_count + step->input_count; k++) {
            int slot =
                k < step->output_count ? step->outputs[k] : step->inputs[k - step->output_count];
            if (slot >= 0 && schedule->slots[slot].place == PLACE_VIEW) {
                slot = schedule->slots[slot].view_of;
            }
            if (slot >= 0 && schedule->slots[slot].place == PLACE_ARENA) {
                pieces[slot].first = MIN(pieces[slot].first, n);
                pieces[slot].last = MAX(pieces[slot].last, n);
            }
        }
    }
    for (size_t i = 0; i < schedule->slot_count; i++) {
        const struct schedule_slot *slot = &schedule->slots[i];
        size_t root = slot->place == PLACE_VIEW ? (size_t)slot->view_of : i;
        if (slot->is_output) {
            pieces[root].last = schedule->step_count;
        }
    }
}

static size_t collect(struct schedule *schedule, struct piece *pieces) {
    find_lifetimes(schedule, pieces);
    size_t count = 0;
    for (size_t i = 0; i < schedule->slot_count; i++) {
        struct schedule_slot *slot = &schedule->slots[i];
        if (slot->place == PLACE_ARENA && pieces[i].first != SIZE_MAX) {
            struct piece piece = {.size = slot->size_bytes,
                                  .first = pieces[i].first,
                                  .last = pieces[i].last,
                                  .ret_offset = &slot->offset};
            pieces[count++] = piece; /* count <= i: nothing unread is overwritten */
        }
    }
    for (size_t n = 0; n < schedule->step_count; n++) {
        struct step *step = &schedule->steps[n];
        if (step->node && step->scratch_bytes) {
            pieces[count++] = (struct piece){.size = step->scratch_bytes,
                                             .first = n,
                                             .last = n,
                                             .ret_offset = &step->scratch_offset};
        }
    }
    return count;
}

/* placed[] holds `count` pieces sorted by offset; inserts `piece`. */
static void put(struct piece *placed, size_t count, struct piece piece) {
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        const struct piece *other = &placed[i];
        if (other->last < piece.first || other->first > piece.last) {
            continue;
        }
        if (other->offset >= offset + piece.size) {
            break; /* a gap that is large enough */
        }
        offset = MAX(offset, other->offset + other->size);
    }
    piece.offset = offset;
    size_t at = count;
    while (at > 0 && placed[at - 1].offset > offset) {
        placed[at] = placed[at - 1];
        at--;
    }
    placed[at] = piece;
}

int schedule_place(struct schedule *schedule, struct error *err) {
    struct arena scratch = {0};
    size_t room = schedule->slot_count + schedule->step_count;
    struct piece *pieces = arena_array(&scratch, room, sizeof *pieces);
    struct piece *placed = arena_array(&scratch, room, sizeof *placed);
    size_t count = collect(schedule, pieces), total = 0;
    size_t alignment = MAX(schedule->alignment, ALIGNMENT_LEAST);
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].size > block_bytes_max) {
            total = SIZE_MAX;
            break;
        }
        pieces[i].size = (MAX(pieces[i].size, 1) + alignment - 1) / alignment * alignment;
        total += pieces[i].size; /* at most 2^42 * 2^19 */
    }
    if (total > block_bytes_max) {
        arena_release(&scratch);
        return error_set(err, ERROR_EXHAUSTED, "the network's values need more than 4 TiB");
    }
    qsort(pieces, count, sizeof *pieces, by_size);
    schedule->block_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        put(placed, i, pieces[i]);
    }
    for (size_t i = 0; i < count; i++) {
        *placed[i].ret_offset = placed[i].offset;
        schedule->block_bytes = MAX(schedule->block_bytes, placed[i].offset + placed[i].size);
    }
    arena_release(&scratch);
    return 0;
}
