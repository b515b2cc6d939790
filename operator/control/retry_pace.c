// SPDX-License-Identifier: Apache-2.0
#include "operator/control/retry_pace.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

int64_t retry_pace_spread_ms(int64_t even_ms) {
    return even_ms - even_ms / 4 + arc4random_uniform((uint32_t)even_ms / 2 + 1);
}

enum {
    MISSED_MAX = 2,       /* passes without a wish */
    CLOSED_MIN_MS = 1000, /* of a ramp, doubling */
    CLOSED_MAX_MS = 60000,
    DOUBLINGS_MAX = 6,
};

enum stage {
    STAGE_WAITS,
    STAGE_MAY, /* its turn has come */
    STAGE_TRIES,
};

/* Turns after a success. When such a turn did not help, there is none for a while. */
struct ramp {
    int more;     /* number that is open */
    int failures; /* of them, in a row */
    int64_t closed_until_ms;
    bool is_woken; /* something was deleted: one turn, as soon as it is not closed */
};

struct waiter {
    char *key;
    struct region *region;
    struct waiter *next, *previous; /* in its namespace, in the order in which they began to wait */
    enum stage stage;
    int64_t due_ms;
    int failures;
    int missed;         /* passes in a row without a wish */
    bool has_asked;     /* in this pass */
    struct ramp *ramp;  /* its turn came after a success: its own delay does not count; else NULL */
    int tried_failures; /* of the wish that is tried */
};

/* A namespace. */
struct region {
    char *name;
    struct region *next; /* in the ring */
    struct waiter *first, *last;
    struct ramp ramp;
    bool by_failures; /* whose turn is next: of the one that failed least */
};

struct retry_pace {
    void *by_key;        /* tsearch tree of struct waiter */
    struct region *turn; /* the ring, from the one whose turn is next; NULL: none */
    size_t count;
    struct ramp ramp; /* of any namespace */
    int64_t more_ms;  /* the last turn after a success */
    int64_t now_ms;   /* of the last call that had it */
    int64_t spent_ms; /* the turns that are used up end here; behind now: turns are saved */
    bool is_begun;
};

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct waiter *)a)->key, ((const struct waiter *)b)->key);
}

struct retry_pace *retry_pace_new(void) {
    return x_calloc(1, sizeof(struct retry_pace));
}

static struct waiter *find(const struct retry_pace *pace, const char *key) {
    const struct waiter like = {.key = (char *)key};
    void *found = pace->count > 0 ? tfind(&like, &pace->by_key, by_key) : NULL;
    return found ? *(struct waiter **)found : NULL;
}

/* ---- namespaces ---- */

static struct region *find_region(const struct retry_pace *pace, const char *name) {
    struct region *region = pace->turn;
    while (region && strcmp(region->name, name) != 0) {
        region = region->next == pace->turn ? NULL : region->next;
    }
    return region;
}

static struct region *region_of(struct retry_pace *pace, const char *name) {
    struct region *region = find_region(pace, name);
    if (region) {
        return region;
    }
    region = x_calloc(1, sizeof *region);
    region->name = x_strdup(name);
    if (pace->turn) {
        region->next = pace->turn->next;
        pace->turn->next = region;
    } else {
        region->next = pace->turn = region;
    }
    return region;
}

static void drop_region(struct retry_pace *pace, struct region *region) {
    struct region *before = region;
    while (before->next != region) {
        before = before->next;
    }
    before->next = region->next;
    if (pace->turn == region) {
        pace->turn = region->next == region ? NULL : region->next;
    }
    free(region->name);
    free(region);
}

/* ---- entries ---- */

static void unlink_waiter(struct waiter *waiter) {
    struct region *region = waiter->region;
    *(waiter->previous ? &waiter->previous->next : &region->first) = waiter->next;
    *(waiter->next ? &waiter->next->previous : &region->last) = waiter->previous;
    waiter->next = waiter->previous = NULL;
}

