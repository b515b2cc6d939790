// SPDX-License-Identifier: Apache-2.0
// Fused steps and blocked layouts of the CPU device in a training step, against the plain kernels:
// loss, every gradient and the norms' statistics of small networks, in every instruction set of
// this processor, with one thread and with three, which must agree bit for bit. SOAK_SEED and
// SOAK_ROUNDS: other numbers, and how many draws (2).
#include "agent/engine/device/cpu/fast/steps_training.h"
#include "agent/engine/device/cpu/isa.h"
#include "tests/conformance/training_step.h"
#include "tests/seed.h"

#include <sys/wait.h>
#include <unistd.h>

static const double tolerance = 2e-5; /* of the largest number of a result */

/* ---- networks with steps that only this device has ------------------------------------------- */

struct deep {
    int channels, high, wide, stride, dilation; /* the kernel's size */
    bool has_bias;
};

static int deep(struct network *net, int x, struct deep f) {
    const struct shape shape = {4, {f.channels, 1, f.high, f.wide}}, one = {1, {f.channels}};
    int w = network_constant(net, shape, 0.5F, 0), d = f.dilation;
    int bias = f.has_bias ? network_constant(net, one, 0.5F, 0) : -2;
    int top = (f.high - 1) * d / 2, left = (f.wide - 1) * d / 2;
    int bottom = (f.high - 1) * d - top, right = (f.wide - 1) * d - left;
    return network_node(net, "Conv", (int[]){x, w, bias, -2},
                        ATTRIBUTES(INT("group", f.channels), INTS("strides", f.stride, f.stride),
                                   INTS("dilations", d, d),
                                   INTS("pads", top, left, bottom, right)));
}

/* A gate for each channel of each sample, and a factor for each channel. */
static int gated(struct network *net, int x, int c) {
    int gate = conv(net, op(net, "GlobalAveragePool", x), (struct form){c, c, 1, 1});
    x = network_node(net, "Mul", (int[]){x, op(net, "Sigmoid", gate), -2}, NULL);
    int scale = network_constant(net, (struct shape){3, {c, 1, 1}}, 0.5F, 1);
    return network_node(net, "Mul", (int[]){scale, x, -2}, NULL);
}

static int silu(struct network *net, int x) {
    return network_node(net, "Mul", (int[]){x, op(net, "Sigmoid", x), -2}, NULL);
}

static int mobile(struct network *net, int x, int c) {
    x = unit(net, x, (struct form){c, 3, 1, 1});
    int y = silu(net, norm(net, deep(net, x, (struct deep){c, 5, 5, 2, 1, false}), c));
    y = norm(net, conv(net, gated(net, y, c), (struct form){c, c, 1, 1}), c);
    y = deep(net, y, (struct deep){c, 3, 3, 1, 2, true});
    y = add(net, y, deep(net, y, (struct deep){c, 7, 7, 1, 1, true}));
    y = deep(net, y, (struct deep){c, 2, 4, 1, 1, false});
    return conv(net, y, (struct form){8, c, 1, 1});
}

static int mobile_of_blocks(struct network *net, int x) {
    return mobile(net, x, 16);
}

static int mobile_of_rests(struct network *net, int x) {
    return mobile(net, x, 10);
}

static int clip(struct network *net, int x, float low, float high) {
    const struct tensor bounds[] = {{.data = arena_array(&net->graph.arena, 1, sizeof low)},
                                    {.data = arena_array(&net->graph.arena, 1, sizeof high)}};
    *(float *)bounds[0].data = low;
    *(float *)bounds[1].data = high;
    int a = network_keep(net, "low", bounds[0]), b = network_keep(net, "high", bounds[1]);
    net->values[a].is_literal = net->values[b].is_literal = true; /* else they learn */
    return network_node(net, "Clip", (int[]){x, a, b, -2}, NULL);
}

