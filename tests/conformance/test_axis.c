// SPDX-License-Identifier: Apache-2.0
// Operators along an axis, and Cast (device/cpu/axis) against the plain kernels: drawn shapes,
// axes, types and parameters, in every instruction set of this processor.
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_compare.h"

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

struct draw {
    struct network net;
    uint64_t state;
    struct shape shape;
};

static int below(struct draw *d, int limit) {
    return (int)(test_random(&d->state) % (uint64_t)limit);
}

/* An input of two to five dimensions, some of them long. */
static int input(struct draw *d) {
    static const int longest[] = {0, 0, 70, 40, 9, 6};
    d->shape = (struct shape){.rank = 2 + below(d, 4)};
    for (int i = 0; i < d->shape.rank; i++) {
        d->shape.dims[i] = 1 + below(d, longest[d->shape.rank]);
    }
    d->shape.dims[below(d, d->shape.rank)] *= below(d, 3) ? 1 : 23;
    return network_input(&d->net, d->shape);
}

/* Numbers of which many are equal, and some perhaps infinite or NaN. */
static void make_equal(struct draw *d, int x) {
    d->net.ranges[x] = (struct network_range){
        -9, 10, .is_odd = below(d, 2), .rounds_to = below(d, 2) ? TENSOR_INT32 : TENSOR_FLOAT32};
    d->net.ranges[x].is_odd &= d->net.ranges[x].rounds_to == TENSOR_FLOAT32;
}

static int softmax(struct draw *d) {
    int x = input(d), axis = below(d, d->shape.rank);
    d->net.ranges[x] = (struct network_range){-8, 8, .rounds_to = TENSOR_FLOAT32};
    return network_node(&d->net, below(d, 2) ? "Softmax" : "LogSoftmax", (int[]){x, -2},
                        ATTRIBUTES(INT("axis", axis)));
}

static int reduce(struct draw *d) {
    static const char *const names[] = {"ReduceMean", "ReduceMax", "ReduceMin",      "ReduceL1",
                                        "ReduceL2",   "ReduceSum", "ReduceSumSquare"};
    int x = input(d), first = below(d, d->shape.rank), count = 1 + below(d, d->shape.rank - first);
    const char *name = names[below(d, ARRAY_LEN(names))];
    int64_t axes[TENSOR_RANK_MAX];
    for (int i = 0; i < count; i++) {
        axes[i] = first + i;
    }
    struct attribute listed = {
        .name = "axes", .kind = ATTRIBUTE_INTEGERS, .count = (size_t)count, .integers = axes};
    if (strcmp(name, "ReduceSum") == 0) { /* since opset 13 an input */
        int given = network_integers(&d->net, axes, count);
        return network_node(&d->net, name, (int[]){x, given, -2},
                            ATTRIBUTES(INT("keepdims", below(d, 2))));
    }
    return network_node(&d->net, name, (int[]){x, -2},
                        ATTRIBUTES(listed, INT("keepdims", below(d, 2))));
}

static int arg_max(struct draw *d) {
    int x = input(d), axis = below(d, d->shape.rank);
    make_equal(d, x);
    return network_node(&d->net, below(d, 2) ? "ArgMax" : "ArgMin", (int[]){x, -2},
                        ATTRIBUTES(INT("axis", axis), INT("keepdims", below(d, 2)),
                                   INT("select_last_index", below(d, 2))));
}

static int top_k(struct draw *d) {
    int x = input(d), axis = below(d, d->shape.rank);
    make_equal(d, x);
    int64_t k = 1 + below(d, (int)d->shape.dims[axis]);
    k = below(d, 2) ? MIN(k, 5) : k;
    int count = network_integers(&d->net, &k, 1);
    int y = network_node_many(&d->net, "TopK", (int[]){x, count, -2},
                              ATTRIBUTES(INT("axis", axis), INT("largest", below(d, 2))), 2);
    return y + below(d, 2); /* the values or their indices */
}

/* From one type to another, over a third; an element outside the range of a type wraps. */
static int cast(struct draw *d) {
    int x = input(d);
    static const enum tensor_type types[] = {
        TENSOR_FLOAT32, TENSOR_UINT8,   TENSOR_BOOL,     TENSOR_INT8,    TENSOR_INT32,
        TENSOR_INT64,   TENSOR_FLOAT16, TENSOR_BFLOAT16, TENSOR_FLOAT64, TENSOR_INT16};
    d->net.values[x].type = types[below(d, ARRAY_LEN(types))];
    bool is_real = tensor_type_is_real(d->net.values[x].type);
    d->net.ranges[x] = (struct network_range){-120, 120, .is_odd = is_real && below(d, 2)};
    for (int i = 0; i < 2; i++) {
        int to = tensor_type_onnx(types[below(d, ARRAY_LEN(types))]);
        x = network_node(&d->net, "Cast", (int[]){x, -2}, ATTRIBUTES(INT("to", to)));
    }
    return x;
}

