// SPDX-License-Identifier: Apache-2.0
// Products of two computed matrices and attention (device/cpu/product) against the plain kernels:
// drawn sizes, and drawn nodes that move the elements of operands and results, in every instruction
// set of this processor.
#include "agent/engine/device/cpu/product/multiply.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_compare.h"

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

struct draw {
    struct network net;
    uint64_t state;
    int64_t batch, heads, queries, keys, size, out;
};

static int below(struct draw *d, int limit) {
    return (int)(test_random(&d->state) % (uint64_t)limit);
}

static int node(struct draw *d, const char *op, int a, int b) {
    return network_node(&d->net, op, b < 0 ? (int[]){a, -2} : (int[]){a, b, -2}, NULL);
}

static int turn(struct draw *d, int x, struct attribute order) {
    return network_node(&d->net, "Transpose", (int[]){x, -2}, ATTRIBUTES(order));
}

static int reshape(struct draw *d, int x, const int64_t *dims, int count) {
    return node(d, "Reshape", x, network_integers(&d->net, dims, count));
}

/* [batch, rows, heads, columns] to [batch, heads, rows, columns] */
static int heads_first(struct draw *d, int x, int64_t rows, int64_t columns) {
    x = reshape(d, x, (int64_t[]){d->batch, rows, d->heads, columns}, 4);
    return turn(d, x, (struct attribute)INTS("perm", 0, 2, 1, 3));
}

static int from_packed(struct draw *d, int64_t rows, int64_t columns) {
    const struct shape shape = {5, {d->batch, rows, 3, d->heads, columns}};
    int x = turn(d, network_input(&d->net, shape), (struct attribute)INTS("perm", 2, 0, 3, 1, 4));
    int64_t which = below(d, 3) - 1;
    int index = network_integers(&d->net, &which, 1);
    d->net.values[index].constant.shape.rank = d->net.values[index].shape.rank = 0;
    return network_node(&d->net, "Gather", (int[]){x, index, -2}, ATTRIBUTES(INT("axis", 0)));
}

static int from_split(struct draw *d, int64_t rows, int64_t columns) {
    int64_t width = d->heads * columns;
    int x = network_input(&d->net, (struct shape){3, {d->batch, rows, width + 5}});
    int sizes = network_integers(&d->net, (int64_t[]){5, width}, 2);
    int first =
        network_node_many(&d->net, "Split", (int[]){x, sizes, -2}, ATTRIBUTES(INT("axis", 2)), 2);
    return heads_first(d, first + 1, rows, columns);
}

static int from_slice(struct draw *d, int64_t rows, int64_t columns) {
    const struct shape shape = {4, {d->batch, d->heads, 2 * rows + 3, columns}};
    int starts = network_integers(&d->net, (int64_t[]){1}, 1);
    int ends = network_integers(&d->net, (int64_t[]){2 * rows + 1}, 1);
    int axes = network_integers(&d->net, (int64_t[]){-2}, 1);
    int steps = network_integers(&d->net, (int64_t[]){2}, 1);
    int x = network_input(&d->net, shape);
    return network_node(&d->net, "Slice", (int[]){x, starts, ends, axes, steps, -2}, NULL);
}

/* The same matrices for all heads. */
static int from_expand(struct draw *d, int64_t rows, int64_t columns) {
    int x = network_input(&d->net, (struct shape){4, {d->batch, 1, rows, columns}});
    const int64_t dims[] = {1, d->heads, 1, 1};
    return node(d, "Expand", x, network_integers(&d->net, dims, 4));
}

/* A value [batch, heads, rows, columns], or one that is broadcast to it. */
static int operand(struct draw *d, int64_t rows, int64_t columns) {
    switch (below(d, 8)) {
    case 0:
        return network_input(&d->net, (struct shape){3, {d->heads, rows, columns}});
    case 1:
        return from_packed(d, rows, columns);
    case 2:
        return from_split(d, rows, columns);
    case 3:
        return from_slice(d, rows, columns);
    case 4:
        return from_expand(d, rows, columns);
    case 5:
        return network_input(&d->net, (struct shape){4, {d->batch, d->heads, rows, columns}});
    default:
        return heads_first(
            d, network_input(&d->net, (struct shape){3, {d->batch, rows, d->heads * columns}}),
            rows, columns);
    }
}

