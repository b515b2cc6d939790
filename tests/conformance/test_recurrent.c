// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN (device/cpu/rnn) against the plain kernel: drawn sizes, directions,
// activations and states, in every instruction set of this processor; weights are constants, or
// computed by other nodes, as in training.
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_compare.h"

#include <fnmatch.h>

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

enum { CONSTANT_SEED = 2, COMPUTED_SEED = 5 }; /* whose draws have such weights */

struct draw {
    struct network net;
    uint64_t state;
    int gates, directions, steps, batch, input, hidden;
};

static int below(struct draw *d, int limit) {
    return (int)(test_random(&d->state) % (uint64_t)limit);
}

/* A constant, or for one in three what a node makes of it in each run. */
static int constant(struct draw *d, struct shape shape, float scale) {
    int made = network_constant(&d->net, shape, scale, 0);
    if (below(d, 3)) {
        return made;
    }
    int factor = network_input(&d->net, (struct shape){1, {1}});
    return network_node(&d->net, "Mul", (int[]){made, factor, -2}, NULL);
}

static int weights(struct draw *d, int columns) {
    const struct shape shape = {3, {d->directions, d->gates * d->hidden, columns}};
    return constant(d, shape, 1.5F / sqrtf((float)columns));
}

/* The node; returns its first output. */
static int add_node(struct draw *d) {
    static const char *const ops[] = {"", "RNN", "", "GRU", "LSTM"};
    static const struct attribute_string usual[] = {WORD("Sigmoid"), WORD("Tanh"), WORD("Tanh"),
                                                    WORD("Sigmoid"), WORD("Tanh"), WORD("Tanh")};
    static const struct attribute_string others[] = {WORD("HardSigmoid"), WORD("Relu"),
                                                     WORD("Tanh"),        WORD("Sigmoid"),
                                                     WORD("Relu"),        WORD("Sigmoid")};
    const struct shape states = {3, {d->directions, d->batch, d->hidden}};
    int x = network_input(&d->net, (struct shape){3, {d->steps, d->batch, d->input}});
    int w = weights(d, d->input), r = weights(d, d->hidden);
    const struct shape biases = {2, {d->directions, 2 * d->gates * d->hidden}};
    int b = below(d, 4) ? constant(d, biases, 0.5F) : -1;
    int h = below(d, 2) ? network_input(&d->net, states) : -1;
    int c = d->gates == 4 && below(d, 2) ? network_input(&d->net, states) : -1;
    int each = d->gates == 4 ? 3 : d->gates == 3 ? 2 : 1;
    const struct attribute functions = {.name = "activations",
                                        .kind = ATTRIBUTE_STRINGS,
                                        .count = (size_t)(each * d->directions),
                                        .strings = below(d, 3) ? usual : others};
    const char *direction = d->directions == 2 ? "bidirectional"
                            : below(d, 2)      ? "reverse"
                                               : "forward";
    int inputs[] = {x, w, r, b, -1, h, c, -2};
    inputs[d->gates == 4 ? 7 : 6] = -2;
    struct attribute last = INT("linear_before_reset", below(d, 2));
    last.name = d->gates == 3 ? last.name : NULL;
    return network_node_many(&d->net, ops[d->gates], inputs,
                             ATTRIBUTES(TXT("direction", direction), functions, last),
                             d->gates == 4 ? 3 : 2);
}

static void draw_network(struct draw *d, uint64_t seed, int output) {
    static const int gates[] = {1, 3, 4}, sizes[] = {1, 3, 9, 16, 33, 64},
                     batches[] = {1, 2, 5, 31};
    *d = (struct draw){.state = seed};
    network_init(&d->net, 14);
    d->gates = gates[below(d, 3)];
    d->directions = 1 + below(d, 2);
    d->steps = 1 + below(d, 9);
    d->batch = batches[below(d, 4)];
    d->input = sizes[below(d, 6)];
    d->hidden = sizes[below(d, 6)];
    int first = add_node(d);
    network_output(&d->net, first + output % (d->gates == 4 ? 3 : 2));
}

static void check_draw(uint64_t seed, int64_t round, struct device *reference, struct device *cpu) {
    struct draw d;
    draw_network(&d, seed, (int)(round % 3));
    if (!network_same(&d.net, reference, cpu)) {
        printf("# seed %llu, output %d: the devices differ\n", (unsigned long long)seed,
               (int)(round % 3));
        test_failures++;
    }
    arena_release(&d.net.graph.arena);
}

static void test_recurrent_plain(void) {
    network_rounds(ISA_PLAIN, 120, check_draw);
}

static void test_recurrent_avx2(void) {
    network_rounds(ISA_AVX2, 120, check_draw);
}

static void test_recurrent_avx512(void) {
    network_rounds(ISA_AVX512, 120, check_draw);
}

/* A sequence whose products with W are made in several pieces, forwards and backwards. */
static void test_long_sequences(void) {
    struct draw d = {.state = 3,
                     .gates = 4,
                     .directions = 2,
                     .steps = 300,
                     .batch = 9,
                     .input = 5,
                     .hidden = 70};
    network_init(&d.net, 14);
    network_output(&d.net, add_node(&d));
    network_check(&d.net);
}

/* Without this the suite would pass even if the plain kernel ran. */
static void check_kernel(uint64_t seed, bool is_computed) {
    struct draw d;
    struct error err = {0};
    struct device *cpu = NULL;
    struct execution_plan *plan = NULL;
    struct tensor inputs[6] = {0};
    draw_network(&d, seed, 0);
    CHECK_OK(device_open("cpu", 1, &cpu, &err), &err);
    for (size_t i = 0; i < d.net.graph.input_count; i++) {
        CHECK_OK(
            tensor_init(&inputs[i], TENSOR_FLOAT32, &d.net.values[d.net.inputs[i]].shape, &err),
            &err);
    }
    CHECK_OK(execution_plan_new(cpu, &d.net.graph, inputs, &plan, &err), &err);
    size_t last = plan ? plan->schedule->step_count - 1 : 0;
    CHECK(plan && fnmatch("fast recurrent", plan->schedule->steps[last].kernel->name, 0) == 0);
    CHECK((last > 0) == is_computed);
    execution_plan_free(plan);
    for (int i = 0; i < 6; i++) {
        tensor_release(&inputs[i]);
    }
    device_close(cpu);
    arena_release(&d.net.graph.arena);
}

static void test_the_fast_kernel_runs(void) {
    check_kernel(CONSTANT_SEED, false);
    check_kernel(COMPUTED_SEED, true);
}

int main(void) {
    TEST(test_recurrent_plain);
    TEST(test_recurrent_avx2);
    TEST(test_recurrent_avx512);
    TEST(test_long_sequences);
    TEST(test_the_fast_kernel_runs);
    return TEST_END();
}
