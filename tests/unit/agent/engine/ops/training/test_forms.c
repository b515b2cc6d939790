// SPDX-License-Identifier: Apache-2.0
/* Networks as exporters write them for training, in the form of inference. */
#include "agent/engine/training_graph.h"

#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/test.h"

enum { WIDTH = 4 };

static const struct shape row = {1, {WIDTH}};

/* A network with one norm or dropout; its first output is what follows that. */
struct fixture {
    struct network network;
    struct graph graph;
    struct forms forms;
    struct error err;
    int x;
};

static void begin(struct fixture *fixture, int opset) {
    *fixture = (struct fixture){.x = 0};
    network_init(&fixture->network, opset);
    fixture->x = network_input(&fixture->network, (struct shape){2, {-1, WIDTH}});
    fixture->network.values[fixture->x].has_shape = true;
}

static void end(struct fixture *fixture) {
    graph_release(&fixture->graph);
    arena_release(&fixture->network.graph.arena);
}

static int normalize(struct fixture *fixture) {
    return forms_normalize(&fixture->network.graph, &fixture->graph, &fixture->forms,
                           &fixture->err);
}

static int norm(struct fixture *fixture, const struct attribute *attributes, int outputs) {
    int scale = network_constant(&fixture->network, row, 0.1f, 1);
    int shift = network_constant(&fixture->network, row, 0.1f, 0);
    int mean = network_constant(&fixture->network, row, 0.1f, 0);
    int variance = network_constant(&fixture->network, row, 0.1f, 1);
    return network_node_many(&fixture->network, "BatchNormalization",
                             (int[]){fixture->x, scale, shift, mean, variance, -2}, attributes,
                             outputs);
}

/* ---- BatchNormalization --------------------------------------------------------------------- */