static int turned_operand(struct draw *d, int64_t rows, int64_t columns) {
    if (below(d, 3) == 0) {
        return operand(d, rows, columns);
    }
    int x = operand(d, columns, rows);
    bool is_small = d->net.values[x].is_input && d->net.values[x].shape.rank == 3;
    return is_small ? turn(d, x, (struct attribute)INTS("perm", 0, 2, 1))
                    : turn(d, x, (struct attribute)INTS("perm", 0, 1, 3, 2));
}

static int softmax(struct draw *d, int x) {
    const struct shape none = {0, {0}};
    if (below(d, 3)) {
        x = node(d, below(d, 2) ? "Mul" : "Div", x, network_constant(&d->net, none, 0, 0.7F));
    }
    const struct shape masks[] = {{4, {d->batch, 1, 1, d->keys}},
                                  {4, {1, 1, d->queries, d->keys}},
                                  {4, {d->batch, d->heads, d->queries, d->keys}},
                                  {1, {d->keys}}};
    int which = below(d, 6);
    if (which < 4) {
        bool is_constant = below(d, 2);
        x = node(d, "Add", x,
                 is_constant ? network_constant(&d->net, masks[which], 2, 0)
                             : network_input(&d->net, masks[which]));
    }
    return network_node(&d->net, "Softmax", (int[]){x, -2}, ATTRIBUTES(INT("axis", -1)));
}

/* A layer whose weights are computed, as in a training: a row is added; perhaps it is turned. */
static int layer(struct draw *d, int64_t rows) {
    const struct shape matrix = {2, {d->size, d->out}}, turned = {2, {d->out, d->size}};
    const struct shape row = {1, {d->out}}, wide_row = {2, {1, d->out}};
    int x = network_input(&d->net, (struct shape){3, {d->batch, rows, d->size}});
    int w = below(d, 2)
                ? network_input(&d->net, matrix)
                : turn(d, network_input(&d->net, turned), (struct attribute)INTS("perm", 1, 0));
    int b = network_input(&d->net, below(d, 2) ? row : wide_row);
    int y = node(d, "MatMul", x, w);
    y = below(d, 2) ? node(d, "Add", y, b) : node(d, "Add", b, y);
    return below(d, 2) ? y : turn(d, y, (struct attribute)INTS("perm", 0, 2, 1));
}

static void draw_network(struct draw *d, uint64_t seed) {
    static const int64_t many[] = {1, 3, 7, 14, 15, 29, 85, 100}, sizes[] = {1, 5, 8, 16, 19, 40};
    *d = (struct draw){.state = seed};
    network_init(&d->net, 13);
    d->batch = 1 + below(d, 3);
    d->heads = 1 + below(d, 4);
    d->queries = many[below(d, ARRAY_LEN(many))];
    d->keys = below(d, 12) == 0 ? 512 + below(d, 30) : many[below(d, ARRAY_LEN(many))];
    d->size = sizes[below(d, ARRAY_LEN(sizes))];
    d->out = sizes[below(d, ARRAY_LEN(sizes))];
    if (below(d, 4) == 0) {
        network_output(&d->net, layer(d, d->queries));
        return;
    }
    int y = node(d, "MatMul", operand(d, d->queries, d->size), turned_operand(d, d->size, d->keys));
    if (below(d, 4)) {
        y = node(d, "MatMul", softmax(d, y), operand(d, d->keys, d->out));
    }
    network_output(&d->net, y);
}

/* Runs on both devices; with `turned` the result, of rank 4, is transposed. */
static void check_draw(uint64_t seed, bool turned, struct device *reference, struct device *cpu) {
    struct draw d;
    struct error err = {0};
    struct tensor wanted = {0}, seen = {0};
    draw_network(&d, seed);
    CHECK_OK(network_run(&d.net, reference, 1, &wanted, &err), &err);
    if (turned && wanted.data && wanted.shape.rank == 4) {
        const struct attribute orders[] = {INTS("perm", 0, 2, 1, 3), INTS("perm", 0, 1, 3, 2),
                                           INTS("perm", 3, 1, 0, 2)};
        d.net.outputs[0] = turn(&d, d.net.outputs[0], orders[below(&d, ARRAY_LEN(orders))]);
        tensor_release(&wanted);
        CHECK_OK(network_run(&d.net, reference, 1, &wanted, &err), &err);
    }
    CHECK_OK(network_run(&d.net, cpu, 1, &seen, &err), &err);
    if (!wanted.data || !seen.data || !network_agrees(&seen, &wanted)) {
        printf("# seed %llu: the devices differ\n", (unsigned long long)seed);
        test_failures++;
    }
    tensor_release(&wanted);
    tensor_release(&seen);
    arena_release(&d.net.graph.arena);
}

