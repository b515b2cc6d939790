// SPDX-License-Identifier: Apache-2.0
/* Which constants are trained: decided by the graph, for weights on whatever way to the loss. */
#include "agent/engine/training_graph.h"

#include "agent/engine/ops/infer/params.h"
#include "agent/engine/ops/microsoft/microsoft.h"
#include "agent/engine/training.h"

#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

enum { WIDTH = 4 };

static const struct shape row = {1, {WIDTH}}, matrix = {2, {WIDTH, WIDTH}};

static int weight(struct network *network, const char *name, struct shape shape) {
    int value = network_constant(network, shape, 0.5f, 0.1f);
    network->values[value].name = name;
    return value;
}

static int literal(struct network *network, const char *name, struct shape shape) {
    int value = weight(network, name, shape);
    network->values[value].is_literal = true;
    return value;
}

/* One number. */
static int number(struct network *network, const char *name) {
    return weight(network, name, (struct shape){.rank = 0});
}

static int begin(struct network *network) {
    network_init(network, 13);
    int x = network_input(network, (struct shape){2, {-1, WIDTH}});
    network->values[x].has_shape = true;
    return x;
}

static int node(struct network *network, const char *op, int a, int b) {
    return network_node(network, op, (int[]){a, b, -2}, NULL);
}

static int build(const struct network *network, const char *freeze,
                 struct training_graph *ret_graph, struct error *err) {
    const struct training_options options = {
        .loss = TRAINING_MEAN_SQUARED, .freeze = &freeze, .freeze_count = freeze ? 1 : 0};
    return training_graph_build(&network->graph, &options, ret_graph, err);
}

/* The role of the constant of this name; -1: it is not asked about. */
static int role_of(const struct network *network, const struct training_graph *graph,
                   const char *name) {
    for (size_t i = 0; i < graph->roles.count; i++) {
        if (strcmp(network->values[graph->roles.constants[i].value].name, name) == 0) {
            return (int)graph->roles.constants[i].role;
        }
    }
    return -1;
}

/* ---- ways to the loss ---- */

static int by_concat(struct network *network, int w) {
    const struct attribute axis[] = {INT("axis", 0), {0}};
    int other = weight(network, "other", (struct shape){2, {1, WIDTH}});
    return network_node(network, "Concat", (int[]){w, other, -2}, axis);
}

static int by_split(struct network *network, int w) {
    const struct attribute axis[] = {INT("axis", 0), {0}};
    return network_node_many(network, "Split", (int[]){w, -2}, axis, 2) + 1;
}

static int by_slice(struct network *network, int w) {
    int from = network_integers(network, (int64_t[]){0}, 1);
    int to = network_integers(network, (int64_t[]){2}, 1);
    return network_node(network, "Slice", (int[]){w, from, to, -2}, NULL);
}

static int by_expand(struct network *network, int w) {
    int flat = node(network, "Slice", w, network_integers(network, (int64_t[]){0}, 1));
    network->ports[network->graph.node_count - 1][0][2] =
        network_integers(network, (int64_t[]){1}, 1);
    network->nodes[network->graph.node_count - 1].input_count = 3;
    return node(network, "Expand", flat, network_integers(network, (int64_t[]){3, WIDTH}, 2));
}

static int by_cast(struct network *network, int w) {
    const struct attribute to[] = {INT("to", 1), {0}};
    return network_node(network, "Cast", (int[]){w, -2}, to);
}

static int by_gather(struct network *network, int w) {
    int one = network_integers(network, (int64_t[]){1}, 1);
    return node(network, "Gather", node(network, "Neg", w, -2), one);
}

static int by_where(struct network *network, int w) {
    int zero = literal(network, "zero", matrix);
    int is_more = node(network, "Greater", node(network, "Neg", w, -2), zero);
    return network_node(network, "Where", (int[]){is_more, w, zero, -2}, NULL);
}

/* A norm of the weight, as in weight normalization: w / |w|. */
static int by_norm(struct network *network, int w) {
    int square = node(network, "Mul", w, w);
    int sum = network_node(network, "ReduceSum", (int[]){square, -2}, NULL);
    return node(network, "Div", w, node(network, "Sqrt", sum, -2));
}

