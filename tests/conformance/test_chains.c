// SPDX-License-Identifier: Apache-2.0
// Chains of elementwise nodes, broadcasts and rows (device/cpu/chain) against the plain kernels:
// random networks, in every instruction set of this processor; and how many steps real forms
// become.
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_compare.h"

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

enum { POOL = 40, NODES = 14 };

struct draw {
    struct network net;
    uint64_t state;
    struct shape domain;
    struct {
        int value;
        struct shape shape;
        bool is_bool, is_exact; /* exact: the same on each device, so it may be compared */
    } pool[POOL];
    int count;
    int reduced; /* a reduction without its dimensions; 0: none */
};

static int below(struct draw *d, int limit) {
    return (int)(test_random(&d->state) % (uint64_t)limit);
}

static void put(struct draw *d, int value, struct shape shape, bool is_bool, bool is_exact) {
    if (d->count < POOL) {
        d->pool[d->count].value = value;
        d->pool[d->count].shape = shape;
        d->pool[d->count].is_bool = is_bool;
        d->pool[d->count++].is_exact = is_exact;
    }
}

static int pick(struct draw *d, bool is_bool, bool is_exact) {
    for (int i = 0; i < 50; i++) {
        int at = i < 25 ? d->count - 1 - below(d, MIN(d->count, 4)) : below(d, d->count);
        if (d->pool[at].is_bool == is_bool && (!is_exact || d->pool[at].is_exact)) {
            return at;
        }
    }
    return is_bool ? -1 : 0;
}

static struct shape common(struct shape a, struct shape b) {
    struct shape y = a.rank > b.rank ? a : b;
    for (int i = 0; i < y.rank; i++) {
        int64_t x = a.rank > i ? a.dims[a.rank - 1 - i] : 1;
        int64_t z = b.rank > i ? b.dims[b.rank - 1 - i] : 1;
        y.dims[y.rank - 1 - i] = MAX(x, z);
    }
    return y;
}

static int node(struct draw *d, const char *op, int a, int b) {
    return network_node(&d->net, op, b < 0 ? (int[]){a, -2} : (int[]){a, b, -2}, NULL);
}

/* Numbers from 1 on, so that quotients and logarithms are tame. */
static int positive(struct draw *d, int value) {
    return node(d, "Add", node(d, "Abs", value, -1),
                network_constant(&d->net, (struct shape){0, {0}}, 0, 1));
}

static void add_unary(struct draw *d) {
    static const char *const names[] = {"Relu", "Sigmoid",  "Tanh",      "Abs",         "Neg",
                                        "Erf",  "Softplus", "HardSwish", "Elu",         "Celu",
                                        "Selu", "Sin",      "LeakyRelu", "HardSigmoid", "Softsign"};
    int at = pick(d, false, false);
    int value = node(d, names[below(d, ARRAY_LEN(names))], d->pool[at].value, -1);
    put(d, value, d->pool[at].shape, false, false);
}

static void add_binary(struct draw *d) {
    static const char *const names[] = {"Add", "Sub", "Mul", "Max", "Min", "Div", "Add", "Mul"};
    int which = below(d, ARRAY_LEN(names)), a = pick(d, false, false), b = pick(d, false, false);
    int right = d->pool[b].value;
    right = strcmp(names[which], "Div") == 0 ? positive(d, right) : right;
    /* Kept small, or products of products would overflow. */
    int left =
        strcmp(names[which], "Mul") == 0 ? node(d, "Tanh", d->pool[a].value, -1) : d->pool[a].value;
    put(d, node(d, names[which], left, right), common(d->pool[a].shape, d->pool[b].shape), false,
        false);
}

static void add_root(struct draw *d) {
    int at = pick(d, false, false), value = positive(d, d->pool[at].value);
    value = below(d, 2) ? node(d, "Sqrt", value, -1) : node(d, "Log", value, -1);
    put(d, value, d->pool[at].shape, false, false);
}

static void add_condition(struct draw *d) {
    static const char *const names[] = {"Less", "Greater", "Equal", "GreaterOrEqual"};
    int a = pick(d, false, true), b = pick(d, false, true);
    put(d, node(d, names[below(d, 4)], d->pool[a].value, d->pool[b].value),
        common(d->pool[a].shape, d->pool[b].shape), true, true);
}