/* A layer whose rows are summed in several pieces, and whose columns are several units of work: the
 * row is added once, and each unit adds its own part. */
static void check_long_layers(struct device *reference, struct device *cpu) {
    for (uint64_t i = 0; i < 2; i++) {
        struct draw d = {.state = i, .batch = 1, .size = i ? 1030 : 513, .out = 300};
        network_init(&d.net, 13);
        network_output(&d.net, layer(&d, 100));
        CHECK(network_same(&d.net, reference, cpu));
        arena_release(&d.net.graph.arena);
    }
}

/* Products in several pieces, as they are; with their columns adjacent, of b' a' then; and with a
 * left operand whose rows are adjacent, in panels of several heights. */
static void check_long_products(struct device *reference, struct device *cpu) {
    static const int64_t rows[] = {90, 90, 6, 84, 105, 113};
    for (uint64_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct draw d = {.state = i, .batch = 1};
        network_init(&d.net, 13);
        const struct shape adjacent = {3, {2, rows[i], 1100}}, turned = {3, {2, 1100, rows[i]}};
        int a = network_input(&d.net, i < 2 ? adjacent : turned);
        a = i < 2 ? a : turn(&d, a, (struct attribute)INTS("perm", 0, 2, 1));
        int b = network_input(&d.net, (struct shape){3, {2, 1100, i < 2 ? 300 : 40}});
        int y = node(&d, "MatMul", a, b);
        network_output(&d.net, i % 2 ? turn(&d, y, (struct attribute)INTS("perm", 0, 2, 1)) : y);
        CHECK(network_same(&d.net, reference, cpu));
        arena_release(&d.net.graph.arena);
    }
}

static void check_isa(enum isa isa) {
    if (!isa_runs_here(isa)) {
        SKIP("this processor has no %s", isa_name(isa));
    }
    setenv("WINDLASS_CPU_ISA", isa_name(isa), 1);
    struct error err = {0};
    struct device *reference = NULL, *cpu = NULL;
    CHECK_OK(device_open("reference", 1, &reference, &err), &err);
    CHECK_OK(device_open("cpu", 3, &cpu, &err), &err);
    for (int64_t round = 0; round < test_rounds(200); round++) {
        check_draw(test_mix(test_seed(20261129) + (uint64_t)round), round % 2, reference, cpu);
    }
    check_long_layers(reference, cpu);
    check_long_products(reference, cpu);
    device_close(cpu);
    device_close(reference);
    unsetenv("WINDLASS_CPU_ISA");
}

static void test_products_plain(void) {
    check_isa(ISA_PLAIN);
}

static void test_products_avx2(void) {
    check_isa(ISA_AVX2);
}

static void test_products_avx512(void) {
    check_isa(ISA_AVX512);
}

/* ---- how many steps -------------------------------------------------------------------------- */

/* The network is one step of this kernel. */
static void check_one_step(struct network *net, const char *kernel) {
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct tensor inputs[4] = {0};
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    for (size_t i = 0; i < net->graph.input_count; i++) {
        const struct shape *of = &net->values[net->inputs[i]].shape;
        CHECK_OK(tensor_init(&inputs[i], TENSOR_FLOAT32, of, &err), &err);
    }
    CHECK_OK(execution_plan_new(device, &net->graph, inputs, &plan, &err), &err);
    int steps = 0;
    for (size_t i = 0; plan && i < plan->schedule->step_count; i++) {
        const struct step *step = &plan->schedule->steps[i];
        steps += step->node != NULL;
        if (step->node) {
            CHECK_STR(step->kernel->name, kernel);
        }
    }
    CHECK_INT(steps, 1);
    execution_plan_free(plan);
    for (int i = 0; i < 4; i++) {
        tensor_release(&inputs[i]);
    }
    device_close(device);
    arena_release(&net->graph.arena);
}

