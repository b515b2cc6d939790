// SPDX-License-Identifier: Apache-2.0
#include "lib/fair_queue.h"

#include "tests/test.h"

#include <stdio.h>

static void one_name_gets_a_quarter(void) {
    struct fair_queue *queue = fair_queue_new(256);
    int count = 0;
    for (; fair_queue_has_room(queue, "a") && count < 1000; count++) {
        fair_queue_begin(queue, "a");
    }
    CHECK_INT(count, 64);
    fair_queue_end(queue, "a");
    CHECK(fair_queue_has_room(queue, "a"));
    fair_queue_free(queue);
}

/* Whatever hangs elsewhere, the next name gets a place. */
static void there_is_room_beside_a_dozen_full_ones(void) {
    struct fair_queue *queue = fair_queue_new(256);
    char name[16];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "n%d", i);
        CHECK(fair_queue_has_room(queue, name));
        while (fair_queue_has_room(queue, name)) {
            fair_queue_begin(queue, name);
        }
    }
    fair_queue_free(queue);
}

static void who_waits_is_taken_in_turn(void) {
    struct fair_queue *queue = fair_queue_new(256);
    static const struct {
        const char *name, *item;
    } pushed[] = {{"a", "a1"}, {"a", "a2"}, {"a", "a3"}, {"b", "b1"}, {"c", "c1"}, {"b", "b2"}};
    static const char *const wanted[] = {"a1", "b1", "c1", "a2", "b2", "a3"};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < ARRAY_LEN(pushed); i++) {
            fair_queue_push(queue, pushed[i].name, (void *)pushed[i].item);
        }
        CHECK_INT(fair_queue_size(queue), 6);
        for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
            CHECK(fair_queue_is_ready(queue));
            CHECK_STR(fair_queue_take(queue), wanted[i]);
        }
        CHECK(!fair_queue_is_ready(queue) && !fair_queue_take(queue));
    }
    fair_queue_free(queue);
}

static void who_has_no_room_waits_alone(void) {
    char items[][5] = {"a1", "b1", "left"};
    struct fair_queue *queue = fair_queue_new(8);
    fair_queue_begin(queue, "a");
    fair_queue_begin(queue, "a"); /* 3 * 2 >= 8 - 2 */
    fair_queue_push(queue, "a", items[0]);
    CHECK(!fair_queue_is_ready(queue) && !fair_queue_take(queue));
    fair_queue_push(queue, "b", items[1]);
    CHECK_STR(fair_queue_take(queue), "b1");
    CHECK(!fair_queue_take(queue));
    fair_queue_end(queue, "a");
    CHECK_STR(fair_queue_take(queue), "a1");
    fair_queue_push(queue, "a", items[2]); /* freed with them */
    fair_queue_free(queue);
}

int main(void) {
    TEST(one_name_gets_a_quarter);
    TEST(there_is_room_beside_a_dozen_full_ones);
    TEST(who_waits_is_taken_in_turn);
    TEST(who_has_no_room_waits_alone);
    return TEST_END();
}