/* Activations behind norms: with one reader, with two, with the norm read by another step, too. */
static int active(struct network *net, int x) {
    net->opset = 14; /* HardSwish */
    x = clip(net, norm(net, conv(net, x, (struct form){16, 3, 3, 1}), 16), -0.4F, 0.7F);
    x = op(net, "HardSwish", norm(net, conv(net, x, (struct form){16, 16, 1, 1}), 16));
    x = silu(net, norm(net, conv(net, x, (struct form){16, 16, 3, 1}), 16));
    x = add(net, x, conv(net, x, (struct form){16, 16, 1, 1}));
    int y = norm(net, conv(net, x, (struct form){16, 16, 1, 1}), 16);
    x = add(net, y, add(net, silu(net, y), op(net, "HardSwish", y)));
    return conv(net, x, (struct form){8, 16, 1, 1});
}

/* With a number that does not learn. */
static int with_number(struct network *net, const char *name, int x, float number) {
    const struct tensor tensor = {.data = arena_array(&net->graph.arena, 1, sizeof number)};
    *(float *)tensor.data = number;
    int y = network_keep(net, "number", tensor);
    net->values[y].is_literal = true;
    return network_node(net, name, (int[]){x, y, -2}, NULL);
}

/* Activations whose parts the gradient reads, as exporters write them. */
static int in_parts(struct network *net, int x) {
    x = conv(net, x, (struct form){16, 3, 3, 1});
    int y = op(net, "Erf", with_number(net, "Div", x, 1.41421356F));
    y = network_node(net, "Mul", (int[]){x, with_number(net, "Add", y, 1), -2}, NULL);
    x = conv(net, with_number(net, "Mul", y, 0.5F), (struct form){10, 16, 1, 1});
    x = conv(net, silu(net, x), (struct form){8, 10, 1, 1});
    y = op(net, "Tanh", with_number(net, "Mul", x, 0.5F)); /* also read by a convolution */
    y = add(net, y, network_node(net, "Mul", (int[]){y, x, -2}, NULL));
    return add(net, conv(net, y, (struct form){8, 8, 1, 1}), op(net, "Exp", y));
}

static int with_constant(struct network *net, const char *name, int x, struct shape shape) {
    int y = network_constant(net, shape, 0.5F, 1);
    return network_node(net, name, (int[]){x, y, -2}, NULL);
}

/* Constants along the last dimension, along others, and one for each row. */
static int tokens(struct network *net, int x) {
    const int64_t places = 600, runs[] = {0, 16, -1}, square[] = {0, 16, 24, 25};
    x = conv(net, x, (struct form){16, 3, 1, 1});
    x = network_node(net, "Transpose", (int[]){x, -2}, ATTRIBUTES(INTS("perm", 0, 2, 3, 1)));
    x = with_constant(net, "Mul", x, (struct shape){1, {16}});
    x = with_constant(net, "Add", x, (struct shape){3, {24, 1, 16}});
    x = network_node(net, "Transpose", (int[]){x, -2}, ATTRIBUTES(INTS("perm", 0, 3, 1, 2)));
    x = network_node(net, "Reshape", (int[]){x, network_integers(net, runs, 3), -2}, NULL);
    x = op(net, "Tanh", with_constant(net, "Mul", x, (struct shape){2, {16, 1}}));
    x = with_constant(net, "Add", x, (struct shape){3, {1, 1, places}});
    x = with_constant(net, "Mul", x, (struct shape){3, {4, 16, 1}});
    x = network_node(net, "Reshape", (int[]){x, network_integers(net, square, 4), -2}, NULL);
    return conv(net, x, (struct form){8, 16, 1, 1});
}

/* Every second number of a dimension, from the second on. */
static int odd_ones(struct network *net, int x, int64_t axis) {
    const int64_t numbers[] = {1, 100, axis, 2};
    int inputs[] = {x, 0, 0, 0, 0, -2};
    for (int i = 0; i < 4; i++) {
        inputs[i + 1] = network_integers(net, &numbers[i], 1);
    }
    return network_node(net, "Slice", inputs, NULL);
}

