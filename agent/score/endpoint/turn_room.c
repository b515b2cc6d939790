// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/turn_room.h"

#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

enum { LOOK_MS = 200 /* how often a waiter looks at its flags */ };

struct turn_waiter {
    struct turn_waiter *next;
    int64_t wanted;
    bool has_it;
    pthread_cond_t changed;
};

void turn_room_init(struct turn_room *room, int64_t most) {
    *room = (struct turn_room){.most = most};
    pthread_mutex_init(&room->lock, NULL);
}

void turn_room_release(struct turn_room *room) {
    pthread_mutex_destroy(&room->lock);
}

static bool fits(const struct turn_room *room, int64_t wanted) {
    return room->used == 0 || wanted <= room->most - room->used;
}

/* Gives to those in front what there is. The caller holds the lock. */
static void serve(struct turn_room *room) {
    while (room->first && fits(room, room->first->wanted)) {
        struct turn_waiter *waiter = room->first;
        room->first = waiter->next;
        room->last = room->first ? room->last : NULL;
        room->used += waiter->wanted;
        waiter->has_it = true;
        pthread_cond_signal(&waiter->changed);
    }
}

/* The caller holds the lock. */
static void leave(struct turn_room *room, const struct turn_waiter *waiter) {
    struct turn_waiter *before = NULL;
    struct turn_waiter **link = &room->first;
    while (*link != waiter) {
        before = *link;
        link = &before->next;
    }
    *link = waiter->next;
    room->last = room->last == waiter ? before : room->last;
    serve(room);
}

/* The caller holds the lock. */
static bool wait_for(struct turn_room *room, int64_t wanted, const atomic_bool *dropped,
                     const atomic_bool *ends) {
    struct turn_waiter waiter = {.wanted = wanted};
    timed_wait_init(&waiter.changed);
    if (room->last) {
        room->last->next = &waiter;
    } else {
        room->first = &waiter;
    }
    room->last = &waiter;
    while (!waiter.has_it && !atomic_load(dropped) && !atomic_load(ends)) {
        (void)timed_wait(&waiter.changed, &room->lock, clock_monotonic_ms() + LOOK_MS);
    }
    if (!waiter.has_it) {
        leave(room, &waiter);
    }
    pthread_cond_destroy(&waiter.changed);
    return waiter.has_it;
}

bool turn_room_take(struct turn_room *room, int64_t wanted, const atomic_bool *dropped,
                    const atomic_bool *ends) {
    bool has_it = true;
    pthread_mutex_lock(&room->lock);
    if (!room->first && fits(room, wanted)) {
        room->used += wanted;
    } else {
        has_it = wait_for(room, wanted, dropped, ends);
    }
    pthread_mutex_unlock(&room->lock);
    return has_it;
}

void turn_room_add(struct turn_room *room, int64_t wanted) {
    pthread_mutex_lock(&room->lock);
    room->used += wanted;
    pthread_mutex_unlock(&room->lock);
}

void turn_room_give_back(struct turn_room *room, int64_t taken) {
    pthread_mutex_lock(&room->lock);
    room->used -= taken;
    serve(room);
    pthread_mutex_unlock(&room->lock);
}
