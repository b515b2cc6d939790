// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/vector.h"

#include <math.h>

#include "tests/test.h"

static float numbers[2003], seen[2003];

static void check_function(const char *name, const struct vector_ops *ops, bool is_tanh) {
    for (int i = 0; i < 2000; i++) {
        numbers[i] = (float)(i - 1000) * (i % 2 ? 0.1F : 0.001F);
    }
    numbers[2000] = INFINITY;
    numbers[2001] = -INFINITY;
    numbers[2002] = NAN;
    (is_tanh ? ops->tanh : ops->sigmoid)(seen, numbers, 2003);
    double worst = 0;
    for (int i = 0; i < 2002; i++) {
        double x = (double)numbers[i], wanted = is_tanh ? tanh(x) : 1 / (1 + exp(-x));
        // Below 1e-37 a float has no precision left.
        double off = fabs((double)seen[i] - wanted) / fmax(fabs(wanted), 1e-30);
        worst = isfinite(seen[i]) ? fmax(worst, off) : INFINITY;
    }
    if (!(worst < 2e-6)) {
        printf("# %s, %s: off by %g\n", name, isa_name(ops->isa), worst);
        test_failures++;
    }
    CHECK(isnan(seen[2002]));
}

static void test_functions(void) {
    for (enum isa isa = ISA_PLAIN; isa < ISA_COUNT; isa++) {
        if (isa_runs_here(isa)) {
            check_function("tanh", vector_ops_get(isa), true);
            check_function("sigmoid", vector_ops_get(isa), false);
        }
    }
}

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
    TEST(test_functions);
    TEST(test_multiply_adds_are_as_many_as_said);
    return TEST_END();
}
