// SPDX-License-Identifier: Apache-2.0
// Values of 8 bits that stay float32 between quantized layers (ops/rewrite/expand_whole.c), against
// the nodes of the graph as it is, which make 8 bits: the same numbers, ties and clamped ones too.
#include "agent/engine/ops/infer/params.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_compare.h"

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

static int number(struct network *net, double value, enum tensor_type type) {
    struct tensor one = {.type = type};
    one.data = arena_array(&net->graph.arena, 1, sizeof(float));
    tensor_put_number(&one, 0, value);
    return network_keep(net, "number", one);
}

struct form {
    enum tensor_type type; // of 8 bits
    double scale, zero, read_scale, read_zero;
    bool casts, views, reads_bits; // a Cast instead; behind Identity; another reader
};

static void build(struct network *net, const struct form *form) {
    network_init(net, 13);
    int x = network_input(net, (struct shape){4, {2, 5, 17, 31}});
    /* Numbers of 8 bits: many are half of a step. */
    net->ranges[x] = (struct network_range){.low = -50, .high = 50, .rounds_to = TENSOR_BFLOAT16};
    int scale = number(net, form->scale, TENSOR_FLOAT32),
        zero = number(net, form->zero, form->type);
    int q = network_node(net, "QuantizeLinear", (int[]){x, scale, zero, -2}, NULL);
    int bits = q;
    q = form->views ? network_node(net, "Identity", (int[]){q, -2}, NULL) : q;
    int y = form->casts ? network_node(net, "Cast", (int[]){q, -2}, ATTRIBUTES(INT("to", 1)))
                        : network_node(net, "DequantizeLinear",
                                       (int[]){q, number(net, form->read_scale, TENSOR_FLOAT32),
                                               number(net, form->read_zero, form->type), -2},
                                       NULL);
    if (form->reads_bits) { // as a whole number of 32 bits
        int wide = network_node(net, "Cast", (int[]){bits, -2}, ATTRIBUTES(INT("to", 6)));
        wide = network_node(net, "Cast", (int[]){wide, -2}, ATTRIBUTES(INT("to", 1)));
        y = network_node(net, "Add", (int[]){y, wide, -2}, NULL);
    }
    network_output(net, y);
}

static int count(const struct graph *graph, const char *op) {
    int found = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        found += strcmp(graph->nodes[i].op->name, op) == 0;
    }
    return found;
}

static void check_form(const struct form *form, struct device *reference, struct device *cpu) {
    struct error err = {0};
    struct network net;
    struct graph rewritten;
    struct tensor wanted = {0}, seen = {0};
    build(&net, form);
    CHECK_OK(network_run_graph(&net, &net.graph, reference, 1, &wanted, &err), &err);
    CHECK_OK(network_run(&net, cpu, 1, &seen, &err), &err);
    int64_t others = 0; // but for the sign of 0
    for (int64_t i = 0; wanted.data && seen.data && i < shape_count(&wanted.shape); i++) {
        others += tensor_number(&wanted, i) != tensor_number(&seen, i);
    }
    CHECK(wanted.data && seen.data);
    CHECK_INT(0, others);
    CHECK_OK(rewrite_graph(&net.graph, &rewritten, &err), &err);
    CHECK_INT(0, count(&rewritten, "DequantizeLinear"));
    CHECK_INT(1, count(&rewritten, "Round"));
    graph_release(&rewritten);
    tensor_release(&wanted);
    tensor_release(&seen);
    arena_release(&net.graph.arena);
}

static void check_isa(enum isa isa) {
    static const struct form forms[] = {
        {TENSOR_UINT8, 0.25, 128, 0.25, 128, false, false, false},
        {TENSOR_UINT8, 0.1, 7, 0.1, 7, false, true, false},
        {TENSOR_INT8, 0.5, 0, 0.5, 0, false, false, false},
        {TENSOR_INT8, 0.125, -100, 0.3, 17, false, false, true},
        {TENSOR_UINT8, 0.25, 100, 0, 0, true, true, false},
        {TENSOR_INT8, 0.3, 0, 0, 0, true, false, true},
    };
    if (!isa_runs_here(isa)) {
        SKIP("this processor has no %s", isa_name(isa));
    }
    struct error err = {0};
    struct device *reference = NULL, *cpu = NULL;
    setenv("WINDLASS_CPU_ISA", isa_name(isa), 1);
    CHECK_OK(device_open("reference", 1, &reference, &err), &err);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        CHECK_OK(device_open("cpu", 1 + (int)(i % 2), &cpu, &err), &err);
        check_form(&forms[i], reference, cpu);
        device_close(cpu);
    }
    unsetenv("WINDLASS_CPU_ISA");
    device_close(reference);
}

static void test_plain(void) {
    check_isa(ISA_PLAIN);
}

static void test_avx2(void) {
    check_isa(ISA_AVX2);
}

static void test_avx512(void) {
    check_isa(ISA_AVX512);
}