static void link_last(struct waiter *waiter) {
    struct region *region = waiter->region;
    waiter->previous = region->last;
    *(region->last ? &region->last->next : &region->first) = waiter;
    region->last = waiter;
}

static struct waiter *waiter_of(struct retry_pace *pace, const struct retry_wish *wish) {
    struct waiter *waiter = find(pace, wish->key);
    if (!waiter) {
        waiter = x_calloc(1, sizeof *waiter);
        waiter->key = x_strdup(wish->key);
        waiter->region = region_of(pace, wish->namespace);
        link_last(waiter);
        tsearch(waiter, &pace->by_key, by_key);
        pace->count++;
    }
    return waiter;
}

static void drop(struct retry_pace *pace, struct waiter *waiter) {
    struct region *region = waiter->region;
    unlink_waiter(waiter);
    tdelete(waiter, &pace->by_key, by_key);
    pace->count--;
    free(waiter->key);
    free(waiter);
    if (!region->first) {
        drop_region(pace, region);
    }
}

void retry_pace_free(struct retry_pace *pace) {
    if (pace) {
        while (pace->turn) {
            drop(pace, pace->turn->first);
        }
        free(pace);
    }
}

void retry_pace_forget(struct retry_pace *pace, const char *key) {
    struct waiter *waiter = find(pace, key);
    if (waiter) {
        drop(pace, waiter);
    }
}

size_t retry_pace_count(const struct retry_pace *pace) {
    return pace->count;
}

/* ---- turns ---- */

/* Of a long time without a try only a few turns are left. */
static void save_few(struct retry_pace *pace, int64_t now_ms) {
    int64_t least_ms = now_ms - (int64_t)RETRY_PACE_SAVED * RETRY_PACE_MS;
    pace->spent_ms = pace->is_begun ? MAX(pace->spent_ms, least_ms) : least_ms;
    pace->is_begun = true;
}

static bool has_credit(struct retry_pace *pace, int64_t now_ms, int most) {
    save_few(pace, now_ms);
    return pace->spent_ms < now_ms + (int64_t)(most - 1) * RETRY_PACE_MS;
}

static void spend(struct retry_pace *pace, int64_t now_ms) {
    if (has_credit(pace, now_ms, RETRY_PACE_DEBT_MAX)) {
        pace->spent_ms += RETRY_PACE_MS;
    }
}

void retry_pace_charge(struct retry_pace *pace, const char *key, int64_t now_ms) {
    if (find(pace, key)) {
        spend(pace, now_ms);
    }
}

static void begin(struct waiter *waiter, const struct retry_wish *wish) {
    waiter->stage = STAGE_TRIES;
    waiter->tried_failures = wish->failures;
    unlink_waiter(waiter);
    link_last(waiter);
}

bool retry_pace_ask(struct retry_pace *pace, const struct retry_wish *wish, int64_t now_ms) {
    struct waiter *waiter = waiter_of(pace, wish);
    bool is_first = !waiter->has_asked;
    pace->now_ms = now_ms;
    waiter->has_asked = true;
    if (waiter->stage == STAGE_TRIES) {
        return false;
    }
    bool is_due = wish->due_ms <= now_ms;
    if (waiter->stage == STAGE_MAY && (is_due || waiter->ramp)) {
        begin(waiter, wish);
        return true;
    }
    if (wish->failures <= 1 && is_due && has_credit(pace, now_ms, RETRY_PACE_DEBT)) {
        spend(pace, now_ms);
        waiter->ramp = NULL;
        begin(waiter, wish);
        return true;
    }
    waiter->due_ms = is_first ? wish->due_ms : MIN(waiter->due_ms, wish->due_ms);
    waiter->failures = is_first ? wish->failures : MIN(waiter->failures, wish->failures);
    return false;
}

