// SPDX-License-Identifier: Apache-2.0
/* The rewritten graph; tests/conformance/test_types.c checks that it computes the same. */
#include "agent/engine/ops/rewrite/expand.h"
#include "agent/engine/ops/rewrite/rewrite.h"

#include "tests/conformance/attributes.h"
#include "tests/conformance/network_run.h"
#include "tests/test.h"

static int half_input(struct network *network, struct shape shape) {
    int value = network_input(network, shape);
    network->values[value].type = TENSOR_FLOAT16;
    network->values[value].has_shape = true;
    return value;
}

static int half_constant(struct network *network, struct shape shape) {
    struct tensor tensor = {.type = TENSOR_FLOAT16, .shape = shape};
    size_t count = (size_t)shape_count(&shape);
    tensor.data = arena_array(&network->graph.arena, count, sizeof(uint16_t));
    for (size_t i = 0; i < count; i++) {
        tensor_put_number(&tensor, (int64_t)i, (double)i / 64);
    }
    return network_keep(network, "constant", tensor);
}

/* The number of steps with this operator in the plan of the rewritten network, and its first
 * input's type. */
static int count_steps(const struct network *network, int op, enum tensor_type *ret_type) {
    struct error err = {0};
    struct graph graph;
    struct device *device;
    struct execution_plan *plan;
    struct tensor inputs[NETWORK_PORTS] = {0};
    int count = 0;
    CHECK_OK(rewrite_graph(&network->graph, &graph, &err), &err);
    CHECK_OK(device_open("reference", 1, &device, &err), &err);
    for (size_t i = 0; i < graph.input_count; i++) {
        const struct value *value = &graph.values[graph.inputs[i]];
        CHECK_OK(tensor_init(&inputs[i], value->type, &value->shape, &err), &err);
    }
    CHECK_OK(execution_plan_new(device, &graph, inputs, &plan, &err), &err);
    for (size_t i = 0; i < plan->schedule->step_count; i++) {
        const struct step *step = &plan->schedule->steps[i];
        if (step->node && step->node->op->id == op) {
            *ret_type = plan->schedule->slots[step->inputs[0]].type;
            count++;
        }
    }
    execution_plan_free(plan);
    for (size_t i = 0; i < graph.input_count; i++) {
        tensor_release(&inputs[i]);
    }
    device_close(device);
    graph_release(&graph);
    return count;
}

/* One Cast at its beginning and one at its end, and none between. */
static void test_a_whole_network_widens_once(void) {
    struct network network;
    enum tensor_type type = TENSOR_BOOL;
    network_init(&network, 13);
    int x = half_input(&network, (struct shape){4, {1, 3, 6, 5}});
    int w = half_constant(&network, (struct shape){4, {4, 3, 3, 3}});
    x = network_node(&network, "Conv", (int[]){x, w, -2}, NULL);
    x = network_node(&network, "Relu", (int[]){x, -2}, NULL);
    x = network_node(&network, "Transpose", (int[]){x, -2},
                     (const struct attribute[]){INTS("perm", 0, 2, 3, 1), {0}});
    int like = half_constant(&network, (struct shape){4, {1, 4, 3, 1}});
    x = network_node(&network, "Concat", (int[]){x, like, -2},
                     (const struct attribute[]){INT("axis", 3), {0}});
    int matrix = half_constant(&network, (struct shape){2, {5, 7}});
    network_output(&network, network_node(&network, "MatMul", (int[]){x, matrix, -2}, NULL));
    CHECK_INT(count_steps(&network, OP_TRANSPOSE, &type), 1);
    CHECK_INT(type, TENSOR_FLOAT32);
    CHECK_INT(count_steps(&network, OP_CAST, &type), 2);
    arena_release(&network.graph.arena);
}

/* Values that are only moved keep the small type. */
static void test_what_does_not_count_is_left_alone(void) {
    struct network network;
    enum tensor_type type = TENSOR_BOOL;
    network_init(&network, 13);
    int x = half_input(&network, (struct shape){3, {4, 3, 6}});
    network_output(&network, network_node(&network, "Transpose", (int[]){x, -2}, NULL));
    CHECK_INT(count_steps(&network, OP_TRANSPOSE, &type), 1);
    CHECK_INT(type, TENSOR_FLOAT16);
    CHECK_INT(count_steps(&network, OP_CAST, &type), 0);
    arena_release(&network.graph.arena);
}

