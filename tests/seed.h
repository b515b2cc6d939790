/* seed.h: shared by all tests that draw: the seed, the number of rounds, the numbers. `make soak`
 * sets SOAK_SEED and SOAK_ROUNDS; a test prints the seed of its failure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* SOAK_SEED, otherwise the default. */
static inline uint64_t test_seed(uint64_t usual) {
    const char *text = getenv("SOAK_SEED");
    return text ? strtoull(text, NULL, 10) : usual;
}

/* A seed for what takes long: each day another one. */
static inline uint64_t test_day(void) {
    return (uint64_t)time(NULL) / 86400;
}

/* tests/sanitize.sh sets ROUNDS_DIVISOR: the builds without sanitizers run all of `make test`, and
 * a round there takes a fraction. */
static inline int64_t test_divisor(void) {
    const char *text = getenv("ROUNDS_DIVISOR");
    return text && !getenv("SOAK_ROUNDS") ? strtoll(text, NULL, 10) : 1;
}

/* SOAK_ROUNDS (2,000 in a soak), otherwise the number for `make test`. */
static inline int64_t test_rounds(int64_t usual) {
    const char *text = getenv("SOAK_ROUNDS");
    int64_t part = usual / test_divisor();
    return text ? strtoll(text, NULL, 10) : part ? part : usual > 0;
}

/* Of `count` cases that take long, whether this one is run: a soak and SAMPLE_SEED=all
 * (tests/mutants) run all, `make test` one of `part`, which the seed chooses; under sanitizers one
 * of ROUNDS_DIVISOR (of all at least one). */
static inline bool test_samples(uint64_t at, uint64_t count, uint64_t part, uint64_t seed) {
    const char *sample = getenv("SAMPLE_SEED");
    bool is_all = getenv("SOAK_ROUNDS") || (sample && strcmp(sample, "all") == 0);
    uint64_t usual = is_all ? 1 : part, divisor = (uint64_t)test_divisor();
    divisor = divisor < usual ? usual : divisor;
    return (at + seed) % (divisor < count ? divisor : count) == 0;
}

/* The same of cases that `make test` runs all. */
static inline bool test_takes(uint64_t at, uint64_t count) {
    return test_samples(at, count, 1, test_seed(1));
}

/* Every bit of x changes every bit of the result (splitmix64's finalizer; Steele, Lea, Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014). */
static inline uint64_t test_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* The next number of a sequence that starts with the seed as its state. */
static inline uint64_t test_random(uint64_t *state) {
    return test_mix(*state += 0x9E3779B97F4A7C15u);
}

/* [0, below) */
static inline uint64_t test_below(uint64_t *state, uint64_t below) {
    return test_random(state) % below;
}
