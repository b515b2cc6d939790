// SPDX-License-Identifier: Apache-2.0
#include "lib/lanes.h"

#include "tests/test.h"

#include <stdio.h>

static void one_name_gets_a_quarter(void) {
    struct lanes *lanes = lanes_new(256);
    int count = 0;
    for (; lanes_has_room(lanes, "a") && count < 1000; count++) {
        lanes_begin(lanes, "a");
    }
    CHECK_INT(count, 64);
    lanes_end(lanes, "a");
    CHECK(lanes_has_room(lanes, "a"));
    lanes_free(lanes);
}

/* Whatever hangs elsewhere, the next name has room. */
static void there_is_room_beside_a_dozen_full_ones(void) {
    struct lanes *lanes = lanes_new(256);
    char name[16];
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "n%d", i);
        CHECK(lanes_has_room(lanes, name));
        while (lanes_has_room(lanes, name)) {
            lanes_begin(lanes, name);
        }
    }
    lanes_free(lanes);
}

static void who_waits_is_taken_in_turn(void) {
    struct lanes *lanes = lanes_new(256);
    static const struct {
        const char *name, *item;
    } pushed[] = {{"a", "a1"}, {"a", "a2"}, {"a", "a3"}, {"b", "b1"}, {"c", "c1"}, {"b", "b2"}};
    static const char *const wanted[] = {"a1", "b1", "c1", "a2", "b2", "a3"};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < ARRAY_LEN(pushed); i++) {
            lanes_push(lanes, pushed[i].name, (void *)pushed[i].item);
        }
        CHECK_INT(lanes_waiting(lanes), 6);
        for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
            CHECK(lanes_is_ready(lanes));
            CHECK_STR(lanes_take(lanes), wanted[i]);
        }
        CHECK(!lanes_is_ready(lanes) && !lanes_take(lanes));
    }
    lanes_free(lanes);
}

static void who_has_no_room_waits_alone(void) {
    char items[][5] = {"a1", "b1", "left"};
    struct lanes *lanes = lanes_new(8);
    lanes_begin(lanes, "a");
    lanes_begin(lanes, "a"); /* 3 * 2 >= 8 - 2 */
    lanes_push(lanes, "a", items[0]);
    CHECK(!lanes_is_ready(lanes) && !lanes_take(lanes));
    lanes_push(lanes, "b", items[1]);
    CHECK_STR(lanes_take(lanes), "b1");
    CHECK(!lanes_take(lanes));
    lanes_end(lanes, "a");
    CHECK_STR(lanes_take(lanes), "a1");
    lanes_push(lanes, "a", items[2]); /* freed with them */
    lanes_free(lanes);
}

int main(void) {
    TEST(one_name_gets_a_quarter);
    TEST(there_is_room_beside_a_dozen_full_ones);
    TEST(who_waits_is_taken_in_turn);
    TEST(who_has_no_room_waits_alone);
    return TEST_END();
}
