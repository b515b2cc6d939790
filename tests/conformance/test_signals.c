// SPDX-License-Identifier: Apache-2.0
// Networks over signals, [n, c, l]: as the session runs them, with images of height 1
// (ops/rewrite/lift.c) and fast kernels, against the plain kernels of the graph as it is.
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_compare.h"

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

struct draw {
    struct network net;
    uint64_t state;
    int64_t batch, channels;
    int before; /* a signal that is as long as the present one; -1: none */
};

static int below(struct draw *d, int limit) {
    return (int)(test_random(&d->state) % (uint64_t)limit);
}

static int constant(struct draw *d, int64_t a, int64_t b, int64_t c) {
    return network_constant(&d->net, (struct shape){3, {a, b, c}}, 0.4F, 0);
}

static int conv(struct draw *d, int x) {
    int64_t groups = below(d, 3) == 0 ? d->channels : 1, size = 1 + below(d, 4);
    int64_t to = groups > 1 ? groups : 1 + below(d, 40), stride = 1 + below(d, 2);
    int64_t dilation = 1 + below(d, 2), pad = size * dilation;
    int w = constant(d, to, d->channels / groups, size);
    int bias = network_constant(&d->net, (struct shape){1, {to}}, 1, 0);
    d->channels = to;
    d->before = -1;
    return network_node(&d->net, "Conv", (int[]){x, w, below(d, 2) ? bias : -1, -2},
                        ATTRIBUTES(INTS("kernel_shape", size), INTS("strides", stride),
                                   INTS("dilations", dilation), INTS("pads", pad - 1, pad),
                                   INT("group", groups)));
}

static int conv_transpose(struct draw *d, int x) {
    int64_t to = 1 + below(d, 20), size = 2 + below(d, 3);
    int w = constant(d, d->channels, to, size);
    d->channels = to;
    d->before = -1;
    return network_node(
        &d->net, "ConvTranspose", (int[]){x, w, -2},
        ATTRIBUTES(INTS("strides", 2), INTS("pads", 1, 0), INTS("output_padding", below(d, 2))));
}

static int pool(struct draw *d, int x) {
    bool is_average = below(d, 2);
    struct attribute last = INT("count_include_pad", below(d, 2));
    last.name = is_average ? last.name : NULL;
    d->before = -1;
    return network_node(&d->net, is_average ? "AveragePool" : "MaxPool", (int[]){x, -2},
                        ATTRIBUTES(INTS("kernel_shape", 3), INTS("strides", 1 + below(d, 2)),
                                   INTS("pads", below(d, 2), below(d, 3)), last));
}

static int norm(struct draw *d, int x) {
    int inputs[] = {x, -2, -2, -2, -2, -2};
    for (int i = 0; i < 4; i++) {
        inputs[i + 1] = network_constant(&d->net, (struct shape){1, {d->channels}}, 0.5F, 1);
    }
    return network_node(&d->net, "BatchNormalization", inputs, NULL);
}

static int plain(struct draw *d, int x) {
    static const char *const names[] = {"Relu", "Sigmoid", "Tanh", "HardSwish", "Identity"};
    return network_node(&d->net, names[below(d, 5)], (int[]){x, -2}, NULL);
}

/* Beside a number, or one for each channel, with two or three dimensions. */
static int beside(struct draw *d, int x) {
    static const char *const names[] = {"Add", "Mul", "Sub", "PRelu"};
    const struct shape shapes[] = {{0, {0}}, {2, {d->channels, 1}}, {3, {1, d->channels, 1}}};
    int other = network_constant(&d->net, shapes[below(d, 3)], 0.5F, 1);
    int kind = below(d, 4), is_swapped = kind < 3 && below(d, 2);
    return network_node(&d->net, names[kind],
                        is_swapped ? (int[]){other, x, -2} : (int[]){x, other, -2}, NULL);
}

static int residual(struct draw *d, int x) {
    return d->before < 0 ? plain(d, x)
                         : network_node(&d->net, below(d, 2) ? "Add" : "Mul",
                                        (int[]){x, d->before, -2}, NULL);
}

static int joined(struct draw *d, int x) {
    int y = plain(d, x);
    d->before = -1;
    d->channels *= 2;
    return network_node(&d->net, "Concat", (int[]){x, y, -2}, ATTRIBUTES(INT("axis", 1)));
}