/* Rows that are picked, one of them twice, rows from the end in steps, softmaxes of odd rows. */
static int attentive(struct network *net, int x) {
    const int64_t runs[] = {0, 0, -1}, picked[] = {3, -1, 0, 3, 7}, down[] = {40, -100, 1, -3};
    x = conv(net, x, (struct form){4, 3, 1, 1});
    x = network_node(net, "SpaceToDepth", (int[]){x, -2}, ATTRIBUTES(INT("blocksize", 2)));
    x = conv(net, x, (struct form){64, 16, 1, 1});
    x = network_node(net, "DepthToSpace", (int[]){x, -2}, ATTRIBUTES(INT("blocksize", 2)));
    x = network_node(net, "Reshape", (int[]){x, network_integers(net, runs, 3), -2}, NULL);
    x = network_node(net, "Transpose", (int[]){x, -2}, ATTRIBUTES(INTS("perm", 0, 2, 1)));
    int q = network_node(net, "Gather", (int[]){x, network_integers(net, picked, 5), -2},
                         ATTRIBUTES(INT("axis", 1)));
    int k = network_node(
        net, "Slice",
        (int[]){x, network_integers(net, &down[0], 1), network_integers(net, &down[1], 1),
                network_integers(net, &down[2], 1), network_integers(net, &down[3], 1), -2},
        NULL);
    q = odd_ones(net, q, 2);
    k = odd_ones(net, k, 2);
    int turned = network_node(net, "Transpose", (int[]){k, -2}, ATTRIBUTES(INTS("perm", 0, 2, 1)));
    int scores = network_node(net, "MatMul", (int[]){q, turned, -2}, NULL);
    scores = network_node(net, "Softmax", (int[]){scores, -2}, ATTRIBUTES(INT("axis", -1)));
    int y = network_node(net, "MatMul", (int[]){scores, k, -2}, NULL);
    return network_node(net, "LogSoftmax", (int[]){add(net, y, q), -2}, ATTRIBUTES(INT("axis", 2)));
}

static const struct row own_rows[] = {
    {"depthwise", mobile_of_blocks, 5, 11, 14},
    {"depthwise", mobile_of_blocks, 2, 3, 35},
    {"depthwise, 10 channels", mobile_of_rests, 3, 9, 6},
    {"activations", active, 4, 7, 9},
    {"tokens", tokens, 4, 24, 25},
    {"attention", attentive, 3, 6, 14},
    {"activations in parts", in_parts, 3, 7, 9},
};

/* ---- the comparison ------------------------------------------------------------------------- */

static void compare(struct work *work, const struct row *row, const struct tensor *wanted) {
    struct tensor one[RESULTS_MAX] = {0}, three[RESULTS_MAX] = {0};
    if (step(work, "cpu", 1, one) && step(work, "cpu", 3, three)) {
        double apart = distance(work, one, wanted);
        if (!(apart <= tolerance)) {
            printf("# %s at %dx%dx%d: off by %g\n", row->name, row->n, row->h, row->w, apart);
            test_failures++;
        }
        for (size_t i = 0; i < work->graph.graph.output_count; i++) {
            size_t size = (size_t)shape_count(&one[i].shape) * sizeof(float);
            CHECK(memcmp(one[i].data, three[i].data, size) == 0);
        }
    }
    release(one);
    release(three);
}

static uint32_t number_of(const char *variable, uint32_t fallback) {
    const char *text = getenv(variable);
    return text && *text ? (uint32_t)strtoul(text, NULL, 10) : fallback;
}

