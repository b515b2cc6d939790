// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/parallel.h"

#include "tests/test.h"

enum { UNITS = 100 };

struct seen {
    int calls[UNITS];
    float tiny[UNITS];
};

static volatile float small = 1e-30F;

static void body(void *context, int index, int lane) {
    struct seen *seen = context;
    seen->calls[index]++;
    seen->tiny[index] = small * 1e-10F;
    CHECK(lane >= 0 && lane < 3);
}

/* Each unit runs once; tiny numbers are 0 in units, and what they were behind them. */
static void test_units_run_once(void) {
    struct error err = {0};
    struct threads *threads = NULL;
    CHECK_OK(threads_new(3, &threads, &err), &err);
    for (int round = 0; round < 50; round++) {
        struct seen seen = {{0}, {0}};
        parallel_for(round % 2 ? threads : NULL, UNITS, body, &seen);
        for (int i = 0; i < UNITS; i++) {
            CHECK_INT(seen.calls[i], 1);
#if defined __x86_64__
            CHECK(seen.tiny[i] == 0);
#endif
        }
        CHECK(small * 1e-10F > 0);
    }
    threads_free(threads);
}

int main(void) {
    TEST(test_units_run_once);
    return TEST_END();
}
