// SPDX-License-Identifier: Apache-2.0
#include "agent/score/ledger/guided_partition.h"

#include <stdlib.h>

enum { SHARE = 2 /* a slot takes 1/SHARE of its even part of what is not cut */ };

struct stretch {
    int64_t next, end;
    int at; /* in holders, while next < end */
};

struct stretches {
    int64_t uncut, total;  /* cells from uncut on belong to nobody */
    struct stretch *of;    /* [slot] */
    int count, capacity;   /* slots seen */
    int *holders, holding; /* the slots whose stretch is not empty, in any order */
};

struct stretches *stretches_new(void) {
    return x_calloc(1, sizeof(struct stretches));
}

void stretches_free(struct stretches *stretches) {
    if (stretches) {
        free(stretches->of);
        free(stretches->holders);
        free(stretches);
    }
}

void stretches_extend(struct stretches *stretches, int64_t cells) {
    stretches->total += cells;
}

static struct stretch *stretch_of(struct stretches *stretches, int slot) {
    if (slot >= stretches->capacity) {
        stretches->capacity = MAX(2 * stretches->capacity, slot + 1);
        size_t room = (size_t)stretches->capacity;
        stretches->of = x_realloc_array(stretches->of, room, sizeof *stretches->of);
        stretches->holders = x_realloc_array(stretches->holders, room, sizeof *stretches->holders);
    }
    for (; stretches->count <= slot; stretches->count++) {
        stretches->of[stretches->count] = (struct stretch){0};
    }
    return &stretches->of[slot];
}

static void hold(struct stretches *stretches, int slot, int64_t next, int64_t end) {
    stretches->of[slot] = (struct stretch){next, end, stretches->holding};
    stretches->holders[stretches->holding++] = slot;
}

static void let_go(struct stretches *stretches, int slot) {
    int at = stretches->of[slot].at, last = stretches->holders[--stretches->holding];
    stretches->holders[at] = last;
    stretches->of[last].at = at;
}

/* The upper half of somebody's stretch: its holder walks on undisturbed. */
static void steal(struct stretches *stretches, int thief) {
    int from = stretches->holders[0];
    struct stretch *victim = &stretches->of[from];
    int64_t end = victim->end, middle = victim->next + (end - victim->next) / 2;
    victim->end = middle;
    if (middle == victim->next) {
        let_go(stretches, from);
    }
    hold(stretches, thief, middle, end);
}

int64_t stretches_next(struct stretches *stretches, int slot, int slots, int32_t most,
                       int32_t *ret_count) {
    struct stretch *stretch = stretch_of(stretches, slot);
    if (stretch->next == stretch->end) {
        int64_t uncut = stretches->total - stretches->uncut;
        if (uncut > 0) {
            int64_t cut = MAX(uncut / (SHARE * (int64_t)MAX(slots, 1)), 1);
            hold(stretches, slot, stretches->uncut, stretches->uncut + cut);
            stretches->uncut += cut;
        } else if (stretches->holding) {
            steal(stretches, slot);
        } else {
            return -1;
        }
    }
    int64_t first = stretch->next;
    *ret_count = (int32_t)MIN((int64_t)most, stretch->end - first);
    stretch->next += *ret_count;
    if (stretch->next == stretch->end) {
        let_go(stretches, slot);
    }
    return first;
}