static int by_shape(struct network *network, int w) {
    int shape = network_integers(network, (int64_t[]){-1, 2}, 2);
    int turned = node(network, "Transpose", node(network, "Reshape", w, shape), -2);
    return node(network, "Unsqueeze", turned, network_integers(network, (int64_t[]){0}, 1));
}

/* The gradient is there, and of the weight's name. */
static void test_every_way_to_the_loss(void) {
    int (*const ways[])(struct network *, int) = {by_concat, by_split, by_slice, by_expand, by_cast,
                                                  by_gather, by_where, by_norm,  by_shape};
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct network network;
        struct training_graph graph;
        struct error err = {0};
        int x = begin(&network);
        int moved = ways[i](&network, weight(&network, "w", matrix));
        int sum = network_node(&network, "ReduceSum", (int[]){moved, -2}, NULL);
        network_output(&network, node(&network, "Mul", node(&network, "Add", x, sum), x));
        CHECK_OK(build(&network, NULL, &graph, &err), &err);
        CHECK_INT(role_of(&network, &graph, "w"), ROLE_VARIABLE);
        CHECK_INT((int)graph.variable_count, i == 0 ? 2 : 1);
        training_graph_release(&graph);
        arena_release(&network.graph.arena);
    }
}

/* ---- other constants ---- */

static int norm(struct network *network, int x, int scale) {
    int shift = weight(network, "norm.shift", row);
    int mean = weight(network, "norm.mean", row), variance = weight(network, "norm.variance", row);
    return network_node(network, "BatchNormalization", (int[]){x, scale, shift, mean, variance, -2},
                        NULL);
}

static void make_all_roles(struct network *network) {
    int x = begin(network);
    x = norm(network, x, weight(network, "norm.scale", row));
    x = node(network, "Add", x, weight(network, "positions", row));
    x = node(network, "Mul", x, number(network, "layer.temperature"));
    x = node(network, "Mul", x, number(network, "onnx::Mul_12"));
    x = node(network, "Mul", x, number(network, "val_3"));
    x = node(network, "Mul", x, literal(network, "/Constant_output_0", row));
    int mask = weight(network, "mask", row);
    ((float *)network->values[mask].constant.data)[1] = -INFINITY;
    x = node(network, "Add", x, mask);
    x = network_node(network, "Clip", (int[]){x, number(network, "low.limit"), -2}, NULL);
    int pads = network_integers(network, (int64_t[]){0, 0, 0, 0}, 4);
    x = network_node(network, "Pad", (int[]){x, pads, number(network, "pad.value"), -2}, NULL);
    weight(network, "unread", row);
    network_output(network, node(network, "Mul", x, weight(network, "head", row)));
}

static void test_roles(void) {
    static const struct {
        const char *name;
        int role;
    } rows[] = {{"norm.scale", ROLE_VARIABLE},
                {"norm.shift", ROLE_VARIABLE},
                {"norm.mean", ROLE_STATISTIC},
                {"norm.variance", ROLE_STATISTIC},
                {"positions", ROLE_VARIABLE},
                {"layer.temperature", ROLE_VARIABLE},
                {"onnx::Mul_12", ROLE_VARIABLE},
                {"val_3", ROLE_NUMBER},
                {"/Constant_output_0", ROLE_LITERAL},
                {"mask", ROLE_MASK},
                {"low.limit", ROLE_VARIABLE},
                {"pad.value", ROLE_SETTING},
                {"unread", -1},
                {"head", ROLE_FROZEN}};
    struct network network;
    struct training_graph graph;
    struct error err = {0};
    make_all_roles(&network);
    CHECK_OK(build(&network, "hea?", &graph, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(role_of(&network, &graph, rows[i].name), rows[i].role);
    }
    struct role_amount trained = roles_amount(&graph.roles, &network.graph, ROLE_VARIABLE);
    CHECK_INT((int)trained.tensors, 6);
    CHECK_INT((int)trained.elements, 3 * WIDTH + 3);
    CHECK_INT((int)graph.variable_count, 6);
    CHECK_INT((int)graph.norm_count, 1);
    training_graph_release(&graph);
    arena_release(&network.graph.arena);
}

/* Simplifiers turn Constant nodes into initializers, as 2 and e of x / sqrt(x^2 + e). */
static void test_numbers_of_simplified_files(void) {
    static const char *const roots[] = {"Sqrt", "Reciprocal", "Neg"};
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        struct network network;
        struct training_graph graph;
        struct error err = {0};
        int x = begin(&network);
        x = node(&network, "Mul", x, weight(&network, "w", row));
        int square = node(&network, "Pow", x, number(&network, "onnx::Pow_3"));
        int base = node(&network, "Add", number(&network, "onnx::Add_5"), square);
        x = node(&network, "Div", x, node(&network, roots[i], base, -2));
        network_output(&network, node(&network, "Mul", x, number(&network, "onnx::Mul_12")));
        CHECK_OK(build(&network, NULL, &graph, &err), &err);
        CHECK_INT(role_of(&network, &graph, "onnx::Pow_3"), ROLE_NUMBER);
        CHECK_INT(role_of(&network, &graph, "onnx::Add_5"), i < 2 ? ROLE_NUMBER : ROLE_VARIABLE);
        CHECK_INT(role_of(&network, &graph, "onnx::Mul_12"), ROLE_VARIABLE);
        training_graph_release(&graph);
        arena_release(&network.graph.arena);
    }
}

