// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parquet/write/value_table.h"

#include "tests/collisions.h"
#include "tests/test.h"

#include <stdlib.h>

enum { COUNT = 200, ROOM_BITS = 17 };

static uint64_t old_hash(uint64_t value) {
    uint64_t hash = (0xcbf29ce484222325 ^ value) * 0x100000001b3;
    hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}

static void chosen_values_spread_over_the_table(void) {
    struct value_table table;
    uint64_t values[COUNT];
    choose_collisions(old_hash, ROOM_BITS, values, COUNT);
    value_table_init(&table);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(value_table_find(&table, &values[i], sizeof values[i]), i);
    }
    static bool is_taken[1 << ROOM_BITS];
    for (size_t i = 0; i < ARRAY_LEN(is_taken); i++) {
        is_taken[i] = table.slots[i] != 0;
    }
    CHECK(longest_walk(is_taken, ARRAY_LEN(is_taken)) < 50);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(value_table_find(&table, &values[i], sizeof values[i]), i);
    }
    value_table_release(&table);
}

int main(void) {
    TEST(chosen_values_spread_over_the_table);
    return TEST_END();
}