static void add_where(struct draw *d) {
    int condition = pick(d, true, false), a = pick(d, false, false), b = pick(d, false, false);
    if (condition >= 0) {
        int inputs[] = {d->pool[condition].value, d->pool[a].value, d->pool[b].value, -2};
        put(d, network_node(&d->net, "Where", inputs, NULL),
            common(d->pool[condition].shape, common(d->pool[a].shape, d->pool[b].shape)), false,
            false);
    }
}

static void add_logic(struct draw *d) {
    int a = pick(d, true, false), b = pick(d, true, false);
    if (a >= 0 && b >= 0) {
        put(d, node(d, below(d, 2) ? "And" : "Or", d->pool[a].value, d->pool[b].value),
            common(d->pool[a].shape, d->pool[b].shape), true, true);
    }
}

static void add_reduction(struct draw *d) {
    static const char *const names[] = {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"};
    int at = pick(d, false, false), rank = d->pool[at].shape.rank;
    struct shape shape = d->pool[at].shape;
    if (rank > 0) {
        int dims = 1 + (rank > 1 && below(d, 4) == 0);
        bool keeps = below(d, 4) != 0;
        shape.dims[rank - 1] = 1;
        shape.dims[MAX(rank - dims, 0)] = 1;
        int64_t axes[2] = {-1, -dims};
        const struct attribute list = {
            .name = "axes", .kind = ATTRIBUTE_INTEGERS, .count = (size_t)dims, .integers = axes};
        int value = network_node(&d->net, names[below(d, 4)], (int[]){d->pool[at].value, -2},
                                 ATTRIBUTES(list, INT("keepdims", keeps)));
        if (keeps) {
            put(d, value, shape, false, false);
        } else { /* of another rank, which fits nothing else */
            d->reduced = value;
        }
    }
}

static void add_rows(struct draw *d) {
    int at = pick(d, false, false);
    const struct shape *shape = &d->pool[at].shape;
    if (shape->rank > 0) {
        int value = network_node(&d->net, below(d, 3) ? "Softmax" : "LogSoftmax",
                                 (int[]){d->pool[at].value, -2}, ATTRIBUTES(INT("axis", -1)));
        put(d, value, *shape, false, false);
    }
}

/* A pool as operators and as a reduction. */
static void add_pool(struct draw *d) {
    static const char *const names[] = {"GlobalAveragePool", "GlobalMaxPool"};
    int at = pick(d, false, false);
    struct shape shape = d->pool[at].shape;
    if (shape.rank == 4) {
        shape.dims[2] = shape.dims[3] = 1;
        int input = d->pool[at].value;
        int value = below(d, 2) ? node(d, names[below(d, 2)], input, -1)
                                : network_node(&d->net, "ReduceMean", (int[]){input, -2},
                                               ATTRIBUTES(INTS("axes", 2, 3)));
        put(d, value, shape, false, false);
    }
}

/* Operators with numbers of their own. */
static void add_with_numbers(struct draw *d) {
    int at = pick(d, false, false), x = d->pool[at].value, y = 0;
    int number = network_constant(&d->net, (struct shape){0, {0}}, 0, (float)(1 + below(d, 3)));
    int low = network_constant(&d->net, (struct shape){0, {0}}, 0, -0.5F);
    switch (below(d, 4)) {
    case 0:
        y = node(d, "Pow", positive(d, x), number);
        y = node(d, "Tanh", y, -1);
        break;
    case 1:
        y = network_node(&d->net, "Clip", (int[]){x, low, number, -2}, NULL);
        break;
    case 2:
        y = node(d, "PRelu", x, low);
        break;
    default:
        y = node(d, "Reciprocal", positive(d, x), -1);
    }
    put(d, y, d->pool[at].shape, false, false);
}

static void add_cast(struct draw *d) {
    int at = pick(d, true, false);
    if (at >= 0) {
        int y = node(d, "Not", d->pool[at].value, -1);
        y = network_node(&d->net, "Cast", (int[]){y, -2}, ATTRIBUTES(INT("to", 1)));
        put(d, y, d->pool[at].shape, false, true);
    }
}

static void add_norm(struct draw *d) {
    int at = pick(d, false, true); // of nearly equal values a norm magnifies their rounding
    const struct shape *shape = &d->pool[at].shape;
    if (shape->rank > 2 && shape_equal(shape, &d->domain)) {
        const struct shape channels = {1, {shape->dims[1]}};
        int scale = network_constant(&d->net, channels, 0.5F, 1);
        int shift = network_constant(&d->net, channels, 0.5F, 0);
        int inputs[] = {d->pool[at].value, scale, shift, -2, -2, -2};
        bool is_batch = below(d, 2);
        if (is_batch) {
            inputs[3] = network_constant(&d->net, channels, 0.2F, 0);
            inputs[4] = network_constant(&d->net, channels, 0.4F, 1);
        }
        put(d,
            network_node(&d->net, is_batch ? "BatchNormalization" : "InstanceNormalization", inputs,
                         NULL),
            *shape, false, false);
    }
}

/* A convolution, whose result may be blocked. */
static void add_conv(struct draw *d) {
    int at = pick(d, false, false);
    const struct shape *shape = &d->pool[at].shape;
    if (shape->rank == 4 && shape_equal(shape, &d->domain)) {
        int64_t channels = shape->dims[1];
        int w = network_constant(&d->net, (struct shape){4, {channels, channels, 1, 1}},
                                 1 / sqrtf((float)channels), 0);
        put(d, node(d, "Conv", d->pool[at].value, w), *shape, false, false);
    }
}

static void add_input(struct draw *d) {
    struct shape shape = d->domain;
    for (int i = 0; i < shape.rank && d->count > 1; i++) {
        shape.dims[i] = below(d, 3) == 0 ? 1 : shape.dims[i];
    }
    int cut = d->count > 1 && shape.rank > 1 && below(d, 4) == 0;
    for (int i = 0; i < shape.rank - 1 && cut; i++) {
        shape.dims[i] = shape.dims[i + 1];
    }
    shape.rank -= cut;
    bool is_constant = d->count > 1 && below(d, 2);
    int value =
        is_constant ? network_constant(&d->net, shape, 1, 0) : network_input(&d->net, shape);
    put(d, value, shape, false, true);
}

static void draw_network(struct draw *d, uint64_t seed) {
    static void (*const adds[])(struct draw *) = {
        add_unary, add_binary, add_binary,       add_root,      add_condition,
        add_where, add_logic,  add_rows,         add_reduction, add_conv,
        add_unary, add_pool,   add_with_numbers, add_cast,      add_norm};
    static const struct shape domains[] = {
        {4, {2, 19, 5, 7}},  {4, {1, 32, 6, 6}}, {3, {2, 50, 24}}, {3, {3, 4, 129}}, {2, {70, 1}},
        {4, {2, 3, 17, 64}}, {1, {5000}},        {2, {3, 3000}},   {3, {1, 1, 5}},   {0, {0}}};
    *d = (struct draw){.state = seed};
    network_init(&d->net, 14);
    d->domain = domains[below(d, ARRAY_LEN(domains))];
    for (int i = 0; i < 4; i++) {
        add_input(d);
    }
    for (int i = 0; i < NODES && d->net.graph.node_count + 4 < NETWORK_NODES; i++) {
        adds[below(d, ARRAY_LEN(adds))](d);
    }
}

static void check_draw(uint64_t seed, int64_t round, struct device *reference, struct device *cpu) {
    (void)round;
    struct draw d;
    draw_network(&d, seed);
    /* The last value, one in the middle, a reduction; and one that is stored, too. */
    int outputs[3] = {d.pool[d.count - 1].value, d.pool[4 + (d.count - 4) / 2].value, -1};
    outputs[1] = d.count < 6 ? outputs[0] : outputs[1];
    outputs[2] = d.reduced ? d.reduced : outputs[0];
    network_output(&d.net, outputs[0]);
    network_output(&d.net, d.pool[MAX(d.count - 3, 4)].value);
    for (int i = 0; i < 3 && d.count > 4; i++) {
        d.net.outputs[0] = outputs[i];
        if (!network_same(&d.net, reference, cpu)) {
            printf("# seed %llu, output %d: the devices differ\n", (unsigned long long)seed, i);
            test_failures++;
        }
    }
    arena_release(&d.net.graph.arena);
}

static void test_chains_plain(void) {
    network_rounds(ISA_PLAIN, 400, check_draw);
}

static void test_chains_avx2(void) {
    network_rounds(ISA_AVX2, 400, check_draw);
}

static void test_chains_avx512(void) {
    network_rounds(ISA_AVX512, 400, check_draw);
}

/* ---- networks that failed ---------------------------------------------------------------- */

/* A reduction without its dimension, added to values that have two equal ones: it belongs to the
 * columns. */
static void build_square(struct network *net) {
    int x = network_input(net, (struct shape){2, {6, 6}});
    int mean = network_node(net, "ReduceMean", (int[]){x, -2},
                            ATTRIBUTES(INTS("axes", -1), INT("keepdims", 0)));
    network_output(net, network_node(net, "Add", (int[]){x, mean, -2}, NULL));
}

/* Channels that do not fill whole blocks, and a quotient between convolutions: 0 / 0 in the lanes
 * beyond them must not reach the second one. */
static void build_quotient(struct network *net) {
    int x = network_input(net, (struct shape){4, {1, 19, 5, 5}});
    int w = network_constant(net, (struct shape){4, {19, 19, 1, 1}}, 0.2F, 0);
    int spread = network_constant(net, (struct shape){4, {1, 19, 1, 1}}, 0.2F, 1);
    x = network_node(net, "Conv", (int[]){x, w, -2}, NULL);
    x = network_node(net, "Div", (int[]){x, spread, -2}, NULL);
    network_output(net, network_node(net, "Conv", (int[]){x, w, -2}, NULL));
}

/* beta belongs to the Gemm's own row alone. */
static void build_beta(struct network *net) {
    int x = network_input(net, (struct shape){2, {3, 8}});
    int w = network_constant(net, (struct shape){2, {8, 4}}, 0.5F, 0);
    int row = network_constant(net, (struct shape){1, {4}}, 1, 0);
    x = network_node(net, "Gemm", (int[]){x, w, -2},
                     ATTRIBUTES({.name = "beta", .kind = ATTRIBUTE_NUMBER, .number = 0.5F}));
    network_output(net, network_node(net, "Add", (int[]){x, row, -2}, NULL));
}

/* As many instructions as a chain may have (3 for a HardSwish), and behind them a bool to store. */
static void build_full(struct network *net) {
    int x = network_input(net, (struct shape){2, {7, 33}}), y = x;
    for (int i = 0; i < 21; i++) {
        y = network_node(net, "HardSwish", (int[]){y, -2}, NULL);
    }
    network_output(net, network_node(net, "Less", (int[]){y, x, -2}, NULL));
}

/* A projection of a norm, and a residual, whose chain may compute x again. */
static void end_with_residual(struct network *net, int x) {
    int scale = network_constant(net, (struct shape){1, {32}}, 0.5F, 1);
    int w = network_constant(net, (struct shape){2, {32, 32}}, 0.2F, 0);
    int y = network_node(net, "LayerNormalization", (int[]){x, scale, -2}, NULL);
    y = network_node(net, "MatMul", (int[]){y, w, -2}, NULL);
    network_output(net, network_node(net, "Add", (int[]){x, y, -2}, NULL));
}

/* One bool of each row: whether it is padding. */
static int padding_mask(struct network *net, int x) {
    int axes = network_integers(net, (int64_t[]){-1}, 1);
    int none = network_constant(net, (struct shape){0, {0}}, 0, 0);
    int sum = network_node(net, "Abs", (int[]){x, -2}, NULL);
    sum = network_node(net, "ReduceSum", (int[]){sum, axes, -2}, NULL);
    return network_node(net, "Greater", (int[]){sum, none, -2}, NULL);
}

/* What is computed again reads a row of bools that only the chain before reads, too. */
static void build_masked_residual(struct network *net) {
    int x = network_input(net, (struct shape){3, {2, 7, 32}});
    int none = network_constant(net, (struct shape){0, {0}}, 0, 0);
    int mask = padding_mask(net, x);
    end_with_residual(net, network_node(net, "Where", (int[]){mask, x, none, -2}, NULL));
}

/* The same through a Cast, which is computed again, too. */
static void build_cast_residual(struct network *net) {
    int x = network_input(net, (struct shape){3, {2, 7, 32}});
    int mask =
        network_node(net, "Cast", (int[]){padding_mask(net, x), -2}, ATTRIBUTES(INT("to", 1)));
    end_with_residual(net, network_node(net, "Mul", (int[]){x, mask, -2}, NULL));
}

/* The same with a row of numbers. */
static void build_scaled_residual(struct network *net) {
    int x = network_input(net, (struct shape){3, {2, 7, 32}});
    int largest = network_node(net, "ReduceMax", (int[]){x, -2}, ATTRIBUTES(INTS("axes", -1)));
    end_with_residual(net, network_node(net, "Mul", (int[]){x, largest, -2}, NULL));
}

static void check_built(void (*build)(struct network *net)) {
    struct network net;
    network_init(&net, 17);
    build(&net);
    network_check(&net);
}

static void test_networks_that_failed(void) {
    check_built(build_square);
    check_built(build_quotient);
    check_built(build_beta);
    check_built(build_full);
    check_built(build_masked_residual);
    check_built(build_cast_residual);
    check_built(build_scaled_residual);
}

/* ---- how many steps -------------------------------------------------------------------------- */

static int number(struct network *net, float value) {
    return network_constant(net, (struct shape){0, {0}}, 0, value);
}

static int with(struct network *net, const char *op, int a, int b) {
    return network_node(net, op, b < 0 ? (int[]){a, -2} : (int[]){a, b, -2}, NULL);
}

static int mean_of(struct network *net, int x) {
    return network_node(net, "ReduceMean", (int[]){x, -2}, ATTRIBUTES(INTS("axes", -1)));
}

/* A residual, LayerNormalization and GELU, as exporters of opset 13 write them. */
static void build_norm_and_gelu(struct network *net) {
    const struct shape shape = {3, {2, 10, 48}}, row = {1, {48}};
    int x = with(net, "Add", network_input(net, shape), network_input(net, shape));
    int d = with(net, "Sub", x, mean_of(net, x));
    int variance = mean_of(net, with(net, "Pow", d, number(net, 2)));
    int root = with(net, "Sqrt", with(net, "Add", variance, number(net, 1e-5F)), -1);
    int y = with(net, "Mul", with(net, "Div", d, root), network_constant(net, row, 0.5F, 1));
    y = with(net, "Add", y, network_constant(net, row, 0.5F, 0));
    int bell = with(net, "Erf", with(net, "Div", y, number(net, 1.4142135F)), -1);
    y = with(net, "Mul", with(net, "Mul", y, with(net, "Add", bell, number(net, 1))),
             number(net, 0.5F));
    network_output(net, y);
}

/* Scores of an attention: a scale, a mask and a softmax. */
static void build_masked_softmax(struct network *net) {
    int x = network_input(net, (struct shape){4, {2, 3, 17, 17}});
    int mask = network_input(net, (struct shape){4, {2, 1, 1, 17}});
    x = with(net, "Add", with(net, "Div", x, number(net, 8)), mask);
    x = network_node(net, "Softmax", (int[]){x, -2}, ATTRIBUTES(INT("axis", -1)));
    network_output(net, x);
}

/* Squeeze-and-excite behind a convolution: the gate is multiplied when the second convolution
 * reads. */
static void build_gated(struct network *net) {
    int x = network_input(net, (struct shape){4, {1, 32, 9, 9}});
    int w = network_constant(net, (struct shape){4, {32, 32, 1, 1}}, 0.2F, 0);
    x = with(net, "Conv", x, w);
    x = with(net, "Mul", x, with(net, "Sigmoid", x, -1));
    int gate =
        with(net, "Sigmoid", with(net, "Conv", with(net, "GlobalAveragePool", x, -1), w), -1);
    network_output(net, with(net, "Conv", with(net, "Mul", x, gate), w));
}

static void check_steps(void (*build)(struct network *net), int count) {
    struct network net;
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct tensor inputs[4] = {0};
    network_init(&net, 14);
    build(&net);
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    for (size_t i = 0; i < net.graph.input_count; i++) {
        CHECK_OK(tensor_init(&inputs[i], TENSOR_FLOAT32, &net.values[net.inputs[i]].shape, &err),
                 &err);
    }
    CHECK_OK(execution_plan_new(device, &net.graph, inputs, &plan, &err), &err);
    int steps = 0;
    for (size_t i = 0; i < plan->schedule->step_count; i++) {
        const struct step *step = &plan->schedule->steps[i];
        steps += step->node != NULL;
        CHECK(!step->node || strncmp(step->kernel->name, "fast", 4) == 0);
    }
    CHECK_INT(steps, count);
    execution_plan_free(plan);
    for (int i = 0; i < 4; i++) {
        tensor_release(&inputs[i]);
    }
    device_close(device);
    arena_release(&net.graph.arena);
}

static void test_forms_become_few_steps(void) {
    check_steps(build_norm_and_gelu, 1); /* of 15 nodes */
    check_steps(build_masked_softmax, 1);
    check_steps(build_full, 1);
    check_steps(build_gated, 4); /* of 8 nodes: the convolutions compute SiLU and the gate */
}

int main(void) {
    TEST(test_chains_plain);
    TEST(test_chains_avx2);
    TEST(test_chains_avx512);
    TEST(test_networks_that_failed);
    TEST(test_forms_become_few_steps);
    return TEST_END();
}
