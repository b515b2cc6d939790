// SPDX-License-Identifier: Apache-2.0
/* The emulated GPU finds each fault of faults.cu, and none where it is not planted. */
#include "tests/cuda/emulated.h"
#include "tests/cuda/faults.h"
#include "tests/test.h"

#include <string.h>

/* Threads run in three orders, by turns: a fault shows in each of them. */
enum { ORDERS = 3 };

static void test_planted_faults_are_found(void) {
    CHECK(fault_count >= 20);
    for (size_t i = 0; i < fault_count; i++) {
        for (int order = 0; order < ORDERS; order++) {
            emulated_record_faults();
            faults[i].run(true);
            const char *fault = emulated_fault();
            if (!strstr(fault, faults[i].says)) {
                printf("# %s\n", faults[i].name);
                CHECK_STR(fault, faults[i].says);
            }
        }
    }
}

static void test_no_fault_is_seen_where_none_is(void) {
    for (size_t i = 0; i < fault_count; i++) {
        for (int order = 0; order < ORDERS; order++) {
            emulated_record_faults();
            faults[i].run(false);
            const char *fault = emulated_fault();
            if (*fault) {
                printf("# %s\n", faults[i].name);
                CHECK_STR(fault, "");
            }
        }
    }
}

int main(void) {
    TEST(test_planted_faults_are_found);
    TEST(test_no_fault_is_seen_where_none_is);
    return TEST_END();
}