void retry_pace_passed(struct retry_pace *pace, const char *key) {
    struct waiter *waiter = find(pace, key);
    if (!waiter) {
        return;
    }
    waiter->missed = waiter->has_asked || waiter->stage == STAGE_TRIES ? 0 : waiter->missed + 1;
    waiter->has_asked = false;
    if (waiter->stage == STAGE_MAY) {
        waiter->stage = STAGE_WAITS; /* not used: what was due then is gone, or due later */
    }
    if (waiter->missed >= MISSED_MAX) {
        drop(pace, waiter);
    } else if (waiter->missed > 0 && waiter->due_ms == INT64_MAX) {
        waiter->due_ms = 0; /* nothing else may cause the pass that finds that it can leave */
    }
}

static void open_turn(const struct retry_pace *pace, struct ramp *ramp) {
    if (pace->now_ms >= ramp->closed_until_ms) {
        ramp->more = MIN(ramp->more + 1, RETRY_PACE_RAMP_MAX);
    }
}

/* What failed once and then not was a hiccup, a conflict for example: it says nothing about the
 * causes for which others wait. */
static void note_success(struct retry_pace *pace, const struct waiter *waiter) {
    if (waiter->tried_failures > 1) {
        waiter->region->ramp = (struct ramp){.more = waiter->region->ramp.more};
        if (waiter->ramp) {
            *waiter->ramp = (struct ramp){.more = waiter->ramp->more};
        }
        open_turn(pace, &waiter->region->ramp);
        open_turn(pace, &pace->ramp);
    }
}

static void note_failure(struct retry_pace *pace, const struct waiter *waiter) {
    struct ramp *ramp = waiter->ramp;
    waiter->region->ramp.more = pace->ramp.more = 0;
    if (ramp && pace->now_ms >= ramp->closed_until_ms) { /* tries under way together: once */
        int64_t closed_ms = (int64_t)CLOSED_MIN_MS << MIN(ramp->failures, DOUBLINGS_MAX);
        ramp->failures++;
        ramp->closed_until_ms = pace->now_ms + MIN(closed_ms, CLOSED_MAX_MS);
    }
}

void retry_pace_ended(struct retry_pace *pace, const char *key, enum retry_end end) {
    struct waiter *waiter = find(pace, key);
    if (!waiter || waiter->stage != STAGE_TRIES) {
        return;
    }
    waiter->stage = STAGE_WAITS;
    waiter->due_ms = INT64_MAX; /* until the next pass asks */
    if (end == RETRY_SUCCEEDED) {
        waiter->missed = MISSED_MAX - 1; /* it leaves unless the next pass asks */
        note_success(pace, waiter);
    } else if (end == RETRY_FAILED) {
        note_failure(pace, waiter);
    }
}

void retry_pace_wake(struct retry_pace *pace, const char *namespace) {
    struct region *region = find_region(pace, namespace);
    if (region) {
        region->ramp.is_woken = true;
    }
}

/* at_ms: INT64_MAX - 1: whatever its own delay. One whose next wish is not known never. */
static struct waiter *choose(const struct region *region, bool by_failures, int64_t at_ms) {
    struct waiter *best = NULL;
    for (struct waiter *waiter = region->first; waiter; waiter = waiter->next) {
        if (waiter->stage != STAGE_WAITS || waiter->due_ms > at_ms) {
            continue;
        }
        if (!by_failures) {
            return waiter;
        }
        best = best && best->failures <= waiter->failures ? best : waiter;
    }
    return best;
}

static const char *grant_turn(struct retry_pace *pace, struct waiter *waiter, struct ramp *ramp) {
    waiter->stage = STAGE_MAY;
    waiter->ramp = ramp;
    pace->turn = waiter->region->next;
    return waiter->key;
}

/* The ramp's next turn in that namespace; NULL: it has none, or no one waits there. */
static struct waiter *choose_more(const struct region *region, struct ramp *ramp) {
    struct waiter *waiter =
        ramp->more > 0 ? choose(region, /* by_failures= */ false, INT64_MAX - 1) : NULL;
    ramp->more -= waiter != NULL;
    return waiter;
}

