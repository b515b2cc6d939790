/* turn_room.h: room that the slots of a worker share, such as bytes of memory: who finds too little
 * waits, and gets it in the order of coming, so that what is large is not passed by what is small
 * for ever. */
#pragma once

#include "lib/base.h"

#include <pthread.h>
#include <stdatomic.h>

struct turn_waiter;

struct turn_room {
    int64_t most;
    pthread_mutex_t lock; /* guards the following */
    int64_t used;
    struct turn_waiter *first, *last; /* in the order of coming */
};

void turn_room_init(struct turn_room *room, int64_t most);
void turn_room_release(struct turn_room *room); /* when no slot waits */

/* Waits until there is room for `wanted` and no earlier caller waits. A request that is larger than
 * the whole room waits until it is empty. False: one of the flags was set meanwhile, and nothing
 * was taken. A caller that holds room must not wait for more: two could deadlock. Any thread. */
NODISCARD bool turn_room_take(struct turn_room *room, int64_t wanted, const atomic_bool *dropped,
                              const atomic_bool *ends);
/* Takes it whether it is there or not. Any thread. */
void turn_room_add(struct turn_room *room, int64_t wanted);
void turn_room_give_back(struct turn_room *room, int64_t taken); /* any thread */
