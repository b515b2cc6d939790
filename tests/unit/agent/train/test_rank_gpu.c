// SPDX-License-Identifier: Apache-2.0
#include "agent/train/rank_gpu.h"
#include "tests/test.h"

#include <stdlib.h>

static void test_each_rank_has_its_own(void) {
    static const struct {
        const char *visible;
        int64_t rank;
        const char *wanted; /* NULL: there is none */
    } rows[] = {{NULL, 0, "0"},
                {NULL, 7, "7"},
                {"0", 0, "0"},
                {"3,1", 0, "3"},
                {"3,1", 1, "1"},
                {"GPU-8a7b,GPU-11,MIG-2/1/0", 1, "GPU-11"},
                {"GPU-8a7b,GPU-11,MIG-2/1/0", 2, "MIG-2/1/0"},
                {"3,1", 2, NULL},
                {"", 0, NULL},
                {"3,", 1, NULL},
                {"0", 5, NULL}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        char *value = NULL;
        int result = rank_gpu_choose(rows[i].visible, rows[i].rank, &value, &err);
        CHECK_INT(result, rows[i].wanted ? 0 : -1);
        if (rows[i].wanted) {
            CHECK_STR(value, rows[i].wanted);
        } else {
            CHECK_INT(err.kind, ERROR_INVALID);
            CHECK(strstr(err.text, "has no GPU of its own") != NULL);
        }
        free(value);
    }
}

int main(void) {
    TEST(test_each_rank_has_its_own);
    return TEST_END();
}