/* Self-attention of one tensor, as exporters write it: reshapes, transposes, a scale, a mask. */
static void test_attention_is_one_step(void) {
    struct draw d = {.batch = 2, .heads = 3, .queries = 20, .keys = 20, .size = 8, .out = 8};
    network_init(&d.net, 13);
    const struct shape shape = {3, {2, 20, 24}}, none = {0, {0}};
    int q = heads_first(&d, network_input(&d.net, shape), 20, 8);
    int k = reshape(&d, network_input(&d.net, shape), (int64_t[]){2, 20, 3, 8}, 4);
    k = turn(&d, k, (struct attribute)INTS("perm", 0, 2, 3, 1));
    int v = heads_first(&d, network_input(&d.net, shape), 20, 8);
    int x = node(&d, "Div", node(&d, "MatMul", q, k), network_constant(&d.net, none, 0, 3));
    x = node(&d, "Add", x, network_input(&d.net, (struct shape){4, {2, 1, 1, 20}}));
    x = network_node(&d.net, "Softmax", (int[]){x, -2}, ATTRIBUTES(INT("axis", -1)));
    x = turn(&d, node(&d, "MatMul", x, v), (struct attribute)INTS("perm", 0, 2, 1, 3));
    network_output(&d.net, reshape(&d, x, (int64_t[]){2, 20, 24}, 3));
    check_one_step(&d.net, "fast attention");
}

/* One head without a batch, whose mask is one row: its addition stays before the softmax. */
static void test_a_single_head_is_one_step(void) {
    const struct shape masks[] = {{1, {20}}, {2, {1, 20}}};
    for (size_t i = 0; i < ARRAY_LEN(masks); i++) {
        struct draw d = {.state = 1};
        network_init(&d.net, 13);
        int q = network_input(&d.net, (struct shape){2, {20, 8}});
        int k = network_input(&d.net, (struct shape){2, {8, 20}});
        int v = network_input(&d.net, (struct shape){2, {20, 8}});
        int x = node(&d, "Add", node(&d, "MatMul", q, k), network_input(&d.net, masks[i]));
        x = network_node(&d.net, "Softmax", (int[]){x, -2}, ATTRIBUTES(INT("axis", -1)));
        network_output(&d.net, node(&d, "MatMul", x, v));
        check_one_step(&d.net, "fast attention");
    }
}

/* A layer of a training with its row, and a Transpose behind it. */
static void test_a_layer_is_one_step(void) {
    for (uint64_t seed = 0; seed < 16; seed++) {
        struct draw d = {.state = seed, .batch = 1, .size = 8, .out = 19};
        network_init(&d.net, 13);
        network_output(&d.net, layer(&d, 1 + (int64_t)seed));
        check_one_step(&d.net, "fast products");
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Scratch memory, which each thread has, does not grow with the rows without a bound. */
static void test_long_rows_take_little_memory(void) {
    const int64_t length = 1 << 20;
    struct draw d = {.batch = 1};
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct tensor inputs[2] = {0};
    network_init(&d.net, 13);
    int a = network_input(&d.net, (struct shape){2, {8, length}});
    int b = network_input(&d.net, (struct shape){2, {length, 2}});
    network_output(&d.net, node(&d, "MatMul", a, b));
    CHECK_OK(device_open("cpu", 4, &device, &err), &err);
    for (int i = 0; i < 2; i++) {
        const struct shape *of = &d.net.values[d.net.inputs[i]].shape;
        CHECK_OK(tensor_init(&inputs[i], TENSOR_FLOAT32, of, &err), &err);
    }
    CHECK_OK(execution_plan_new(device, &d.net.graph, inputs, &plan, &err), &err);
    CHECK(plan && plan->schedule->block_bytes < (size_t)length * 10 * sizeof(float));
    execution_plan_free(plan);
    tensor_release(&inputs[0]);
    tensor_release(&inputs[1]);
    device_close(device);
    arena_release(&d.net.graph.arena);
}

static void test_a_tile_has_room_for_smaller_products(void) {
    for (int k = 1; k < 2100; k++) {
        CHECK(multiply_tile_floats(64, k + 1) >= multiply_tile_floats(64, k));
    }
}

int main(void) {
    TEST(test_products_plain);
    TEST(test_products_avx2);
    TEST(test_products_avx512);
    TEST(test_attention_is_one_step);
    TEST(test_a_single_head_is_one_step);
    TEST(test_a_layer_is_one_step);
    TEST(test_long_rows_take_little_memory);
    TEST(test_a_tile_has_room_for_smaller_products);
    return TEST_END();
}