static void check_row(const struct row *row, uint32_t seed) {
    for (int draw = 0; draw < DRAWS_MAX; draw++) {
        struct work work;
        struct tensor wanted[RESULTS_MAX] = {0};
        work_init(&work, row, seed + (uint32_t)draw * 1000, false);
        set_target(&work);
        bool fits =
            step(&work, "reference", 2, wanted) && !is_on_edge(&work, wanted, 10 * tolerance);
        if (fits) {
            compare(&work, row, wanted);
        }
        release(wanted);
        work_release(&work);
        if (fits) {
            return;
        }
    }
    printf("# %s: every draw is on an edge\n", row->name);
    test_failures++;
}

static int check_all(void) {
    uint32_t seed = number_of("SOAK_SEED", 1), rounds = number_of("SOAK_ROUNDS", 2);
    printf("# SOAK_SEED=%u SOAK_ROUNDS=%u\n", seed, rounds);
    for (uint32_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            if (test_takes(i + round, ARRAY_LEN(rows))) {
                check_row(&rows[i], seed + round);
            }
        }
        for (size_t i = 0; i < ARRAY_LEN(own_rows); i++) {
            check_row(&own_rows[i], seed + round);
        }
    }
    return test_failures;
}

// In a separate process: oneDNN chooses its instruction set once per process.
static void check_isa(enum isa isa) {
    int status = 0;
    if (!isa_runs_here(isa)) {
        SKIP("this processor has no %s", isa_name(isa));
    }
    setenv("WINDLASS_CPU_ISA", isa_name(isa), 1);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int failures = check_all();
        fflush(stdout);
        _exit(failures ? 1 : 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    unsetenv("WINDLASS_CPU_ISA");
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

// The comparison would pass even if nothing were fused.
static void test_resnet_is_fused(void) {
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct work work;
    work_init(&work, &rows[0], 1, false);
    set_target(&work);
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(execution_plan_new(device, &work.graph.graph, work.inputs, &plan, &err), &err);
    int norms = 0, gradients = 0, elementwise = 0, row_major = 0;
    for (size_t i = 0; plan && i < plan->schedule->step_count; i++) {
        const struct step *made = &plan->schedule->steps[i];
        int id = made->node ? made->node->op->id : -1;
        norms += id == OP_NORM_TRAINING && strcmp(made->kernel->name, "fast NormTraining") == 0;
        gradients += id == OP_NORM_GRADIENT && strcmp(made->kernel->name, "fast NormGradient") == 0;
        elementwise += id == OP_RELU || id == OP_UNARY_GRADIENT;
        if (id == OP_CONV || id == OP_CONV_GRADIENT_INPUT) {
            row_major += plan->schedule->slots[made->outputs[0]].layout == 0;
        }
    }
    CHECK_INT(norms, 6);
    CHECK_INT(gradients, 6);
    CHECK_INT(elementwise, 0);
    if (isa_best() != ISA_PLAIN) {
        CHECK_INT(row_major, 0);
    }
    execution_plan_free(plan);
    device_close(device);
    work_release(&work);
}

// Nor would it notice plain kernels, or values that are copied to another layout.
static void test_depthwise_stays_in_blocks(void) {
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct work work;
    work_init(&work, &own_rows[0], 1, false);
    set_target(&work);
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(execution_plan_new(device, &work.graph.graph, work.inputs, &plan, &err), &err);
    int kernels = 0, sums = 0, expands = 0, row_major = 0;
    for (size_t i = 0; plan && i < plan->schedule->step_count; i++) {
        const struct step *made = &plan->schedule->steps[i];
        const char *kernel = made->node ? made->kernel->name : "";
        kernels += strcmp(kernel, "fast depthwise gradient") == 0;
        sums += strcmp(kernel, "fast SumTo") == 0;
        expands += strstr(kernel, "reference expand") != NULL;
        for (int k = 0; made->node && k < made->output_count; k++) {
            const struct schedule_slot *slot = &plan->schedule->slots[made->outputs[k]];
            // Only results and the network's own output are row-major.
            row_major += slot->place == PLACE_ARENA && slot->shape.rank == 4 &&
                         slot->shape.dims[0] == 5 && slot->shape.dims[1] == 16 &&
                         slot->shape.dims[2] > 1 && !slot->layout && !slot->is_output;
        }
    }
    CHECK_INT(kernels, 4);
    CHECK_INT(sums, 2);
    CHECK_INT(expands, 0);
    if (isa_best() != ISA_PLAIN) {
        CHECK_INT(row_major, 0);
    }
    execution_plan_free(plan);
    device_close(device);
    work_release(&work);
}

static void test_activations_are_fused(void) {
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct work work;
    work_init(&work, &own_rows[3], 1, false);
    set_target(&work);
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(execution_plan_new(device, &work.graph.graph, work.inputs, &plan, &err), &err);
    int seen[ACTIVATION_HARD_SWISH + 1] = {0};
    for (size_t i = 0; plan && i < plan->schedule->step_count; i++) {
        const struct step *made = &plan->schedule->steps[i];
        if (made->kernel == &fast_norm) {
            seen[((const struct norm_step *)made->state)->activation]++;
        } else if (made->kernel == &fast_norm_gradient) {
            seen[((const struct norm_gradient_step *)made->state)->activation]++;
        }
    }
    CHECK_INT(seen[ACTIVATION_NONE], 2);
    CHECK_INT(seen[ACTIVATION_CLIP], 2);
    CHECK_INT(seen[ACTIVATION_SILU], 2);
    CHECK_INT(seen[ACTIVATION_HARD_SWISH], 2);
    execution_plan_free(plan);
    device_close(device);
    work_release(&work);
}

static void look_at_plan(const struct row *row, void (*look)(const struct execution_plan *plan)) {
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct work work;
    work_init(&work, row, 1, false);
    set_target(&work);
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(execution_plan_new(device, &work.graph.graph, work.inputs, &plan, &err), &err);
    if (plan) {
        look(plan);
    }
    execution_plan_free(plan);
    device_close(device);
    work_release(&work);
}

static int count_kernels(const struct execution_plan *plan, const char *name) {
    int count = 0;
    for (size_t i = 0; i < plan->schedule->step_count; i++) {
        const struct step *made = &plan->schedule->steps[i];
        count += made->node && strstr(made->kernel->name, name);
    }
    return count;
}

static void look_at_moves(const struct execution_plan *plan) {
    CHECK_INT(count_kernels(plan, "axis gather back"), 1);
    CHECK_INT(count_kernels(plan, "axis copy back"), 5); // three Slices, both of depth
    CHECK_INT(count_kernels(plan, "move_gradient"), 0);
    CHECK_INT(count_kernels(plan, "softmax"), 0);
}

static void test_moves_have_kernels(void) {
    look_at_plan(&own_rows[5], look_at_moves);
}

// Of the activations' parts only the hyperbolic tangent is kept, which a convolution reads.
static void look_at_parts(const struct execution_plan *plan) {
    int again = 0;
    for (size_t i = 0; i < plan->graph->node_count; i++) {
        const struct node *node = &plan->graph->nodes[i];
        int id = node->op->id;
        if (id == OP_ERF || id == OP_DIV || id == OP_SIGMOID) {
            CHECK_INT(plan->schedule->slots[node->outputs[0]].place, PLACE_NONE);
            again++;
        }
    }
    CHECK(again >= 3);
}

static void test_parts_are_computed_again(void) {
    look_at_plan(&own_rows[6], look_at_parts);
}

int main(void) {
    TEST(test_plain);
    TEST(test_avx2);
    TEST(test_avx512);
    TEST(test_resnet_is_fused);
    TEST(test_depthwise_stays_in_blocks);
    TEST(test_activations_are_fused);
    TEST(test_moves_have_kernels);
    TEST(test_parts_are_computed_again);
    return TEST_END();
}