/* A file without initializers has its weights in Constant nodes. */
static void test_only_literals(void) {
    struct network network;
    struct training_graph graph;
    struct error err = {0};
    int x = begin(&network);
    x = node(&network, "MatMul", x, literal(&network, "w", matrix));
    int one = number(&network, "one");
    network.values[one].is_literal = true;
    network_output(&network, node(&network, "Add", x, one));
    CHECK_OK(build(&network, NULL, &graph, &err), &err);
    CHECK_INT(role_of(&network, &graph, "w"), ROLE_VARIABLE);
    CHECK_INT(role_of(&network, &graph, "one"), ROLE_NUMBER);
    training_graph_release(&graph);
    arena_release(&network.graph.arena);
}

/* A norm without scale and shift of its own still uses the batch's statistics; one whose scale is
 * frozen does not. */
static void test_norms(void) {
    for (int frozen = 0; frozen < 2; frozen++) {
        struct network network;
        struct training_graph graph;
        struct error err = {0};
        int x = begin(&network);
        int scale = frozen ? weight(&network, "norm.scale", row) : literal(&network, "ones", row);
        network_output(&network, norm(&network, x, scale));
        CHECK_OK(build(&network, frozen ? "norm.scale" : NULL, &graph, &err), &err);
        CHECK_INT((int)graph.norm_count, !frozen);
        CHECK_INT(role_of(&network, &graph, frozen ? "norm.scale" : "ones"),
                  frozen ? ROLE_FROZEN : ROLE_LITERAL);
        CHECK_INT((int)graph.variable_count, 1);
        training_graph_release(&graph);
        arena_release(&network.graph.arena);
    }
}

/* MeanVarianceNormalization is written as other nodes, which have its name; their numbers do
 * not count as weights, and nothing is counted that the file does not have. */
static void test_formulas_bring_no_weights(void) {
    struct network network;
    struct training_graph graph;
    struct error err = {0};
    int x = begin(&network), named = 0;
    x = node(&network, "Mul", x, weight(&network, "w", row));
    network_output(&network,
                   network_node(&network, "MeanVarianceNormalization", (int[]){x, -2}, NULL));
    CHECK_OK(build(&network, NULL, &graph, &err), &err);
    CHECK_INT((int)graph.variable_count, 1);
    CHECK_INT((int)graph.roles.count, 1);
    for (size_t i = 0; i < graph.decomposed.node_count; i++) {
        named += strcmp(graph.decomposed.nodes[i].name, "MeanVarianceNormalization") == 0;
    }
    CHECK(named > 4);
    training_graph_release(&graph);
    arena_release(&network.graph.arena);
}

/* ---- ids of samples ---- */

/* Whether the training's lookup refuses what is not an id of its table. */
static bool has_strict_lookup(const struct training_graph *graph, const char *op) {
    bool is_strict = false;
    for (size_t i = 0; i < graph->decomposed.node_count; i++) {
        const struct node *node = &graph->decomposed.nodes[i];
        is_strict |= strcmp(node->op->name, op) == 0 && node_integer(node, PARAM_ARE_IDS, 0);
    }
    return is_strict;
}

/* ids: of the sample, moved; else they are written into the network, which may count from the end.
 */
