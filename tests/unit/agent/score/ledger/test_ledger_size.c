// SPDX-License-Identifier: Apache-2.0
/* miniBatchSize auto against fixed sizes: a job simulated through the ledger, with workers whose
 * leases cost a start and a time per item. SHOW=1 prints the time of each. tests/bench/auto.sh
 * measures the same with real programs. */
#include "tests/seed.h"
#include "tests/unit/agent/score/ledger/ledgers.h"

#include <stdlib.h>

enum { SLOTS = 8, QUEUE = 2048, ANSWER_US = 300 /* from a result to the next lease */ };

struct course {
    int64_t start_us, item_us, items;
    int spread_percent; /* an item's cost varies up to this, a lease's up to half of it */
};

struct queue {
    struct ledger_lease leases[QUEUE];
    int first, count;
    int64_t starts_us, ends_us; /* of the head */
};

struct play {
    const struct course *course;
    struct ledger *ledger;
    int64_t now_us, size; /* size: items of a cell */
    uint64_t random;
    struct queue queues[SLOTS];
};

static int64_t cost_us(struct play *play, const struct ledger_lease *lease) {
    uint64_t spread = (uint64_t)play->course->spread_percent;
    int64_t us = play->course->start_us;
    for (int64_t i = 0; i < lease->items; i++) {
        int64_t percent = (int64_t)test_below(&play->random, 2 * spread + 1);
        us += play->course->item_us * (100 + percent - (int64_t)spread) / 100;
    }
    us += us * (int64_t)test_below(&play->random, spread + 1) / 200;
    return MAX(us, 1);
}

static void start_head(struct play *play, struct queue *queue, int64_t at_us) {
    queue->starts_us = at_us;
    queue->ends_us = at_us + cost_us(play, &queue->leases[queue->first]);
}

/* Leases after a slow head are taken back. */
static void drop_lease(struct queue *queue, int64_t lease) {
    int kept = 0;
    for (int i = 0; i < queue->count; i++) {
        struct ledger_lease held = queue->leases[(queue->first + i) % QUEUE];
        if (held.lease != lease) {
            queue->leases[(queue->first + kept++) % QUEUE] = held;
        }
    }
    queue->count = kept;
}

static void take_leases(struct play *play) {
    for (struct ledger_revoked taken;
         ledger_next_revoked(play->ledger, play->now_us / 1000, &taken);) {
        drop_lease(&play->queues[taken.lease.worker], taken.lease.lease);
    }
    for (struct ledger_lease lease; ledger_next_lease(play->ledger, play->now_us / 1000, &lease);) {
        struct queue *queue = &play->queues[lease.worker];
        CHECK(queue->count < QUEUE);
        queue->leases[(queue->first + queue->count++) % QUEUE] = lease;
        if (queue->count == 1) {
            start_head(play, queue, play->now_us + ANSWER_US);
        }
    }
}

static void end_next(struct play *play) {
    struct queue *queue = NULL;
    for (int i = 0; i < SLOTS; i++) {
        struct queue *other = &play->queues[i];
        queue = other->count && (!queue || other->ends_us < queue->ends_us) ? other : queue;
    }
    struct ledger_lease lease = queue->leases[queue->first];
    queue->first = (queue->first + 1) % QUEUE;
    queue->count--;
    int64_t took_us = queue->ends_us - queue->starts_us;
    play->now_us = queue->ends_us;
    if (queue->count) {
        start_head(play, queue, play->now_us);
    }
    struct ledger_report report = {
        .worker = lease.worker, .lease = lease.lease, .items = lease.items, .took_us = took_us};
    (void)ledger_take_report(play->ledger, &report, play->now_us / 1000, NULL);
}

/* Microseconds from the first lease to the last result. size 0: auto. */
static int64_t play_through(const struct course *course, int64_t size) {
    struct error err = {0};
    struct ledger_options options = plain;
    options.is_auto = size == 0;
    options.cell_items = MAX(size, 1);
    options.ahead_max = 1024;
    options.timeout_ms = 3600 * 1000;
    struct play *play = x_calloc(1, sizeof *play);
    play->course = course;
    play->random = 1;
    play->ledger = ledger_new(&options);
    int64_t cells = (course->items + options.cell_items - 1) / options.cell_items;
    CHECK_OK(ledger_extend(play->ledger, cells, course->items, true, &err), &err);
    for (int i = 0; i < SLOTS; i++) {
        join(play->ledger, (char[]){(char)('a' + i), 0});
    }
    take_leases(play);
    while (!ledger_is_accounted(play->ledger)) {
        end_next(play);
        take_leases(play);
    }
    int64_t took_us = play->now_us;
    CHECK_INT(ledger_read_counts(play->ledger).items.done, course->items);
    ledger_free(play->ledger);
    free(play);
    return took_us;
}

static void auto_is_as_good_as_the_best_fixed_size(void) {
    static const int64_t sizes[] = {1, 10, 100, 1000}, starts_us[] = {0, 5000, 50000};
    static const int spreads[] = {0, 50, 100};
    static const struct {
        int64_t item_us, items;
        double limit; /* relative to the best */
    } inputs[] = {
        {100, 200000, 1.05},
        {1000, 37000, 1.05},
        {20000, 4000, 1.05},
        {1000, 40000, 1.12}, /* 1,000 divides it evenly: nothing to balance */
    };
    for (size_t i = 0; i < 36; i++) {
        double limit = inputs[i / 3 % 4].limit;
        struct course course = {.start_us = starts_us[i % 3],
                                .item_us = inputs[i / 3 % 4].item_us,
                                .items = inputs[i / 3 % 4].items,
                                .spread_percent = spreads[i / 12]};
        int64_t found_us = play_through(&course, 0), best_us = INT64_MAX;
        char text[256];
        int at = snprintf(text, sizeof text, "start %lld us, item %lld us +-%d %%: auto %.3f s;",
                          (long long)course.start_us, (long long)course.item_us,
                          course.spread_percent, (double)found_us / 1e6);
        for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
            int64_t us = play_through(&course, sizes[k]);
            best_us = MIN(best_us, us);
            at += snprintf(text + at, sizeof text - (size_t)at, " %lld: %.3f", (long long)sizes[k],
                           (double)us / 1e6);
        }
        if (getenv("SHOW") || (double)found_us > limit * (double)best_us) {
            printf("# %s\n", text);
        }
        CHECK((double)found_us <= limit * (double)best_us);
    }
}

int main(void) {
    TEST(auto_is_as_good_as_the_best_fixed_size);
    return TEST_END();
}