static void open_woken(const struct retry_pace *pace) {
    struct region *region = pace->turn;
    while (region) {
        if (region->ramp.is_woken && pace->now_ms >= region->ramp.closed_until_ms) {
            region->ramp.is_woken = false;
            region->ramp.more = MAX(region->ramp.more, 1);
        }
        region = region->next == pace->turn ? NULL : region->next;
    }
}

/* After a success: first of its namespace. */
static const char *grant_more(struct retry_pace *pace) {
    struct region *region = pace->turn;
    do {
        struct waiter *waiter = choose_more(region, &region->ramp);
        if (waiter) {
            return grant_turn(pace, waiter, &region->ramp);
        }
        region->ramp.more = 0;
        region = region->next;
    } while (region != pace->turn);
    do {
        struct waiter *waiter = choose_more(region, &pace->ramp);
        if (waiter) {
            return grant_turn(pace, waiter, &pace->ramp);
        }
        region = region->next;
    } while (region != pace->turn);
    return NULL;
}

static struct waiter *choose_due(struct retry_pace *pace, int64_t now_ms) {
    struct region *region = pace->turn;
    do {
        struct waiter *waiter = choose(region, region->by_failures, now_ms);
        if (waiter) {
            region->by_failures = !region->by_failures;
            return waiter;
        }
        region = region->next;
    } while (region != pace->turn);
    return NULL;
}

static bool has_more(const struct retry_pace *pace) {
    const struct region *region = pace->turn;
    bool has = pace->ramp.more > 0;
    while (region && !has) {
        has = region->ramp.more > 0;
        region = region->next == pace->turn ? NULL : region->next;
    }
    return has;
}

const char *retry_pace_take(struct retry_pace *pace, int64_t now_ms) {
    struct waiter *waiter = NULL;
    const char *key = NULL;
    pace->now_ms = now_ms;
    if (!pace->turn) {
        pace->ramp.more = 0;
        return NULL;
    }
    open_woken(pace);
    if (has_more(pace) && now_ms >= pace->more_ms + RETRY_PACE_RAMP_MS) {
        key = grant_more(pace);
    }
    if (key) {
        pace->more_ms = now_ms;
        return key;
    }
    save_few(pace, now_ms);
    if (pace->spent_ms + RETRY_PACE_MS <= now_ms) {
        waiter = choose_due(pace, now_ms);
        pace->spent_ms += waiter ? RETRY_PACE_MS : 0;
    }
    return waiter ? grant_turn(pace, waiter, /* ramp= */ NULL) : NULL;
}

static int64_t first_due_ms(const struct region *region) {
    int64_t first_ms = INT64_MAX;
    for (const struct waiter *waiter = region->first; waiter; waiter = waiter->next) {
        first_ms = waiter->stage == STAGE_WAITS ? MIN(first_ms, waiter->due_ms) : first_ms;
    }
    return first_ms;
}

int64_t retry_pace_next_ms(struct retry_pace *pace, int64_t now_ms) {
    int64_t due_ms = INT64_MAX;
    int64_t woken_ms = INT64_MAX;
    const struct region *region = pace->turn;
    while (region) {
        due_ms = MIN(due_ms, first_due_ms(region));
        woken_ms = region->ramp.is_woken ? MIN(woken_ms, region->ramp.closed_until_ms) : woken_ms;
        region = region->next == pace->turn ? NULL : region->next;
    }
    if (due_ms == INT64_MAX) {
        return INT64_MAX;
    }
    if (has_more(pace)) {
        return pace->more_ms + RETRY_PACE_RAMP_MS;
    }
    save_few(pace, now_ms);
    return MIN(MAX(due_ms, pace->spent_ms + RETRY_PACE_MS),
               MAX(woken_ms, pace->more_ms + RETRY_PACE_RAMP_MS));
}
