/* network_compare.h: networks on the device "cpu", in each instruction set, against "reference". */
#pragma once

#include "agent/engine/device/cpu/isa.h"
#include "tests/conformance/network_run.h"
#include "tests/seed.h"
#include "tests/test.h"

/* Numbers within 2e-5 of the largest; infinities and NaN are the same ones. */
static inline bool network_agrees(const struct tensor *seen, const struct tensor *wanted) {
    double largest = 1, worst = 0;
    for (int64_t i = 0; i < shape_count(&wanted->shape); i++) {
        double a = tensor_number(seen, i), b = tensor_number(wanted, i);
        largest = isfinite(b) ? fmax(largest, fabs(b)) : largest;
        bool same = isnan(b) ? isnan(a) : a == b;
        worst = same ? worst : isfinite(a) && isfinite(b) ? fmax(worst, fabs(a - b)) : INFINITY;
    }
    return seen->type == wanted->type && shape_equal(&seen->shape, &wanted->shape) &&
           worst <= 2e-5 * largest;
}

/* Whether output 0 of the network is the same on both devices. */
static inline bool network_same(struct network *net, struct device *reference, struct device *cpu) {
    struct error err = {0};
    struct tensor wanted = {0}, seen = {0};
    CHECK_OK(network_run(net, reference, 1, &wanted, &err), &err);
    CHECK_OK(network_run(net, cpu, 1, &seen, &err), &err);
    bool same = wanted.data && seen.data && network_agrees(&seen, &wanted);
    tensor_release(&wanted);
    tensor_release(&seen);
    return same;
}

/* The same on devices of its own, with 2 threads. The network's arena is released. */
static inline void network_check(struct network *net) {
    struct error err = {0};
    struct device *reference = NULL, *cpu = NULL;
    CHECK_OK(device_open("reference", 2, &reference, &err), &err);
    CHECK_OK(device_open("cpu", 2, &cpu, &err), &err);
    CHECK(network_same(net, reference, cpu));
    device_close(cpu);
    device_close(reference);
    arena_release(&net->graph.arena);
}

/* Some rounds in one instruction set, by turns with 1 and 3 threads. check: draws the network of a
 * seed and compares. */
static inline void network_rounds(enum isa isa, int64_t rounds,
                                  void (*check)(uint64_t seed, int64_t round,
                                                struct device *reference, struct device *cpu)) {
    if (!isa_runs_here(isa)) {
        SKIP("this processor has no %s", isa_name(isa));
    }
    setenv("WINDLASS_CPU_ISA", isa_name(isa), 1);
    struct error err = {0};
    struct device *reference = NULL, *cpu = NULL;
    CHECK_OK(device_open("reference", 1, &reference, &err), &err);
    for (int64_t round = 0; round < test_rounds(rounds); round++) {
        /* A new one: it keeps what it has made of constants by their addresses. */
        CHECK_OK(device_open("cpu", round % 2 ? 3 : 1, &cpu, &err), &err);
        check(test_mix(test_seed(20261128) + (uint64_t)round), round, reference, cpu);
        device_close(cpu);
    }
    device_close(reference);
    unsetenv("WINDLASS_CPU_ISA");
}