static void ids_of_samples_are_of_their_table(void) {
    static const int64_t ids[] = {0, -1, 2, 3};
    for (int is_sample = 0; is_sample < 2; is_sample++) {
        struct network network;
        struct training_graph graph;
        struct error err = {0};
        const struct attribute to[] = {INT("to", 7), {0}};
        int x = begin(&network), table = weight(&network, "table", matrix);
        int places = network_integers(&network, ids, 4);
        int whole = network_node(&network, "Cast", (int[]){x, -2}, to);
        int rows =
            network_node(&network, "Gather", (int[]){table, is_sample ? whole : places, -2}, NULL);
        network_output(&network, node(&network, "Add", rows, x));
        CHECK_OK(build(&network, NULL, &graph, &err), &err);
        CHECK_INT(has_strict_lookup(&graph, "Gather"), is_sample);
        training_graph_release(&graph);
        arena_release(&network.graph.arena);
    }
}

/* ---- refusals ---- */

static int operator_without_rule(struct network *network) {
    int x = begin(network);
    x = node(network, "Add", x, weight(network, "before", row));
    x = network_node(network, "Det", (int[]){x, -2}, NULL);
    return node(network, "Mul", x, weight(network, "after", row));
}

static int no_way_back(struct network *network) {
    const struct attribute to[] = {INT("to", 1), {0}};
    int x = begin(network);
    x = node(network, "Mul", x, weight(network, "w", row));
    int is_more = node(network, "Greater", x, weight(network, "threshold", row));
    return node(network, "Mul", x, network_node(network, "Cast", (int[]){is_more, -2}, to));
}

static int other_type(struct network *network) {
    const struct attribute to[] = {INT("to", 1), {0}};
    int x = begin(network);
    x = node(network, "Mul", x, weight(network, "w", row));
    int half = weight(network, "half", row);
    network->values[half].type = network->values[half].constant.type = TENSOR_FLOAT16;
    return node(network, "Mul", x, network_node(network, "Cast", (int[]){half, -2}, to));
}

/* y = h + float32(other(h)^2), by a Cast or a CastLike: one way has its gradient, one has not. */
static int beside(struct network *network, const char *op, const struct attribute *to, int like) {
    int x = 0, h = node(network, "Mul", x, weight(network, "w", row));
    int away = network_node(network, op, like < 0 ? (int[]){h, -2} : (int[]){h, like, -2}, to);
    const struct attribute back[] = {INT("to", 1), {0}};
    int square = node(network, "Mul", away, away);
    int sum = node(network, "Add", h, network_node(network, "Cast", (int[]){square, -2}, back));
    return node(network, "Mul", sum, weight(network, "after", row));
}

static int branch_in_double(struct network *network) {
    const struct attribute to[] = {INT("to", 11), {0}};
    begin(network);
    return beside(network, "Cast", to, -1);
}

static int branch_in_half(struct network *network) {
    const struct attribute to[] = {INT("to", 10), {0}};
    begin(network);
    return beside(network, "Cast", to, -1);
}

static int branch_in_bfloat(struct network *network) {
    const struct attribute to[] = {INT("to", 16), {0}};
    begin(network);
    return beside(network, "Cast", to, -1);
}

/* The type is that of a value that a node makes. */
static int branch_like_double(struct network *network) {
    const struct attribute to[] = {INT("to", 11), {0}};
    int x = begin(network);
    network->opset = 15;
    return beside(network, "CastLike", NULL, network_node(network, "Cast", (int[]){x, -2}, to));
}

/* Before the weight or behind it: no freeze would help. */
static int shape_of_the_run(struct network *network) {
    int x = begin(network);
    x = node(network, "Mul", x, weight(network, "w", row));
    int places = network_node(network, "NonZero", (int[]){x, -2}, NULL);
    const struct attribute to[] = {INT("to", 1), {0}};
    return node(network, "Mul", x, network_node(network, "Cast", (int[]){places, -2}, to));
}

/* The axis counts from the start, and the number of dimensions is not known. */
static int norm_of_unknown_axis(struct network *network) {
    const struct attribute axis[] = {INT("axis", 1), {0}};
    int x = begin(network);
    network->opset = 17;
    x = node(network, "Mul", x, weight(network, "w", row));
    x = node(network, "Reshape", x, node(network, "Shape", x, -2));
    int scale = weight(network, "after", row);
    x = network_node(network, "LayerNormalization", (int[]){x, scale, -2}, axis);
    return x;
}

