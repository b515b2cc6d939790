/* draws.h: numbers from a seed, for tests of gradients. */
#pragma once

#include "lib/base.h"
#include "tests/seed.h"

#include <stdint.h>
#include <stdlib.h>

/* SMOOTH: -1 to 1. OVER_ONE: 1.5 to 2.5. SPACED: at least 0.1 apart, and 0.05 away from all
 * multiples of 0.1, so that no small step crosses a kink: made of `spaced`, which shuffle gives.
 * HALF: -0.5 to 0.5. */
enum draw { SMOOTH, SPACED, OVER_ONE, HALF };

static inline float uniform(uint64_t *state) { /* -1 to 1 */
    return (float)((double)(test_random(state) >> 11) * 0x1p-52 - 1);
}

static inline void fill(float *data, int64_t count, enum draw draw, int64_t *spaced,
                        uint64_t *state) {
    for (int64_t i = 0; i < count; i++) {
        float value = uniform(state);
        switch (draw) {
        case SPACED:
            data[i] = (float)spaced[i] * 0.1f + 0.05f;
            break;
        case OVER_ONE:
            data[i] = 2 + value / 2;
            break;
        case HALF:
            data[i] = value / 2;
            break;
        default:
            data[i] = value;
        }
    }
}

/* The integers around 0, shuffled. */
static inline int64_t *shuffle(int64_t count, uint64_t *state) {
    int64_t *numbers = x_calloc((size_t)count + 1, sizeof *numbers);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = (int64_t)(test_random(state) % (uint64_t)(i + 1));
        numbers[i] = numbers[at];
        numbers[at] = i - count / 2;
    }
    return numbers;
}

/* A variable of the environment, like SOAK_SEED. */
static inline uint64_t draws_number(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : fallback;
}