// A convolution of whole numbers: the same numbers as in float32, in AMX's tiles, too.
static void test_whole_numbers_are_exact(void) {
    static const char *const kinds[] = {"plain", "avx512_bf16", "amx"};
    struct tensor seen[ARRAY_LEN(kinds)] = {0};
    struct error err = {0};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct network net;
        struct device *cpu = NULL;
        network_init(&net, 13);
        int x = network_input(&net, (struct shape){4, {1, 35, 13, 11}});
        int w = network_constant(&net, (struct shape){4, {37, 35, 3, 3}}, 0, 0);
        net.values[x].type = TENSOR_UINT8;
        net.ranges[x] = (struct network_range){.high = 256};
        struct tensor bytes = {.type = TENSOR_INT8, .shape = {4, {37, 35, 3, 3}}};
        int8_t *to = bytes.data = arena_array(&net.graph.arena, 37 * 35 * 9, 1);
        for (int k = 0; k < 37 * 35 * 9; k++) {
            to[k] = (int8_t)(k * 37 % 256 - 128);
        }
        net.values[w].type = bytes.type;
        net.values[w].constant = bytes;
        int zero = number(&net, 128, TENSOR_UINT8);
        int y = network_node(&net, "ConvInteger", (int[]){x, w, zero, -2}, NULL);
        network_output(&net, y);
        setenv("WINDLASS_CPU_BF16", kinds[i], 1);
        CHECK_OK(device_open("cpu", 2, &cpu, &err), &err);
        unsetenv("WINDLASS_CPU_BF16");
        CHECK_OK(network_run(&net, cpu, 1, &seen[i], &err), &err);
        device_close(cpu);
        CHECK(seen[i].data && memcmp(seen[0].data, seen[i].data, 37 * 11 * 9 * 4) == 0);
        arena_release(&net.graph.arena);
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        tensor_release(&seen[i]);
    }
}

/* ---- layers ---------------------------------------------------------------------------------- */

// Weights of 8 bits behind DequantizeLinear, with a scale for each output, or one.
static int weights(struct network *net, struct shape shape, int axis, bool is_one) {
    struct tensor bits = {.type = TENSOR_INT8, .shape = shape}, scales = {.shape = {1, {1}}};
    int64_t values = shape_count(&shape);
    int8_t *to = bits.data = arena_array(&net->graph.arena, (size_t)values, 1);
    for (int64_t i = 0; i < values; i++) {
        to[i] = (int8_t)(i * 89 % 255 - 127);
    }
    scales.shape.dims[0] = is_one ? 1 : shape.dims[axis];
    float *scale = scales.data =
        arena_array(&net->graph.arena, (size_t)shape_count(&scales.shape), sizeof *scale);
    for (int64_t i = 0; i < scales.shape.dims[0]; i++) {
        scale[i] = 0.002F + 0.0001F * (float)(i % 7);
    }
    scales.shape.rank = is_one ? 0 : 1;
    int b = network_keep(net, "bits", bits), a = network_keep(net, "scales", scales);
    return network_node(net, "DequantizeLinear", (int[]){b, a, -2}, ATTRIBUTES(INT("axis", axis)));
}

static int rounded(struct network *net, int x, double scale, double zero) {
    int s = number(net, scale, TENSOR_FLOAT32), z = number(net, zero, TENSOR_UINT8);
    x = network_node(net, "QuantizeLinear", (int[]){x, s, z, -2}, NULL);
    return network_node(net, "DequantizeLinear", (int[]){x, s, z, -2}, NULL);
}

static void convolutions(struct network *net) {
    int x = network_input(net, (struct shape){4, {2, 19, 14, 15}});
    int bias = network_constant(net, (struct shape){1, {40}}, 0.5F, 0);
    int w = weights(net, (struct shape){4, {40, 19, 3, 3}}, 0, false);
    int y = network_node(net, "Conv", (int[]){rounded(net, x, 1.0 / 128, 128), w, bias, -2},
                         ATTRIBUTES(INTS("pads", 1, 1, 1, 1), INTS("strides", 2, 2)));
    y = rounded(net, network_node(net, "Relu", (int[]){y, -2}, NULL), 0.04, 0);
    w = weights(net, (struct shape){4, {24, 40, 1, 1}}, 0, true);
    y = network_node(net, "Conv", (int[]){y, w, -2}, NULL);
    network_output(net, rounded(net, y, 0.125, 120));
}

// As in ResNet: the quantized value before is added, and only its 8 bits are read by a layer.
static void residual(struct network *net) {
    int x = network_input(net, (struct shape){4, {1, 16, 12, 13}});
    int w = weights(net, (struct shape){4, {32, 16, 3, 3}}, 0, false);
    int a = network_node(net, "Conv", (int[]){rounded(net, x, 1.0 / 128, 128), w, -2}, NULL);
    a = rounded(net, a, 0.02, 120);
    w = weights(net, (struct shape){4, {32, 32, 1, 1}}, 0, true);
    int y = rounded(net, network_node(net, "Conv", (int[]){a, w, -2}, NULL), 0.03, 128);
    y = network_node(net, "Add", (int[]){y, a, -2}, NULL);
    y = rounded(net, network_node(net, "Relu", (int[]){y, -2}, NULL), 0.03, 0);
    w = weights(net, (struct shape){4, {16, 32, 1, 1}}, 0, true);
    y = network_node(net, "Conv", (int[]){y, w, -2}, NULL);
    network_output(net, rounded(net, y, 0.125, 120));
}

