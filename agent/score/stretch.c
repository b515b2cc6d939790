// SPDX-License-Identifier: Apache-2.0
#include "agent/score/stretch.h"

#include <stdlib.h>

enum { SHARE = 2 /* a worker takes 1/SHARE of its even part of what is not cut */ };

struct stretch {
    int64_t next, end;
    int at; /* in holders, while next < end */
};

struct stretches {
    int64_t uncut, total;  /* mini-batches from uncut on belong to nobody */
    struct stretch *of;    /* [worker] */
    int count, capacity;   /* workers seen */
    int *holders, holding; /* the workers whose stretch is not empty, in any order */
};

struct stretches *stretches_new(int64_t total) {
    struct stretches *stretches = x_calloc(1, sizeof *stretches);
    stretches->total = total;
    return stretches;
}

void stretches_free(struct stretches *stretches) {
    if (stretches) {
        free(stretches->of);
        free(stretches->holders);
        free(stretches);
    }
}

static struct stretch *stretch_of(struct stretches *stretches, int worker) {
    if (worker >= stretches->capacity) {
        stretches->capacity = MAX(2 * stretches->capacity, worker + 1);
        size_t room = (size_t)stretches->capacity;
        stretches->of = x_realloc_array(stretches->of, room, sizeof *stretches->of);
        stretches->holders = x_realloc_array(stretches->holders, room, sizeof *stretches->holders);
    }
    for (; stretches->count <= worker; stretches->count++) {
        stretches->of[stretches->count] = (struct stretch){0};
    }
    return &stretches->of[worker];
}

static void hold(struct stretches *stretches, int worker, int64_t next, int64_t end) {
    stretches->of[worker] = (struct stretch){next, end, stretches->holding};
    stretches->holders[stretches->holding++] = worker;
}

static void let_go(struct stretches *stretches, int worker) {
    int at = stretches->of[worker].at, last = stretches->holders[--stretches->holding];
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

int64_t stretches_next(struct stretches *stretches, int worker, int workers) {
    struct stretch *stretch = stretch_of(stretches, worker);
    if (stretch->next == stretch->end) {
        int64_t uncut = stretches->total - stretches->uncut;
        if (uncut > 0) {
            int64_t cut = MAX(uncut / (SHARE * (int64_t)MAX(workers, 1)), 1);
            hold(stretches, worker, stretches->uncut, stretches->uncut + cut);
            stretches->uncut += cut;
        } else if (stretches->holding) {
            steal(stretches, worker);
        } else {
            return -1;
        }
    }
    int64_t batch = stretch->next++;
    if (stretch->next == stretch->end) {
        let_go(stretches, worker);
    }
    return batch;
}