static void test_norms(void) {
    static const struct {
        int opset, outputs, training_mode, is_test; /* -1: without the attribute */
        bool is_changed;
    } cases[] = {
        {5, 1, -1, 1, false},  {5, 5, -1, 0, true},  {6, 5, -1, -1, true},  {7, 1, -1, -1, false},
        {9, 1, -1, -1, false}, {9, 5, -1, -1, true}, {13, 5, -1, -1, true}, {14, 1, 0, -1, false},
        {14, 3, 1, -1, true},  {15, 1, 1, -1, true}, {15, 3, 1, -1, true},  {21, 3, 1, -1, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture fixture;
        struct attribute attributes[3] = {{.name = NULL}};
        size_t count = 0;
        if (cases[i].training_mode >= 0) {
            attributes[count++] = (struct attribute){.name = "training_mode",
                                                     .kind = ATTRIBUTE_INTEGER,
                                                     .integer = cases[i].training_mode};
        }
        if (cases[i].is_test >= 0) {
            attributes[count++] = (struct attribute){
                .name = "is_test", .kind = ATTRIBUTE_INTEGER, .integer = cases[i].is_test};
        }
        begin(&fixture, cases[i].opset);
        int y = norm(&fixture, attributes, cases[i].outputs);
        CHECK_INT(node_check(&fixture.network.nodes[0], &fixture.err), 0);
        network_output(&fixture.network, y);
        if (cases[i].outputs == 3) { /* as outputs of the network, too */
            network_output(&fixture.network, y + 1);
            network_output(&fixture.network, y + 2);
        }
        CHECK_OK(normalize(&fixture), &fixture.err);
        const struct node *node = &fixture.graph.nodes[0];
        CHECK_INT(node->output_count, 1);
        CHECK_INT(node->outputs[0], y);
        CHECK_INT((int)fixture.graph.output_count, 1);
        CHECK_INT((int)fixture.forms.outputs, cases[i].outputs == 3 ? 2 : 0);
        CHECK_INT(node_integer(node, "training_mode", 0), 0);
        CHECK(cases[i].opset > 6 || node_integer(node, "is_test", 0) == 1);
        CHECK_INT((int)fixture.forms.norms, cases[i].is_changed);
        CHECK_INT(node_check(node, &fixture.err), 0);
        end(&fixture);
    }
}

/* A network that computes with the statistics of a batch has no form of inference. */
static void test_statistics_that_are_read(void) {
    struct fixture fixture;
    begin(&fixture, 15);
    int y = norm(&fixture, (struct attribute[]){INT("training_mode", 1), {.name = NULL}}, 3);
    y = network_node(&fixture.network, "Sub", (int[]){y, y + 1, -2}, NULL);
    network_output(&fixture.network, y);
    CHECK_INT(normalize(&fixture), -1);
    CHECK_INT(fixture.err.kind, ERROR_UNSUPPORTED);
    CHECK(strstr(fixture.err.text, "rows would depend on their batch") != NULL);
    end(&fixture);
}

/* ---- Dropout -------------------------------------------------------------------------------- */

enum ratio_form { RATIO_CONSTANT, RATIO_IDENTITY, RATIO_DOUBLE, RATIO_ABSENT, RATIO_FORMS };

static int make_ratio(struct fixture *fixture, enum ratio_form form, double ratio) {
    struct network *network = &fixture->network;
    bool is_wide = form == RATIO_DOUBLE || form == RATIO_IDENTITY;
    struct tensor tensor = {.type = is_wide ? TENSOR_FLOAT64 : TENSOR_FLOAT32};
    tensor.data = arena_alloc(&network->graph.arena, 8);
    tensor_put_number(&tensor, 0, ratio);
    int value = form == RATIO_ABSENT ? -1 : network_keep(network, "ratio", tensor);
    return form == RATIO_IDENTITY ? network_node(network, "Identity", (int[]){value, -2}, NULL)
                                  : value;
}

static int make_training(struct fixture *fixture) {
    struct tensor yes = {.type = TENSOR_BOOL};
    yes.data = arena_alloc(&fixture->network.graph.arena, 1);
    *(uint8_t *)yes.data = 1;
    return network_keep(&fixture->network, "training", yes);
}

static const struct node *find_node(const struct graph *graph, enum op_id id) {
    const struct node *found = NULL;
    for (size_t i = 0; i < graph->node_count; i++) {
        found = graph->nodes[i].op->id == (int)id ? &graph->nodes[i] : found;
    }
    return found;
}

static void test_dropout(void) {
    for (int form = 0; form < RATIO_FORMS; form++) {
        struct fixture fixture;
        begin(&fixture, 13);
        int ratio = make_ratio(&fixture, (enum ratio_form)form, 0.25);
        int y = network_node_many(&fixture.network, "Dropout",
                                  (int[]){fixture.x, ratio, make_training(&fixture), -2}, NULL, 2);
        network_output(&fixture.network, y);
        network_output(&fixture.network, y + 1); /* the mask */
        CHECK_OK(normalize(&fixture), &fixture.err);
        const struct node *node = find_node(&fixture.graph, OP_DROPOUT);
        CHECK(node != NULL);
        CHECK_INT(node->input_count, 2);
        CHECK_INT(node->output_count, 1);
        CHECK_INT((int)fixture.graph.output_count, 1);
        if (form != RATIO_ABSENT) {
            const struct value *made = &fixture.graph.values[node->inputs[1]];
            CHECK(made->is_constant && made->type == TENSOR_FLOAT32);
            CHECK(tensor_number(&made->constant, 0) == 0.25);
        } else {
            CHECK_INT(node->inputs[1], -1);
        }
        end(&fixture);
    }
}

/* With ratio 0 nothing is dropped, and a mask is true everywhere; an attribute says it before
 * opset 12. */
static void test_dropout_of_nothing(void) {
    for (int opset = 10; opset < 14; opset += 3) {
        struct fixture fixture;
        begin(&fixture, opset);
        int ratio = make_ratio(&fixture, RATIO_IDENTITY, 0);
        const int with[] = {fixture.x, ratio, make_training(&fixture), -2}, old[] = {fixture.x, -2};
        const struct attribute attributes[] = {NUM("ratio", 0), {.name = NULL}};
        int y = network_node_many(&fixture.network, "Dropout", opset < 12 ? old : with,
                                  opset < 12 ? attributes : NULL, 2);
        int mask = network_node(&fixture.network, "Cast", (int[]){y + 1, -2},
                                (struct attribute[]){INT("to", 1), {.name = NULL}});
        network_output(&fixture.network,
                       network_node(&fixture.network, "Mul", (int[]){y, mask, -2}, NULL));
        CHECK_OK(normalize(&fixture), &fixture.err);
        CHECK(find_node(&fixture.graph, OP_DROPOUT) == NULL);
        const struct node *made = find_node(&fixture.graph, OP_CONSTANT_OF_SHAPE);
        CHECK(made && made->outputs[0] == y + 1);
        CHECK(made && tensor_number(&made->attributes[0].tensor, 0) == 1);
        for (size_t i = 0; i < fixture.graph.node_count; i++) {
            CHECK_INT(node_check(&fixture.graph.nodes[i], &fixture.err), 0);
            CHECK_INT(fixture.graph.nodes[i].opset, opset);
        }
        end(&fixture);
    }
}

/* ---- folded norms --------------------------------------------------------------------------- */

static void test_folded(void) {
    static const struct {
        const char *weight, *bias;
        bool is_folded;
    } cases[] = {{"onnx::Conv_22", "onnx::Conv_23", true},
                 {"c.weight", "getitem_bias", true},
                 {"c.weight", "c.bias", false},
                 {"conv/kernel", "conv/bias", false},
                 {"onnx::Conv_22", "c.bias", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture fixture;
        begin(&fixture, 13);
        int weight = network_constant(&fixture.network, (struct shape){3, {2, 1, 1}}, 1, 0);
        int bias = network_constant(&fixture.network, (struct shape){1, {2}}, 1, 0);
        fixture.network.values[weight].name = cases[i].weight;
        fixture.network.values[bias].name = cases[i].bias;
        network_output(&fixture.network, network_node(&fixture.network, "Conv",
                                                      (int[]){fixture.x, weight, bias, -2}, NULL));
        CHECK_OK(normalize(&fixture), &fixture.err);
        CHECK_INT((int)fixture.forms.folded.count, cases[i].is_folded);
        CHECK(!cases[i].is_folded || strcmp(fixture.forms.folded.names[0], "Conv") == 0);
        end(&fixture);
    }
}

/* ---- copies without a name ------------------------------------------------------------------ */

/* Values are numbered from 0, so that nothing may be kept at the -1 of an output without one. */
static void test_copies_without_a_name(void) {
    static const char *const ops[] = {"Cast", "Identity"};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        struct fixture fixture;
        const struct attribute to[] = {INT("to", 1), {.name = NULL}};
        begin(&fixture, 13);
        struct network *network = &fixture.network;
        int constant = network_constant(network, row, 0, 1); /* the same number everywhere */
        network_node(network, ops[i], (int[]){constant, -2}, i ? NULL : to);
        network->ports[0][1][0] = -1;
        while (network->graph.value_count < 60) {
            network_value(network, "unused");
        }
        for (int n = 0; n < 4;
             n++) { /* 64 values: notes about the last are before the next table */
            network_output(network, network_node(network, "Relu", (int[]){fixture.x, -2}, NULL));
        }
        CHECK_OK(normalize(&fixture), &fixture.err);
        CHECK_INT((int)fixture.graph.node_count, 5);
        CHECK_INT((int)fixture.graph.output_count, 4);
        end(&fixture);
    }
}

/* ---- tied weights ---------------------------------------------------------------------------- */

/* y = tanh(x w) v: v is a constant of the exporter's folding. */
static void turned(struct fixture *fixture, const char *name, float change, bool is_read) {
    static const struct shape square = {2, {WIDTH, WIDTH}};
    float *w, *v;
    begin(fixture, 13);
    struct network *network = &fixture->network;
    int first = network_constant(network, square, 0.5f, 0);
    int second = network_constant(network, square, 0.5f, 0);
    network->values[first].name = "w";
    network->values[second].name = name;
    w = network->values[first].constant.data;
    v = network->values[second].constant.data;
    for (int i = 0; i < WIDTH * WIDTH; i++) {
        w[i] = (float)i;
        v[i % WIDTH * WIDTH + i / WIDTH] = (float)i;
    }
    v[5] += change;
    int x = fixture->x;
    x = is_read ? network_node(network, "MatMul", (int[]){x, first, -2}, NULL) : x;
    x = network_node(network, "MatMul", (int[]){x, second, -2}, NULL);
    network_output(network, x);
}

static void test_transposed_weights(void) {
    static const struct {
        const char *name;
        float change;
        bool is_read, is_tied;
    } cases[] = {{"onnx::MatMul_22", 0, true, true},
                 {"onnx::MatMul_22", 0.5f, true, false},
                 {"v", 0, true, false},
                 {"val_9", 0, true, true},
                 {"val_9", 0.5f, true, false},
                 {"/layer/Transpose_output_0", 0, true, true},
                 {"onnx::MatMul_22", 0, false, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture fixture;
        turned(&fixture, cases[i].name, cases[i].change, cases[i].is_read);
        CHECK_OK(normalize(&fixture), &fixture.err);
        const struct node *node = find_node(&fixture.graph, OP_TRANSPOSE);
        CHECK_INT(node != NULL, cases[i].is_tied);
        CHECK_INT((int)fixture.forms.tied.count, cases[i].is_tied);
        CHECK_INT((int)fixture.forms.computed.count, 0);
        CHECK(!node || !fixture.graph.values[node->outputs[0]].is_constant);
        CHECK(!node || node_check(node, &fixture.err) == 0);
        end(&fixture);
    }
}

/* Both matrices get these numbers. */
static void fill_squares(struct network *network, const float *diagonal_beside_corner) {
    for (size_t v = 0; v < network->graph.value_count; v++) {
        struct value *value = &network->values[v];
        bool is_square = value->is_constant && shape_count(&value->shape) == WIDTH * WIDTH;
        for (int k = 0; is_square && k < WIDTH * WIDTH; k++) {
            int which = k == 1 || k == WIDTH ? 2 : k / WIDTH == k % WIDTH ? 0 : 1;
            ((float *)value->constant.data)[k] = diagonal_beside_corner[which];
        }
    }
}

/* A symmetric matrix equals its transposed one; an identity matrix is equal by its making. */
static void test_matrices_that_are_equal_by_chance(void) {
    static const float cases[][3] = {{1, 0, 0}, {1, 2, 3}, {1, 1, 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture fixture;
        turned(&fixture, "onnx::MatMul_22", 0, true);
        fill_squares(&fixture.network, cases[i]);
        CHECK_OK(normalize(&fixture), &fixture.err);
        CHECK_INT((int)fixture.forms.tied.count, 0);
        CHECK(find_node(&fixture.graph, OP_TRANSPOSE) == NULL);
        end(&fixture);
    }
}

/* An Identity of a weight: tied, but a tensor of its own if equal numbers say nothing. */
static void test_identities(void) {
    static const struct {
        float numbers[4];
        bool is_tied;
    } cases[] = {{{0, 0, 0, 0}, false}, {{1, 0, 0, 1}, false}, {{1, 2, 3, 1}, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture fixture;
        begin(&fixture, 13);
        struct network *network = &fixture.network;
        int w = network_constant(network, (struct shape){2, {2, 2}}, 1, 0);
        memcpy(network->values[w].constant.data, cases[i].numbers, sizeof cases[i].numbers);
        int same = network_node(network, "Identity", (int[]){w, -2}, NULL);
        int x = network_node(network, "MatMul", (int[]){w, same, -2}, NULL);
        network_output(network, x);
        CHECK_OK(normalize(&fixture), &fixture.err);
        CHECK_INT((int)fixture.forms.tied.count, cases[i].is_tied);
        CHECK(fixture.graph.values[same].is_constant == !cases[i].is_tied);
        end(&fixture);
    }
}

/* What only the log can say: one folded tensor in two places, and two that are formulas. readers:
 * of a single number, of which it says the same, however many there are. */
static void check_computed(int readers) {
    struct fixture fixture;
    begin(&fixture, 13);
    struct network *network = &fixture.network;
    int both = network_constant(network, (struct shape){2, {WIDTH, WIDTH}}, 0.5f, 0);
    int norm = network_constant(network, row, 0.5f, 1);
    network->values[both].name = "onnx::MatMul_7";
    network->values[norm].name = "onnx::Div_9";
    int x = network_node(network, "MatMul", (int[]){fixture.x, both, -2}, NULL);
    x = network_node(network, "MatMul", (int[]){x, both, -2}, NULL);
    x = network_node(network, "Div", (int[]){x, norm, -2}, NULL);
    int scale = network_constant(network, (struct shape){0}, 0.5f, 1);
    network->values[scale].name = "onnx::Mul_11";
    for (int i = 0; i < readers; i++) {
        x = network_node(network, "Mul", (int[]){x, scale, -2}, NULL);
    }
    network_output(network, x);
    CHECK_OK(normalize(&fixture), &fixture.err);
    CHECK_INT((int)fixture.forms.tied.count, 1);
    CHECK_STR(fixture.forms.tied.names[0], "onnx::MatMul_7");
    CHECK_INT((int)fixture.forms.computed.count, 2);
    CHECK_STR(fixture.forms.computed.names[0], "onnx::Div_9");
    CHECK_STR(fixture.forms.computed.names[1], "onnx::Mul_11");
    end(&fixture);
}

static void test_computed(void) {
    check_computed(1);
    check_computed(2);
}

/* A weight that the exporter has numbered is a formula where it writes others as they are. */
static void test_computed_weights(void) {
    static const struct {
        const char *op, *weight, *bias;
        int computed;
    } cases[] = {
        {"Gemm", "onnx::Gemm_7", "i.bias", 1},       {"Gemm", "i.weight", "onnx::Gemm_8", 1},
        {"Gemm", "onnx::Gemm_7", "onnx::Gemm_8", 2}, {"Gemm", "val_3", "i.bias", 0},
        {"Gemm", "i.weight", "i.bias", 0},           {"Conv", "onnx::Conv_7", "c.bias", 1},
        {"Conv", "onnx::Conv_7", NULL, 1},           {"Conv", "onnx::Conv_7", "onnx::Conv_8", 0},
        {"Conv", "c.weight", "c.bias", 0},           {"MatMul", "onnx::MatMul_7", NULL, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture fixture;
        bool is_conv = strcmp(cases[i].op, "Conv") == 0;
        begin(&fixture, 13);
        struct network *network = &fixture.network;
        int weight = network_constant(
            network, is_conv ? (struct shape){3, {2, 1, 1}} : (struct shape){2, {WIDTH, WIDTH}},
            0.5f, 0);
        int bias = network_constant(network, (struct shape){1, {is_conv ? 2 : WIDTH}}, 0.5f, 0);
        network->values[weight].name = cases[i].weight;
        network->values[bias].name = cases[i].bias ? cases[i].bias : "unused";
        int inputs[] = {fixture.x, weight, cases[i].bias ? bias : -2, -2};
        network_output(network, network_node(network, cases[i].op, inputs, NULL));
        CHECK_OK(normalize(&fixture), &fixture.err);
        CHECK_INT((int)fixture.forms.computed.count, cases[i].computed);
        end(&fixture);
    }
}

/* GroupNorm by dynamo's exporter: InstanceNormalization of ones and zeros, which are initializers,
 * then the module's own scale, which it has given another shape. */
static void test_norms_of_ones(void) {
    static const struct {
        const char *name;
        float change;
        enum role role;
        int computed;
    } cases[] = {{"val_3", 0, ROLE_LITERAL, 1},
                 {"onnx::InstanceNormalization_3", 0, ROLE_LITERAL, 1},
                 {"val_3", 0.5f, ROLE_VARIABLE, 2},
                 {"norm.weight", 0, ROLE_VARIABLE, 1},
                 {"12", 0, ROLE_VARIABLE, 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture fixture;
        struct training_graph graph;
        const struct training_options options = {.loss = TRAINING_MEAN_SQUARED};
        begin(&fixture, 13);
        struct network *network = &fixture.network;
        int ones = network_constant(network, row, 0, 1),
            zeros = network_constant(network, row, 0, 0);
        int own = network_constant(network, row, 0.5f, 1);
        network->values[ones].name = cases[i].name;
        network->values[zeros].name = "val_4";
        network->values[own].name = "val_5";
        ((float *)network->values[ones].constant.data)[1] += cases[i].change;
        network->values[fixture.x].shape = (struct shape){3, {-1, WIDTH, 6}};
        int x = network_node(network, "InstanceNormalization", (int[]){fixture.x, ones, zeros, -2},
                             NULL);
        const struct attribute order[] = {INTS("perm", 0, 2, 1), {.name = NULL}};
        x = network_node(network, "Transpose", (int[]){x, -2}, order);
        network_output(network, network_node(network, "Mul", (int[]){x, own, -2}, NULL));
        CHECK_OK(normalize(&fixture), &fixture.err);
        CHECK_INT((int)fixture.forms.computed.count, cases[i].computed);
        CHECK_OK(training_graph_build(&fixture.graph, &options, &graph, &fixture.err),
                 &fixture.err);
        for (size_t k = 0; k < graph.roles.count; k++) {
            const struct role_of_constant *constant = &graph.roles.constants[k];
            CHECK_INT((int)constant->role, (int)(constant->value == ones    ? cases[i].role
                                                 : constant->value == zeros ? ROLE_LITERAL
                                                                            : ROLE_VARIABLE));
        }
        CHECK_INT((int)graph.roles.count, 3);
        training_graph_release(&graph);
        end(&fixture);
    }
}

int main(void) {
    TEST(test_norms_of_ones);
    TEST(test_transposed_weights);
    TEST(test_matrices_that_are_equal_by_chance);
    TEST(test_identities);
    TEST(test_computed);
    TEST(test_computed_weights);
    TEST(test_norms);
    TEST(test_statistics_that_are_read);
    TEST(test_dropout);
    TEST(test_dropout_of_nothing);
    TEST(test_folded);
    TEST(test_copies_without_a_name);
    return TEST_END();
}
