// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/turn_room.h"
#include "tests/test.h"

#include <poll.h>
#include <stdlib.h>

enum { THREADS = 8, ROUNDS = 2000, MOST = 100 };

static struct turn_room room;
static const atomic_bool never = false;

/* ---- turns ---------------------------------------------------------------------------------- */

struct taker {
    pthread_t thread;
    int64_t wanted;
    atomic_bool dropped, ended, has_it;
};

static void *take(void *context) {
    struct taker *taker = context;
    atomic_store(&taker->has_it, turn_room_take(&room, taker->wanted, &taker->dropped, &never));
    atomic_store(&taker->ended, true);
    return NULL;
}

static bool is_waiting(int count) {
    pthread_mutex_lock(&room.lock);
    int waiting = 0;
    for (const void *at = room.first; at; at = *(void *const *)at) { /* its first member: next */
        waiting++;
    }
    pthread_mutex_unlock(&room.lock);
    return waiting == count;
}

static void start(struct taker *taker, int64_t wanted, int waiting) {
    *taker = (struct taker){.wanted = wanted};
    pthread_create(&taker->thread, NULL, take, taker);
    for (int i = 0; i < 6000 && !is_waiting(waiting); i++) {
        poll(NULL, 0, 10);
    }
    CHECK(is_waiting(waiting));
}

static bool end(struct taker *taker) {
    pthread_join(taker->thread, NULL);
    return taker->has_it;
}

static void who_comes_first_is_served_first(void) {
    struct taker large, small;
    turn_room_init(&room, MOST);
    CHECK(turn_room_take(&room, 60, &never, &never));
    start(&large, 90, 1);
    start(&small, 10, 2); /* there would be room for it */
    turn_room_give_back(&room, 60);
    CHECK(end(&large) && end(&small));
    CHECK_INT(room.used, 100);
    turn_room_give_back(&room, 100);
    CHECK(is_waiting(0));
    turn_room_release(&room);
}

static void who_is_not_wanted_any_more_goes_and_makes_way(void) {
    struct taker large, small, last;
    turn_room_init(&room, MOST);
    CHECK(turn_room_take(&room, 60, &never, &never));
    start(&large, 90, 1);
    start(&small, 20, 2);
    start(&last, 70, 3);
    atomic_store(&large.dropped, true);
    CHECK(!end(&large) && end(&small));
    atomic_store(&last.dropped, true); /* the last of the list */
    CHECK(!end(&last));
    CHECK_INT(room.used, 80);
    start(&last, 50, 1);
    turn_room_give_back(&room, 80);
    CHECK(end(&last));
    turn_room_give_back(&room, 50);
    turn_room_release(&room);
}

static void what_is_larger_than_the_room_has_it_alone(void) {
    struct taker huge;
    turn_room_init(&room, MOST);
    CHECK(turn_room_take(&room, 1, &never, &never));
    start(&huge, 10 * MOST, 1);
    turn_room_give_back(&room, 1);
    CHECK(end(&huge));
    turn_room_add(&room, 5); /* it grows */
    CHECK_INT(room.used, 10 * MOST + 5);
    turn_room_give_back(&room, 10 * MOST + 5);
    turn_room_release(&room);
}

/* ---- many ----------------------------------------------------------------------------------- */

static atomic_llong now_used;
static atomic_bool is_over;

static void *take_often(void *context) {
    unsigned seed = *(unsigned *)context;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t wanted = 1 + rand_r(&seed) % MOST;
        if (!turn_room_take(&room, wanted, &never, &never)) {
            atomic_store(&is_over, true);
            continue;
        }
        if (atomic_fetch_add(&now_used, wanted) + wanted > MOST) {
            atomic_store(&is_over, true);
        }
        atomic_fetch_sub(&now_used, wanted);
        turn_room_give_back(&room, wanted);
    }
    return NULL;
}

static void together_they_never_have_more(void) {
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    turn_room_init(&room, MOST);
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        pthread_create(&threads[i], NULL, take_often, &seeds[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(!is_over);
    CHECK_INT(room.used, 0);
    turn_room_release(&room);
}

int main(void) {
    TEST(who_comes_first_is_served_first);
    TEST(who_is_not_wanted_any_more_goes_and_makes_way);
    TEST(what_is_larger_than_the_room_has_it_alone);
    TEST(together_they_never_have_more);
    return TEST_END();
}
