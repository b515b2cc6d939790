// SPDX-License-Identifier: Apache-2.0
#include "agent/device/cpu/threads.h"

#include "tests/test.h"

#include <stdlib.h>

enum { ITEMS = 10007 };

static void mark(void *context, int64_t first, int64_t last) {
    int *marks = context;
    for (int64_t i = first; i < last; i++) {
        marks[i]++;
    }
}

static void test_every_item_is_worked_on_once(void) {
    struct error err = {0};
    int *marks = x_calloc(ITEMS, sizeof *marks);
    for (int count = 1; count <= 5; count++) {
        struct threads *threads = NULL;
        CHECK_OK(threads_new(count, &threads, &err), &err);
        CHECK_INT(threads_count(threads), count);
        for (int round = 0; round < 200; round++) {
            memset(marks, 0, ITEMS * sizeof *marks);
            threads_run(threads, ITEMS, 1 + round % 7, mark, marks);
            int wrong = 0;
            for (int i = 0; i < ITEMS; i++) {
                wrong += marks[i] != 1;
            }
            CHECK_INT(wrong, 0);
        }
        threads_run(threads, 0, 1, mark, marks);
        threads_free(threads);
    }
    free(marks);
}

static void test_count_comes_from_the_environment(void) {
    struct error err = {0};
    struct threads *threads = NULL;
    setenv("WINDLASS_THREADS", "3", 1);
    CHECK_OK(threads_new(0, &threads, &err), &err);
    CHECK_INT(threads_count(threads), 3);
    threads_free(threads);
    setenv("WINDLASS_THREADS", "many", 1);
    CHECK_INT(threads_new(0, &threads, &err), -1);
    CHECK_STR(err.text, "WINDLASS_THREADS is \"many\", a number from 1 to 256 is expected");
    unsetenv("WINDLASS_THREADS");
}

int main(void) {
    TEST(test_every_item_is_worked_on_once);
    TEST(test_count_comes_from_the_environment);
    return TEST_END();
}