/* float16 cannot represent 2049: the model's own Cast rounds it; between nodes it would remain. */
static void test_the_models_own_cast_rounds(void) {
    struct error err = {0};
    struct device *device;
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    for (int casts = 0; casts < 2; casts++) {
        struct network network;
        struct tensor y;
        network_init(&network, 13);
        int x = half_input(&network, (struct shape){1, {1}});
        network.ranges[x] = (struct network_range){.low = 1, .high = 1};
        int large = network_constant(&network, (struct shape){1, {1}}, 0, 2048);
        int narrow = network_node(&network, "Cast", (int[]){large, -2},
                                  (const struct attribute[]){INT("to", 10), {0}});
        int sum = network_node(&network, "Add", (int[]){x, narrow, -2}, NULL);
        sum = casts ? network_node(&network, "Cast", (int[]){sum, -2},
                                   (const struct attribute[]){INT("to", 10), {0}})
                    : sum;
        int root = network_node(&network, "Sub", (int[]){sum, narrow, -2}, NULL);
        network_output(&network, root);
        CHECK_OK(network_run(&network, device, 1, &y, &err), &err);
        CHECK_INT(y.type, TENSOR_FLOAT16);
        CHECK_INT((int)tensor_number(&y, 0), casts ? 0 : 1);
        tensor_release(&y);
        arena_release(&network.graph.arena);
    }
    device_close(device);
}

/* Operands of old opsets are aligned, and unused outputs are not computed. */
static void test_expand(void) {
    struct network network;
    enum tensor_type type;
    network_init(&network, 15);
    int x = network_input(&network, (struct shape){4, {2, 3, 4, 5}});
    int c = network_constant(&network, (struct shape){1, {3}}, 1, 0);
    const struct attribute training[] = {INT("training_mode", 1), {0}};
    int y =
        network_node_many(&network, "BatchNormalization", (int[]){x, c, c, c, c, -2}, training, 3);
    network.ports[0][1][1] = -1;
    network_output(&network, y);
    CHECK_INT(count_steps(&network, OP_NORM_TRAINING, &type), 1);
    CHECK_INT(count_steps(&network, OP_MUL, &type), 0);
    CHECK_INT(count_steps(&network, OP_BATCH_NORMALIZATION, &type), 0);
    network_output(&network, y + 2);
    CHECK_INT(count_steps(&network, OP_MUL, &type), 1); /* the other factor is constant, too */
    arena_release(&network.graph.arena);
}

static int bytes_constant(struct network *network, struct shape shape, enum tensor_type type) {
    struct tensor tensor = {.type = type, .shape = shape};
    size_t count = (size_t)shape_count(&shape);
    tensor.data = arena_array(&network->graph.arena, MAX(count, 1), 1);
    for (size_t i = 0; i < count; i++) {
        tensor_put_number(&tensor, (int64_t)i, (double)i);
    }
    return network_keep(network, "bytes", tensor);
}

/* A scale per row is not confused with a scale per column if there are equally many. */
static void test_scales_of_rows(void) {
    static const int products[2][2] = {{2, 3}, {6, 11}};
    for (int rows = 1; rows <= 2; rows++) {
        struct network network;
        struct error err = {0};
        struct device *device;
        struct tensor y;
        network_init(&network, 13);
        int one = network_constant(&network, (struct shape){0}, 0, 1);
        int scales = network_constant(&network, (struct shape){1, {rows}}, 0.5f, 1);
        int zero = bytes_constant(&network, (struct shape){0}, TENSOR_UINT8);
        int a = bytes_constant(&network, (struct shape){2, {2, 2}}, TENSOR_UINT8);
        network_output(&network,
                       network_node(&network, "QLinearMatMul",
                                    (int[]){a, scales, zero, a, one, zero, one, zero, -2}, NULL));
        CHECK_OK(device_open("cpu", 1, &device, &err), &err);
        CHECK_OK(network_run(&network, device, 1, &y, &err), &err);
        for (int i = 0; i < 4; i++) {
            double scale = tensor_number(&network.values[scales].constant, rows == 1 ? 0 : i / 2);
            CHECK_INT(tensor_number(&y, i), nearbyint(products[i / 2][i % 2] * scale));
        }
        tensor_release(&y);
        device_close(device);
        arena_release(&network.graph.arena);
    }
}