/* An operator that is not lifted. */
static int other(struct draw *d, int x) {
    x = network_node(&d->net, "Transpose", (int[]){x, -2}, ATTRIBUTES(INTS("perm", 0, 2, 1)));
    return network_node(&d->net, "Transpose", (int[]){x, -2}, ATTRIBUTES(INTS("perm", 0, 2, 1)));
}

static void draw_network(struct draw *d) {
    static int (*const kinds[])(struct draw * d, int x) = {
        conv, conv, conv_transpose, pool, norm, plain, beside, residual, joined, other};
    network_init(&d->net, 14);
    d->batch = 1 + below(d, 3);
    d->channels = 1 + below(d, 30);
    d->before = -1;
    int x = network_input(&d->net, (struct shape){3, {d->batch, d->channels, 5 + below(d, 60)}});
    x = conv(d, x);
    for (int i = below(d, 6); i >= 0 && d->channels < 80; i--) {
        int y = kinds[below(d, ARRAY_LEN(kinds))](d, x);
        d->before = below(d, 2) ? y : d->before;
        x = y;
    }
    if (below(d, 4) == 0) {
        x = network_node(&d->net, "GlobalAveragePool", (int[]){x, -2}, NULL);
    }
    network_output(&d->net, x);
}

static void check_draw(uint64_t seed, int64_t round UNUSED, struct device *reference,
                       struct device *cpu) {
    struct draw d = {.state = seed};
    struct error err = {0};
    struct tensor wanted = {0}, seen = {0};
    draw_network(&d);
    CHECK_OK(network_run_graph(&d.net, &d.net.graph, reference, 1, &wanted, &err), &err);
    CHECK_OK(network_run(&d.net, cpu, 1, &seen, &err), &err);
    if (wanted.data && seen.data && !network_agrees(&seen, &wanted)) {
        printf("# seed %llu\n", (unsigned long long)seed);
        test_failures++;
    }
    tensor_release(&wanted);
    tensor_release(&seen);
    arena_release(&d.net.graph.arena);
}

static void test_signals_plain(void) {
    network_rounds(ISA_PLAIN, 60, check_draw);
}

static void test_signals_avx2(void) {
    network_rounds(ISA_AVX2, 60, check_draw);
}

static void test_signals_avx512(void) {
    network_rounds(ISA_AVX512, 60, check_draw);
}

/* A convolution, a norm and a relu are one step, as those of images. */
static void test_they_are_fused(void) {
    struct draw d = {.state = 1, .channels = 16};
    struct device *cpu = NULL;
    struct execution_plan *plan = NULL;
    struct tensor inputs[1] = {0};
    struct graph graph = {0};
    struct error err = {0};
    network_init(&d.net, 14);
    const struct shape shape = {3, {1, 16, 40}};
    int x = network_input(&d.net, shape);
    x = network_node(&d.net, "Conv", (int[]){x, constant(&d, 16, 16, 3), -2}, NULL);
    x = network_node(&d.net, "Relu", (int[]){norm(&d, x), -2}, NULL);
    network_output(&d.net, x);
    CHECK_OK(device_open("cpu", 1, &cpu, &err), &err);
    CHECK_OK(rewrite_graph(&d.net.graph, &graph, &err), &err);
    CHECK_OK(tensor_init(&inputs[0], TENSOR_FLOAT32, &shape, &err), &err);
    CHECK_OK(execution_plan_new(cpu, &graph, inputs, &plan, &err), &err);
    int steps = 0;
    for (size_t i = 0; plan && i < plan->schedule->step_count; i++) {
        const struct step *step = &plan->schedule->steps[i];
        steps += step->node && !(step->node->op->flags & OP_VIEW);
    }
    CHECK_INT(steps, 1);
    execution_plan_free(plan);
    graph_release(&graph);
    tensor_release(&inputs[0]);
    device_close(cpu);
    arena_release(&d.net.graph.arena);
}

int main(void) {
    TEST(test_signals_plain);
    TEST(test_signals_avx2);
    TEST(test_signals_avx512);
    TEST(test_they_are_fused);
    return TEST_END();
}