/* To 8 bits and back, by one scale or by one per index of an axis. */
static int quantized(struct draw *d) {
    int x = input(d), axis = below(d, d->shape.rank);
    d->net.ranges[x] = (struct network_range){-9, 9, .is_odd = below(d, 2)};
    const struct shape one = {.rank = below(d, 2), .dims = {d->shape.dims[axis]}};
    int scale = network_constant(&d->net, one, 0.02F, 0.05F);
    int bytes = network_constant(&d->net, one, 100, 0);
    int to = tensor_type_onnx(below(d, 2) ? TENSOR_INT8 : TENSOR_UINT8);
    int zero = network_node(&d->net, "Cast", (int[]){bytes, -2}, ATTRIBUTES(INT("to", to)));
    x = network_node(&d->net, "QuantizeLinear", (int[]){x, scale, zero, -2},
                     ATTRIBUTES(INT("axis", axis)));
    return below(d, 2) ? x
                       : network_node(&d->net, "DequantizeLinear", (int[]){x, scale, zero, -2},
                                      ATTRIBUTES(INT("axis", axis)));
}

/* ---- copies ---- */

/* An input of elements of 1, 2, 4 or 8 bytes. */
static int any_input(struct draw *d) {
    static const enum tensor_type types[] = {TENSOR_FLOAT32, TENSOR_UINT8, TENSOR_FLOAT16,
                                             TENSOR_INT64};
    int x = input(d);
    d->net.values[x].type = types[below(d, ARRAY_LEN(types))];
    d->net.ranges[x] = (struct network_range){0, 100, .rounds_to = TENSOR_FLOAT32};
    return x;
}

