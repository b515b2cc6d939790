// SPDX-License-Identifier: Apache-2.0
/* Training steps of small networks on devices that have separate memory, against the plain kernels:
 * loss, every gradient, the norms' statistics; in float32 to the last digits, in bfloat16 against
 * the plain kernels' own bfloat16 (agent/engine/ops/rewrite/bfloat.h). Two steps must have the same
 * bits. SOAK_SEED and SOAK_ROUNDS: other numbers, and how many draws (1). On the emulated GPU each
 * day another sixth of the networks; all, and at most EMULATED_ROUNDS draws, in a soak. */
#include "tests/conformance/emulation.h"
#include "tests/conformance/training_step.h"
#include "tests/seed.h"

#include <stdlib.h>

enum { EMULATED_ROUNDS = 2 };
static const double tolerance = 1e-4;
/* Relative to a result's length: each number may be rounded the other way, which may flip a relu;
 * in the smallest networks 0.07 occurs. */
static const double bfloat_tolerance = 0.12;

static uint32_t number_of(const char *variable, uint32_t fallback) {
    const char *text = getenv(variable);
    return text && *text ? (uint32_t)strtoul(text, NULL, 10) : fallback;
}

/* The largest distance over all results, relative to the length of the wanted one. */
static double length_apart(const struct work *work, const struct tensor *seen,
                           const struct tensor *wanted) {
    double worst = 0;
    for (size_t i = 0; i < work->graph.graph.output_count; i++) {
        double apart = 0, length = 1e-6;
        for (int64_t k = 0; k < shape_count(&wanted[i].shape); k++) {
            double a = tensor_number(&seen[i], k), b = tensor_number(&wanted[i], k);
            apart += (a - b) * (a - b);
            length += b * b;
        }
        worst = isfinite(apart) ? fmax(worst, sqrt(apart / length)) : INFINITY;
    }
    return worst;
}

static void compare(struct work *work, const struct row *row, const struct tensor *wanted,
                    const char *name) {
    struct tensor seen[RESULTS_MAX] = {0};
    if (step(work, name, 1, seen)) {
        bool is_bfloat = strstr(name, "bfloat16") != NULL;
        double apart = is_bfloat ? length_apart(work, seen, wanted) : distance(work, seen, wanted);
        if (!(apart <= (is_bfloat ? bfloat_tolerance : tolerance))) {
            printf("# %s at %dx%dx%d on %s: off by %g\n", row->name, row->n, row->h, row->w, name,
                   apart);
            test_failures++;
        }
    }
    release(seen);
}

/* In float32, draws near a kink are repeated; in bfloat16 nearly every draw is near one. */
static void check_row(const struct row *row, uint32_t seed, const char *name) {
    bool is_bfloat = strstr(name, "bfloat16") != NULL;
    for (int draw = 0; draw < DRAWS_MAX; draw++) {
        struct work work;
        struct tensor wanted[RESULTS_MAX] = {0};
        work_init(&work, row, seed + (uint32_t)draw * 1000, is_bfloat);
        set_target(&work);
        bool fits = step(&work, "reference", 2, wanted) &&
                    (is_bfloat || !is_on_edge(&work, wanted, tolerance));
        if (fits) {
            compare(&work, row, wanted, name);
        }
        release(wanted);
        work_release(&work);
        if (fits) {
            return;
        }
    }
    printf("# %s: every draw is on an edge\n", row->name);
    test_failures++;
}

static void check_all(const char *name) {
    struct error err = {0};
    struct device *device = NULL;
    uint32_t seed = number_of("SOAK_SEED", 1), rounds = number_of("SOAK_ROUNDS", 1);
    if (device_open(name, 1, &device, &err) < 0) {
        SKIP("%.200s", err.text);
    }
    device_close(device);
    rounds = is_emulated() ? MIN(rounds, EMULATED_ROUNDS) : rounds;
    printf("# %s: SOAK_SEED=%u SOAK_ROUNDS=%u\n", name, seed, rounds);
    for (uint32_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            if (test_samples(i, ARRAY_LEN(rows), is_emulated() ? 6 : 1, test_day())) {
                check_row(&rows[i], seed + round, name);
            }
        }
    }
}

static void test_cuda(void) {
    check_all("cuda");
}

static void test_cuda_bfloat16(void) {
    check_all("cuda:bfloat16");
}

int main(void) {
    TEST(test_cuda);
    TEST(test_cuda_bfloat16);
    return TEST_END();
}
