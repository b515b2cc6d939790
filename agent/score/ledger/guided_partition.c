// SPDX-License-Identifier: Apache-2.0
#include "agent/score/ledger/guided_partition.h"

#include <stdlib.h>

enum { SHARE = 2 /* a slot takes 1/SHARE of its even share of the uncut cells */ };

struct range {
    int64_t next, end;
    int at; /* in holders, while next < end */
};

struct guided_partition {
    int64_t uncut, total;  /* cells from uncut on have no slot yet */
    struct range *of;      /* [slot] */
    int count, capacity;   /* slots seen */
    int *holders, holding; /* the slots whose range is not empty, in any order */
};

struct guided_partition *guided_partition_new(void) {
    return x_calloc(1, sizeof(struct guided_partition));
}

void guided_partition_free(struct guided_partition *partition) {
    if (partition) {
        free(partition->of);
        free(partition->holders);
        free(partition);
    }
}

void guided_partition_extend(struct guided_partition *partition, int64_t cells) {
    partition->total += cells;
}

static struct range *range_of(struct guided_partition *partition, int slot) {
    if (slot >= partition->capacity) {
        partition->capacity = MAX(2 * partition->capacity, slot + 1);
        size_t room = (size_t)partition->capacity;
        partition->of = x_realloc_array(partition->of, room, sizeof *partition->of);
        partition->holders = x_realloc_array(partition->holders, room, sizeof *partition->holders);
    }
    for (; partition->count <= slot; partition->count++) {
        partition->of[partition->count] = (struct range){0};
    }
    return &partition->of[slot];
}

static void hold(struct guided_partition *partition, int slot, int64_t next, int64_t end) {
    partition->of[slot] = (struct range){next, end, partition->holding};
    partition->holders[partition->holding++] = slot;
}

static void let_go(struct guided_partition *partition, int slot) {
    int at = partition->of[slot].at, last = partition->holders[--partition->holding];
    partition->holders[at] = last;
    partition->of[last].at = at;
}

/* The upper half of another slot's range: its holder continues undisturbed. */
static void steal(struct guided_partition *partition, int thief) {
    int from = partition->holders[0];
    struct range *victim = &partition->of[from];
    int64_t end = victim->end, middle = victim->next + (end - victim->next) / 2;
    victim->end = middle;
    if (middle == victim->next) {
        let_go(partition, from);
    }
    hold(partition, thief, middle, end);
}

int64_t guided_partition_next(struct guided_partition *partition, int slot, int slots, int32_t most,
                              int32_t *ret_count) {
    struct range *range = range_of(partition, slot);
    if (range->next == range->end) {
        int64_t uncut = partition->total - partition->uncut;
        if (uncut > 0) {
            int64_t cut = MAX(uncut / (SHARE * (int64_t)MAX(slots, 1)), 1);
            hold(partition, slot, partition->uncut, partition->uncut + cut);
            partition->uncut += cut;
        } else if (partition->holding) {
            steal(partition, slot);
        } else {
            return -1;
        }
    }
    int64_t first = range->next;
    *ret_count = (int32_t)MIN((int64_t)most, range->end - first);
    range->next += *ret_count;
    if (range->next == range->end) {
        let_go(partition, slot);
    }
    return first;
}
