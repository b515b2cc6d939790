/* made_up.h: numbers by a seed, for the tests of the report: any below, plausible times. */
#pragma once

#include "lib/base.h"
#include "tests/seed.h"

#include <math.h>
#include <stdint.h>

static uint64_t seed_now = 1;

static int64_t any(int64_t below) {
    return (int64_t)test_below(&seed_now, (uint64_t)below);
}

/* A plausible time: most near the mean, some much longer. */
static int64_t some_ms(int64_t mean_ms) {
    double u = ((double)any(1000000) + 1) / 1000001, v = ((double)any(1000000) + 1) / 1000001;
    double normal = sqrt(-2 * log(u)) * cos(2 * M_PI * v);
    return (int64_t)((double)mean_ms * exp(0.35 * normal) * (any(500) == 0 ? 4 : 1));
}
