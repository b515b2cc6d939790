// SPDX-License-Identifier: Apache-2.0
/* Elements of every size, copied with strides. */
#include "agent/engine/device/cpu/reference/walk.h"

#include "tests/test.h"

/* A transposed copy of 3 by 2 elements. */
static void test_every_size_is_copied_whole(void) {
    static const size_t sizes[] = {1, 2, 4, 8};
    for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
        size_t size = sizes[s];
        uint8_t from[6 * 8], to[6 * 8] = {0};
        for (size_t i = 0; i < 6 * size; i++) {
            from[i] = (uint8_t)(i + 1);
        }
        struct walk walk = {.shape = {2, {2, 3}}, .operand_count = 2, .strides = {{1, 2}, {3, 1}}};
        walk_copy(&walk, size, from, to);
        for (size_t row = 0; row < 2; row++) {
            for (size_t column = 0; column < 3; column++) {
                CHECK(memcmp(to + (row * 3 + column) * size, from + (column * 2 + row) * size,
                             size) == 0);
            }
        }
    }
}

int main(void) {
    TEST(test_every_size_is_copied_whole);
    return TEST_END();
}