static int transpose(struct draw *d) {
    int x = any_input(d);
    int64_t order[TENSOR_RANK_MAX];
    for (int i = 0; i < d->shape.rank; i++) {
        int at = below(d, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    struct attribute perm = {.name = "perm",
                             .kind = ATTRIBUTE_INTEGERS,
                             .count = (size_t)d->shape.rank,
                             .integers = order};
    return network_node(&d->net, "Transpose", (int[]){x, -2}, ATTRIBUTES(perm));
}

static int slice(struct draw *d) {
    int x = any_input(d), rank = d->shape.rank;
    int64_t begins[TENSOR_RANK_MAX], ends[TENSOR_RANK_MAX], axes[TENSOR_RANK_MAX];
    int64_t steps[TENSOR_RANK_MAX];
    for (int i = 0; i < rank; i++) {
        int64_t size = d->shape.dims[i], begin = below(d, (int)size);
        bool is_down = below(d, 4) == 0;
        axes[i] = i;
        steps[i] = (1 + below(d, 3)) * (is_down ? -1 : 1);
        begins[i] = below(d, 2) ? begin : is_down ? size - 1 : 0;
        ends[i] = is_down ? -size - 1 : size;
    }
    int from = network_integers(&d->net, begins, rank), to = network_integers(&d->net, ends, rank);
    int along = network_integers(&d->net, axes, rank), by = network_integers(&d->net, steps, rank);
    return network_node(&d->net, "Slice", (int[]){x, from, to, along, by, -2}, NULL);
}

/* Pads of 0 or more, or elements that are removed. */
static int padded(struct draw *d) {
    int x = any_input(d), rank = d->shape.rank, value = -1;
    int64_t pads[2 * TENSOR_RANK_MAX];
    for (int i = 0; i < 2 * rank; i++) {
        int most = (int)(d->shape.dims[i % rank] - 1) / 2;
        pads[i] = below(d, 3) ? 0 : below(d, 4) - MIN(below(d, 2), most);
    }
    if (d->net.values[x].type == TENSOR_FLOAT32 && below(d, 2)) {
        value = network_constant(&d->net, (struct shape){0, {0}}, 0, 7);
    }
    int by = network_integers(&d->net, pads, 2 * rank);
    return network_node(&d->net, "Pad", (int[]){x, by, value, -2}, NULL);
}

static int expand(struct draw *d) {
    int x = any_input(d), rank = d->shape.rank;
    int64_t to[TENSOR_RANK_MAX + 1];
    to[0] = 1 + below(d, 3);
    for (int i = 0; i < rank; i++) {
        to[i + 1] = d->shape.dims[i] == 1 ? 1 + below(d, 9) : d->shape.dims[i];
    }
    int shape = network_integers(&d->net, to, rank + 1);
    return network_node(&d->net, "Expand", (int[]){x, shape, -2}, NULL);
}

static int blocks(struct draw *d) {
    int64_t side = 1 + below(d, 4);
    bool to_space = below(d, 2);
    d->shape = (struct shape){4, {1 + below(d, 3), 1 + below(d, 20), 1 + below(d, 30), 1}};
    d->shape.dims[3] = 1 + below(d, 80);
    d->shape.dims[1] *= to_space ? side * side : 1;
    d->shape.dims[2] *= to_space ? 1 : side;
    d->shape.dims[3] *= to_space ? 1 : side;
    int x = network_input(&d->net, d->shape);
    struct attribute mode = TXT("mode", below(d, 2) ? "DCR" : "CRD");
    mode.name = to_space ? mode.name : NULL;
    return network_node(&d->net, to_space ? "DepthToSpace" : "SpaceToDepth", (int[]){x, -2},
                        ATTRIBUTES(INT("blocksize", side), mode));
}

static int (*const kinds[])(struct draw *d) = {
    softmax, reduce, arg_max, top_k, cast, transpose, slice, padded, expand, blocks, quantized};

static void check_draw(uint64_t seed, int64_t round, struct device *reference, struct device *cpu) {
    struct draw d = {.state = seed};
    network_init(&d.net, 13);
    network_output(&d.net, kinds[round % (int64_t)ARRAY_LEN(kinds)](&d));
    if (!network_same(&d.net, reference, cpu)) {
        char shape[128];
        shape_format(&d.shape, shape);
        printf("# seed %llu: %s of %s\n", (unsigned long long)seed, d.net.nodes[0].name, shape);
        test_failures++;
    }
    arena_release(&d.net.graph.arena);
}

static void test_axis_plain(void) {
    network_rounds(ISA_PLAIN, 300, check_draw);
}

static void test_axis_avx2(void) {
    network_rounds(ISA_AVX2, 300, check_draw);
}

static void test_axis_avx512(void) {
    network_rounds(ISA_AVX512, 300, check_draw);
}

/* The kernel of the first step of the network of one node. */
static const char *kernel_of(struct network *net, struct device *cpu) {
    struct execution_plan *plan = NULL;
    struct tensor inputs[1] = {0};
    struct error err = {0};
    const struct value *x = &net->values[net->inputs[0]];
    CHECK_OK(tensor_init(&inputs[0], x->type, &x->shape, &err), &err);
    CHECK_OK(execution_plan_new(cpu, &net->graph, inputs, &plan, &err), &err);
    const char *name = plan ? plan->schedule->steps[0].kernel->name : "none";
    execution_plan_free(plan);
    tensor_release(&inputs[0]);
    return name;
}

/* The kernels are chosen: else nothing above tests them. */
static void test_they_are_chosen(void) {
    const struct {
        const char *op, *kernel;
        struct attribute parameter;
    } rows[] = {{"Softmax", "axis Softmax", INT("axis", 1)},
                {"LogSoftmax", "axis Softmax", INT("axis", 0)},
                {"ReduceMean", "axis Reduce", INTS("axes", 1)},
                {"ArgMax", "axis ArgMax", INT("axis", 1)},
                {"Cast", "axis Cast", INT("to", 7)},
                {"Transpose", "axis copy", INTS("perm", 1, 0, 2)}};
    struct device *cpu = NULL;
    struct error err = {0};
    CHECK_OK(device_open("cpu", 2, &cpu, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct network net;
        network_init(&net, 13);
        int x = network_input(&net, (struct shape){3, {3, 20, 50}});
        network_output(
            &net, network_node(&net, rows[i].op, (int[]){x, -2}, ATTRIBUTES(rows[i].parameter)));
        CHECK_STR(kernel_of(&net, cpu), rows[i].kernel);
        arena_release(&net.graph.arena);
    }
    struct network net;
    network_init(&net, 13);
    int x = network_input(&net, (struct shape){2, {20, 50}});
    int by = network_integers(&net, (int64_t[]){0, 1, 2, 0}, 4);
    network_output(&net, network_node(&net, "Pad", (int[]){x, by, -2}, NULL));
    CHECK_STR(kernel_of(&net, cpu), "axis pad");
    arena_release(&net.graph.arena);
    device_close(cpu);
}

int main(void) {
    TEST(test_axis_plain);
    TEST(test_axis_avx2);
    TEST(test_axis_avx512);
    TEST(test_they_are_chosen);
    return TEST_END();
}
