// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/vocabulary.h"

#include "agent/data/text/merges.h"
#include "tests/collisions.h"
#include "tests/test.h"

#include <stdlib.h>

enum { COUNT = 1000, ROOM_BITS = 11 /* of the tables when they hold this many */, WALK_MAX = 250 };

static uint64_t old_hash_of_tokens(uint64_t token) {
    uint64_t hash = (0x9e3779b97f4a7c15u ^ 8 ^ token) * 0xff51afd7ed558ccdu;
    hash = (hash ^ hash >> 32) * 0xc4ceb9fe1a85ec53u;
    hash ^= hash >> 29;
    return hash ^ hash >> 32;
}

static uint64_t old_hash_of_pairs(uint64_t pair) {
    uint64_t hash = pair * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static void chosen_tokens_spread_over_the_table(void) {
    struct vocabulary vocabulary = {0};
    struct error err = {0};
    uint64_t tokens[COUNT];
    choose_collisions(old_hash_of_tokens, ROOM_BITS, tokens, COUNT);
    for (int i = 0; i < COUNT; i++) {
        CHECK(vocabulary_add(&vocabulary, (const char *)&tokens[i], 8, i, &err) == 0);
    }
    CHECK_INT(vocabulary.capacity, 1 << ROOM_BITS);
    bool is_taken[1 << ROOM_BITS];
    for (size_t i = 0; i < vocabulary.capacity; i++) {
        is_taken[i] = vocabulary.entries[i].data != NULL;
    }
    CHECK(longest_walk(is_taken, vocabulary.capacity) < WALK_MAX);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(vocabulary_find(&vocabulary, (const char *)&tokens[i], 8), i);
    }
    CHECK_INT(vocabulary_find(&vocabulary, "12345678", 8), VOCABULARY_NONE);
    vocabulary_release(&vocabulary);
}

static void chosen_pairs_spread_over_the_table(void) {
    struct merges merges = {0};
    uint64_t pairs[COUNT];
    choose_collisions(old_hash_of_pairs, ROOM_BITS, pairs, COUNT);
    for (int i = 0; i < COUNT; i++) {
        merges_add(&merges, (struct merge){.pair = pairs[i], .rank = (uint32_t)i, .id = i});
    }
    CHECK_INT(merges.capacity, 1 << ROOM_BITS);
    bool is_taken[1 << ROOM_BITS];
    for (size_t i = 0; i < merges.capacity; i++) {
        is_taken[i] = merges.items[i].id != MERGES_NONE;
    }
    CHECK(longest_walk(is_taken, merges.capacity) < WALK_MAX);
    for (int i = 0; i < COUNT; i++) {
        const struct merge *merge =
            merges_find(&merges, (int32_t)(pairs[i] >> 32), (int32_t)(uint32_t)pairs[i]);
        CHECK(merge && merge->id == i);
    }
    CHECK(!merges_find(&merges, 1, 2));
    merges_release(&merges);
}

int main(void) {
    TEST(chosen_tokens_spread_over_the_table);
    TEST(chosen_pairs_spread_over_the_table);
    return TEST_END();
}
