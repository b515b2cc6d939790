// SPDX-License-Identifier: Apache-2.0
#include "lib/lanes.h"

#include <assert.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { SHARE = 3 }; /* of what is free, the part that a name may have is one in so many */

struct item {
    struct item *next;
    void *what;
};

struct lane {
    char *name;
    int under_way;
    struct item *first, **last;
    struct lane *next, *previous; /* in the ring of lanes with items */
};

struct lanes {
    int max, under_way;
    void *by_name;     /* tsearch tree */
    struct lane *turn; /* the ring's next; NULL: nothing waits */
    size_t waiting;
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct lane *)a)->name, ((const struct lane *)b)->name);
}

static struct lane *find(const struct lanes *lanes, const char *name) {
    const struct lane like = {.name = (char *)name};
    void *found = tfind(&like, &lanes->by_name, by_name);
    return found ? *(struct lane **)found : NULL;
}

static struct lane *find_or_make(struct lanes *lanes, const char *name) {
    struct lane *lane = find(lanes, name);
    if (!lane) {
        lane = x_calloc(1, sizeof *lane);
        lane->name = x_strdup(name);
        lane->last = &lane->first;
        tsearch(lane, &lanes->by_name, by_name);
    }
    return lane;
}

static void lane_free(void *opaque) {
    struct lane *lane = opaque;
    for (struct item *next, *item = lane->first; item; item = next) {
        next = item->next;
        free(item);
    }
    free(lane->name);
    free(lane);
}

static void drop_if_idle(struct lanes *lanes, struct lane *lane) {
    if (!lane->first && lane->under_way == 0) {
        tdelete(lane, &lanes->by_name, by_name);
        lane_free(lane);
    }
}

struct lanes *lanes_new(int max) {
    struct lanes *lanes = x_calloc(1, sizeof *lanes);
    lanes->max = max;
    return lanes;
}

void lanes_free(struct lanes *lanes) {
    if (lanes) {
        tdestroy(lanes->by_name, lane_free);
        free(lanes);
    }
}

void lanes_begin(struct lanes *lanes, const char *name) {
    find_or_make(lanes, name)->under_way++;
    lanes->under_way++;
}

void lanes_end(struct lanes *lanes, const char *name) {
    struct lane *lane = find(lanes, name);
    assert(lane && lane->under_way > 0);
    lane->under_way--;
    lanes->under_way--;
    drop_if_idle(lanes, lane);
}

static bool has_room(const struct lanes *lanes, const struct lane *lane) {
    int under_way = lane ? lane->under_way : 0;
    return SHARE * under_way < lanes->max - lanes->under_way;
}

int lanes_under_way(const struct lanes *lanes, const char *name) {
    const struct lane *lane = find(lanes, name);
    return lane ? lane->under_way : 0;
}

bool lanes_has_room(const struct lanes *lanes, const char *name) {
    return has_room(lanes, find(lanes, name));
}

void lanes_push(struct lanes *lanes, const char *name, void *what) {
    struct lane *lane = find_or_make(lanes, name);
    struct item *item = x_calloc(1, sizeof *item);
    item->what = what;
    if (!lane->first) { /* the last in the ring is the one before the next */
        struct lane *turn = lanes->turn ? lanes->turn : lane;
        lane->next = turn;
        lane->previous = lanes->turn ? turn->previous : lane;
        lane->previous->next = lane;
        turn->previous = lane;
        lanes->turn = turn;
    }
    *lane->last = item;
    lane->last = &item->next;
    lanes->waiting++;
}

static struct lane *find_ready(const struct lanes *lanes) {
    struct lane *lane = lanes->turn;
    if (!lane || lanes->under_way >= lanes->max) {
        return NULL;
    }
    do {
        if (has_room(lanes, lane)) {
            return lane;
        }
        lane = lane->next;
    } while (lane != lanes->turn);
    return NULL;
}

void *lanes_take(struct lanes *lanes) {
    struct lane *lane = find_ready(lanes);
    if (!lane) {
        return NULL;
    }
    struct item *item = lane->first;
    void *what = item->what;
    lanes->turn = lane->next;
    lanes->waiting--;
    lane->first = item->next;
    free(item);
    if (!lane->first) {
        lane->last = &lane->first;
        lanes->turn = lane->next == lane ? NULL : lane->next;
        lane->previous->next = lane->next;
        lane->next->previous = lane->previous;
        drop_if_idle(lanes, lane);
    }
    return what;
}

bool lanes_is_ready(const struct lanes *lanes) {
    return find_ready(lanes) != NULL;
}

size_t lanes_waiting(const struct lanes *lanes) {
    return lanes->waiting;
}
