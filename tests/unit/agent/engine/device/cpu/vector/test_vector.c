// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/vector/vector.h"

#include <math.h>

#include "tests/test.h"

// x = x / 2 + 1 converges to 2 in every lane of every sum: all of them were really computed.
static void test_multiply_adds_are_as_many_as_said(void) {
    for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
        if (isa_runs_here(isa)) {
            const struct vector_ops *ops = vector_ops_get(isa);
            double wanted = 2.0 * ops->sums * ops->block;
            CHECK(fabs((double)ops->multiply_adds(100) - wanted) < 1e-3 * wanted);
        }
    }
}

int main(void) {
    TEST(test_multiply_adds_are_as_many_as_said);
    return TEST_END();
}