/* Weights of 4 bits, and their scales. */
static int quantized_product(struct network *network) {
    static uint8_t bits[WIDTH * 8];
    const struct attribute sizes[] = {
        INT("K", WIDTH), INT("N", WIDTH), INT("block_size", 16), INT("bits", 4), {0}};
    const struct tensor packed = {TENSOR_UINT8, {3, {WIDTH, 1, 8}}, bits, false};
    int x = begin(network);
    x = node(network, "Mul", x, weight(network, "before", row));
    int q = network_keep(network, "packed", packed);
    int scales = weight(network, "before.scales", (struct shape){1, {WIDTH}});
    x = network_node(network, "Sum", (int[]){x, q, scales, -2}, sizes);
    network->nodes[network->graph.node_count - 1].op = microsoft_find("MatMulNBits", 1);
    return node(network, "Mul", x, weight(network, "after", row));
}

static int quantized_values(struct network *network) {
    int x = begin(network);
    x = node(network, "Mul", x, weight(network, "before", row));
    int scale = literal(network, "scale", (struct shape){.rank = 0});
    x = node(network, "QuantizeLinear", x, scale);
    x = node(network, "DequantizeLinear", x, scale);
    return node(network, "Mul", x, weight(network, "after", row));
}

static void test_refusals(void) {
    static const struct {
        int (*make)(struct network *network);
        const char *freeze, *text, *way_out;
    } rows[] = {
        {operator_without_rule, NULL, "Det node \"Det\": this operator has no gradient",
         "spec.trainer.model.freeze: [\"before\"]"},
        {no_way_back, NULL, "through Greater node \"Greater\"",
         "spec.trainer.model.freeze: [\"threshold\"]"},
        {other_type, NULL, "weight \"half\" (4) is float16",
         "spec.trainer.model.freeze: [\"half\"]"},
        {branch_in_double, NULL, "Cast node \"Cast\" to float64: only float32 has gradients",
         "spec.trainer.model.freeze: [\"w\"]"},
        {branch_in_half, NULL, "Cast node \"Cast\" to float16: only float32 has gradients",
         "spec.trainer.model.freeze: [\"w\"]"},
        {branch_in_bfloat, NULL, "Cast node \"Cast\" to bfloat16: only float32 has gradients",
         "spec.trainer.model.freeze: [\"w\"]"},
        {branch_like_double, NULL, "Cast node \"CastLike\" to float64: only float32 has gradients",
         "spec.trainer.model.freeze: [\"w\"]"},
        {quantized_product, NULL,
         "MatMulNBits node \"Sum\": the network is quantized, and whole numbers have no gradient, "
         "so 2 weights before it cannot be trained; train it as it was before, and quantize",
         "spec.trainer.model.freeze: [\"before\", \"before.scales\"]"},
        {quantized_values, NULL, "Linear\": the network is quantized",
         "spec.trainer.model.freeze: [\"before\"]"},
        {norm_of_unknown_axis, NULL,
         "LayerNormalization node \"LayerNormalization\": its axis 1, of an unknown number",
         "spec.trainer.model.freeze: ["},
        {shape_of_the_run, NULL, "NonZero node \"NonZero\": the shape of its output is known only",
         "torch.where"},
        {no_way_back, "thresh", "no weight of the network is named as \"thresh\"", "model.freeze"},
    };
    static const char *const cures[] = {"before", "threshold", "half",    "w",     "w",
                                        "w",      "w",         "before*", "before"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct network network;
        struct training_graph graph;
        struct error err = {0};
        network_output(&network, rows[i].make(&network));
        CHECK_INT(build(&network, rows[i].freeze, &graph, &err), -1);
        CHECK(strstr(err.text, rows[i].text) != NULL);
        CHECK(strstr(err.text, rows[i].way_out) != NULL);
        if (i < ARRAY_LEN(cures)) { /* doing what it says is enough */
            err = (struct error){0};
            CHECK_OK(build(&network, cures[i], &graph, &err), &err);
            CHECK_INT((int)graph.variable_count, 1);
            training_graph_release(&graph);
        }
        arena_release(&network.graph.arena);
    }
}