/* The scale may be broadcast, so that it does not show how many axes there are. */
static void test_an_axis_from_the_start_needs_a_rank(void) {
    for (int64_t axis = -1; axis <= 1; axis++) {
        for (int made = 0; made <= 2; made++) {
            static const char *const makers[] = {"", "Relu", "Exp"}; /* that of Exp is not known */
            struct network network;
            struct error err = {0};
            struct graph graph;
            network_init(&network, 23);
            int x = network_input(&network, (struct shape){3, {2, 4, 5}});
            network.values[x].has_shape = true;
            int scale = network_constant(&network, (struct shape){1, {5}}, 1, 0);
            x = made ? network_node(&network, makers[made], (int[]){x, -2}, NULL) : x;
            network_output(&network,
                           network_node(&network, "RMSNormalization", (int[]){x, scale, -2},
                                        (const struct attribute[]){INT("axis", axis), {0}}));
            bool is_known = axis < 0 || made < 2;
            int result = rewrite_graph(&network.graph, &graph, &err);
            CHECK_INT(result, is_known ? 0 : -1);
            CHECK(is_known || strstr(err.text, "where the rank of the input is not known"));
            if (result == 0) {
                graph_release(&graph);
            }
            arena_release(&network.graph.arena);
        }
    }
}

/* What rules know of values before shapes are known. */
static void test_ranks_and_types(void) {
    struct network net;
    struct expansion expansion = {0};
    network_init(&net, 13);
    int x = network_input(&net, (struct shape){3, {2, 4, 5}});
    int ids = network_input(&net, (struct shape){2, {2, 3}});
    int unknown = network_input(&net, (struct shape){2, {2, 3}});
    net.values[x].has_shape = net.values[ids].has_shape = true;
    net.values[ids].type = TENSOR_INT64;
    int flat = network_integers(&net, (int64_t[]){-1, 5}, 2);
    int ends = network_integers(&net, (int64_t[]){0, 1}, 2);
    int matrix = network_constant(&net, (struct shape){2, {5, 7}}, 1, 0);
    static const struct attribute drops[] = {INT("keepdims", 0), {0}},
                                  narrow[] = {INT("to", 10), {0}};
    const struct {
        int value, rank;
        enum tensor_type type;
    } rows[] = {
        {x, 3, TENSOR_FLOAT32},
        {ids, 2, TENSOR_INT64},
        {unknown, -1, TENSOR_FLOAT32},
        {matrix, 2, TENSOR_FLOAT32},
        {network_node(&net, "MatMul", (int[]){x, matrix, -2}, NULL), 3, TENSOR_FLOAT32},
        {network_node(&net, "MatMul", (int[]){x, unknown, -2}, NULL), -1, TENSOR_FLOAT32},
        {network_node(&net, "Gather", (int[]){matrix, ids, -2}, NULL), 3, TENSOR_FLOAT32},
        {network_node(&net, "Reshape", (int[]){x, flat, -2}, NULL), 2, TENSOR_FLOAT32},
        {network_node(&net, "Reshape", (int[]){x, ids, -2}, NULL), -1, TENSOR_FLOAT32},
        {network_node(&net, "Unsqueeze", (int[]){x, ends, -2}, NULL), 5, TENSOR_FLOAT32},
        {network_node(&net, "Squeeze", (int[]){x, -2}, NULL), -1, TENSOR_FLOAT32},
        {network_node(&net, "ReduceSum", (int[]){x, ends, -2}, drops), 1, TENSOR_FLOAT32},
        {network_node(&net, "ReduceSum", (int[]){x, ends, -2}, NULL), 3, TENSOR_FLOAT32},
        {network_node(&net, "Shape", (int[]){unknown, -2}, NULL), 1, TENSOR_INT64},
        {network_node(&net, "Cast", (int[]){x, -2}, narrow), 3, TENSOR_FLOAT16},
        {network_node(&net, "Less", (int[]){matrix, x, -2}, NULL), 3, TENSOR_BOOL},
        {network_node(&net, "Exp", (int[]){x, -2}, NULL), -1, TENSOR_FLOAT32},
    };
    builder_init(&expansion.builder, &net.graph);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(expand_rank(&expansion, rows[i].value), rows[i].rank);
        CHECK_INT(expand_type(&expansion, rows[i].value), rows[i].type);
    }
    expand_facts_release(&expansion);
    builder_release(&expansion.builder);
    arena_release(&net.graph.arena);
}

int main(void) {
    TEST(test_a_whole_network_widens_once);
    TEST(test_what_does_not_count_is_left_alone);
    TEST(test_the_models_own_cast_rounds);
    TEST(test_expand);
    TEST(test_ranks_and_types);
    TEST(test_an_axis_from_the_start_needs_a_rank);
    TEST(test_scales_of_rows);
    return TEST_END();
}