static void products(struct network *net) {
    int x = network_input(net, (struct shape){2, {21, 37}});
    int y = network_node(net, "MatMul",
                         (int[]){rounded(net, x, 1.0 / 128, 128),
                                 weights(net, (struct shape){2, {37, 52}}, 1, false), -2},
                         NULL);
    int bias = network_constant(net, (struct shape){1, {33}}, 0.5F, 0);
    int w = weights(net, (struct shape){2, {33, 52}}, 0, false);
    y = network_node(net, "Gemm", (int[]){rounded(net, y, 0.02, 100), w, bias, -2},
                     ATTRIBUTES(INT("transB", 1)));
    network_output(net, rounded(net, y, 0.125, 120));
}

// Sums are rounded in another order: few numbers are on the other side of a tie, one step away.
static void check_layers(void (*build_layers)(struct network *net), const char *layer, int layers) {
    static const char *const kinds[] = {"plain", "avx512_bf16", "amx"};
    struct error err = {0};
    struct network net;
    struct graph rewritten;
    struct tensor wanted = {0};
    struct device *reference = NULL;
    network_init(&net, 13);
    build_layers(&net);
    CHECK_OK(device_open("reference", 1, &reference, &err), &err);
    CHECK_OK(network_run_graph(&net, &net.graph, reference, 1, &wanted, &err), &err);
    CHECK_OK(rewrite_graph(&net.graph, &rewritten, &err), &err);
    int whole = 0;
    for (size_t i = 0; i < rewritten.node_count; i++) {
        const struct node *node = &rewritten.nodes[i];
        whole += strcmp(node->op->name, layer) == 0 &&
                 node_integer(node, PARAM_IS_WHOLE, 0) == PARAM_ROUNDS;
    }
    CHECK_INT(layers, whole);
    graph_release(&rewritten);
    for (size_t i = 0; i < ARRAY_LEN(kinds) && wanted.data; i++) {
        struct device *cpu = NULL;
        struct tensor seen = {0};
        int64_t values = shape_count(&wanted.shape), others = 0, far = 0;
        setenv("WINDLASS_CPU_BF16", kinds[i], 1);
        CHECK_OK(device_open("cpu", 2, &cpu, &err), &err);
        unsetenv("WINDLASS_CPU_BF16");
        CHECK_OK(network_run(&net, cpu, 1, &seen, &err), &err);
        for (int64_t k = 0; k < values && seen.data; k++) {
            double off = fabs(tensor_number(&seen, k) - tensor_number(&wanted, k));
            others += off > 1e-6;
            far += !(off < 0.126);
        }
        CHECK(seen.data && others * 50 <= values);
        CHECK_INT(0, far);
        tensor_release(&seen);
        device_close(cpu);
    }
    tensor_release(&wanted);
    device_close(reference);
    arena_release(&net.graph.arena);
}

// Nothing is between two convolutions: chains are computed on what they write.
static void test_chains_belong_to_the_layers(void) {
    struct network net;
    struct error err = {0};
    struct graph rewritten;
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct tensor input = {0};
    int convolutions_seen = 0, chains = 0;
    network_init(&net, 13);
    residual(&net);
    CHECK_OK(rewrite_graph(&net.graph, &rewritten, &err), &err);
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(tensor_init(&input, TENSOR_FLOAT32, &net.values[net.inputs[0]].shape, &err), &err);
    CHECK_OK(execution_plan_new(device, &rewritten, &input, &plan, &err), &err);
    for (size_t i = 0; i < plan->schedule->step_count; i++) {
        const struct step *step = &plan->schedule->steps[i];
        convolutions_seen += step->node && strcmp(step->kernel->name, "fast Conv") == 0;
        chains += step->node && strcmp(step->kernel->name, "fast chain") == 0;
    }
    CHECK_INT(3, convolutions_seen);
    CHECK_INT(2, chains); // of the input and the output
    execution_plan_free(plan);
    tensor_release(&input);
    device_close(device);
    graph_release(&rewritten);
    arena_release(&net.graph.arena);
}

static void test_layers(void) {
    check_layers(convolutions, "Conv", 2);
    check_layers(residual, "Conv", 3);
    check_layers(products, "MatMul", 1);
    check_layers(products, "Gemm", 1);
}

int main(void) {
    TEST(test_plain);
    TEST(test_avx2);
    TEST(test_avx512);
    TEST(test_whole_numbers_are_exact);
    TEST(test_layers);
    TEST(test_chains_belong_to_the_layers);
    return TEST_END();
}