/* A cast to whole numbers has the derivative 0, and a comparison none, in whatever type. */
static void test_casts_that_stop(void) {
    static const int64_t types[] = {7, 9, 11};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct network network;
        struct training_graph graph;
        struct error err = {0};
        const struct attribute to[] = {INT("to", types[i]), {0}}, back[] = {INT("to", 1), {0}};
        int x = begin(&network), h = node(&network, "Mul", x, weight(&network, "w", row));
        int other = network_node(&network, "Cast", (int[]){h, -2}, to);
        other = types[i] == 11 ? node(&network, "Greater", other, other) : other;
        other = network_node(&network, "Cast", (int[]){other, -2}, back);
        network_output(&network, node(&network, "Mul", h, other));
        CHECK_OK(build(&network, NULL, &graph, &err), &err);
        CHECK_INT((int)graph.variable_count, 1);
        training_graph_release(&graph);
        arena_release(&network.graph.arena);
    }
}

/* A CastLike of a value that a node makes: its type is known before it runs. */
static void test_cast_like_float32(void) {
    struct network network;
    struct training_graph graph;
    struct error err = {0};
    int x = begin(&network);
    network.opset = 15;
    int h = node(&network, "Mul", x, weight(&network, "w", row));
    network_output(&network, node(&network, "CastLike", h, node(&network, "Neg", x, -2)));
    CHECK_OK(build(&network, NULL, &graph, &err), &err);
    CHECK_INT((int)graph.variable_count, 1);
    training_graph_release(&graph);
    arena_release(&network.graph.arena);
}

/* ---- constants that an exporter shared ---- */

static void set_all(struct network *network, int value, float number) {
    for (int64_t i = 0; i < shape_count(&network->values[value].shape); i++) {
        ((float *)network->values[value].constant.data)[i] = number;
    }
}

/* Zeros that are a bias here and a running mean there; a matrix that is read twice. */
static void test_shared(void) {
    struct network network;
    struct training_graph graph;
    struct graph own;
    struct error err = {0};
    int x = begin(&network);
    int zeros = weight(&network, "bias", row), tied = weight(&network, "embedding", matrix);
    set_all(&network, zeros, 0);
    int ones = weight(&network, "norm.scale", row);
    set_all(&network, ones, 1);
    int other = network_node(&network, "Identity", (int[]){zeros, -2}, NULL);
    int mean = network_node(&network, "Identity", (int[]){zeros, -2}, NULL);
    int variance = network_node(&network, "Identity", (int[]){ones, -2}, NULL);
    int same = network_node(&network, "Identity", (int[]){tied, -2}, NULL);
    x = node(&network, "Add", node(&network, "MatMul", x, tied), zeros);
    x = network_node(&network, "BatchNormalization", (int[]){x, ones, other, mean, variance, -2},
                     NULL);
    network_output(&network, node(&network, "MatMul", x, same));
    struct forms forms;
    CHECK_OK(forms_normalize(&network.graph, &own, &forms, &err), &err);
    CHECK_INT((int)own.node_count, (int)network.graph.node_count - 3);
    CHECK(own.values[other].is_constant && own.values[mean].is_constant);
    CHECK(own.values[mean].constant.data != own.values[other].constant.data);
    CHECK(!own.values[same].is_constant);
    const struct training_options options = {.loss = TRAINING_MEAN_SQUARED};
    CHECK_OK(training_graph_build(&own, &options, &graph, &err), &err);
    CHECK_INT((int)graph.variable_count, 4); /* two biases, the scale, the matrix once */
    CHECK_INT((int)roles_amount(&graph.roles, &own, ROLE_STATISTIC).tensors, 2);
    CHECK_INT(graph.norms[0].mean, mean);
    training_graph_release(&graph);
    graph_release(&own);
    /* As it was, the mean has no memory of its own. */
    CHECK_INT(training_graph_build(&network.graph, &options, &graph, &err), -1);
    CHECK(strstr(err.text, "its running mean is computed by a node") != NULL);
    arena_release(&network.graph.arena);
}

int main(void) {
    TEST(test_every_way_to_the_loss);
    TEST(test_roles);
    TEST(test_numbers_of_simplified_files);
    TEST(test_only_literals);
    TEST(test_norms);
    TEST(test_formulas_bring_no_weights);
    TEST(ids_of_samples_are_of_their_table);
    TEST(test_refusals);
    TEST(test_casts_that_stop);
    TEST(test_cast_like_float32);
    TEST(test_shared);
    return TEST_END();
}
