// SPDX-License-Identifier: Apache-2.0
/* How device/cuda plans a schedule, without a GPU: which step got which kernel, in which layout
 * values have, and the requests to the libraries, as golden text. Also recordings, and a GPU whose
 * memory is full. */
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_run.h"
#include "tests/cuda/emulated.h"
#include "tests/test.h"

#include <stdarg.h>
#include <stdio.h>

static char text[8192];

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...) {
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
}

static void say_slots(const struct schedule *schedule, const int *slots, int count) {
    for (int i = 0; i < count; i++) {
        char shape[128];
        if (slots[i] >= 0) {
            const struct schedule_slot *slot = &schedule->slots[slots[i]];
            shape_format(&slot->shape, shape);
            say(" %s%s", shape, slot->layout ? "*" : "");
        }
    }
}

/* "cuda conv: 1x3x8x8 -> 1x8x8x8*", where * is channels last. */
static void say_plan(const struct schedule *schedule) {
    for (size_t i = 0; i < schedule->step_count; i++) {
        const struct step *step = &schedule->steps[i];
        if (step->node) {
            say("%s:", step->kernel->name);
            say_slots(schedule, step->inputs, step->input_count);
            say(" ->");
            say_slots(schedule, step->outputs, step->output_count);
            say("\n");
        }
    }
}

static void open_all(const char *name, struct device **ret_device) {
    struct error err = {0};
    CHECK_OK(device_open(name, 1, ret_device, &err), &err);
}

/* Plans and runs once; the text is the plan, followed by the libraries' calls. */
static void describe(void (*build)(struct network *), const char *device_name) {
    struct network network;
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct tensor inputs[NETWORK_PORTS] = {0}, outputs[NETWORK_PORTS] = {0};
    struct error err = {0};
    void *block = NULL;
    text[0] = 0;
    network_init(&network, 13);
    build(&network);
    open_all(device_name, &device);
    for (size_t i = 0; i < network.graph.input_count; i++) {
        struct value *value = &network.values[network.inputs[i]];
        CHECK_OK(tensor_init(&inputs[i], value->type, &value->shape, &err), &err);
    }
    (void)emulated_notes();
    CHECK_OK(execution_plan_new(device, &network.graph, inputs, &plan, &err), &err);
    if (plan) {
        CHECK_OK(device->ops->alloc(device, plan->schedule->block_bytes, &block, &err), &err);
        CHECK_OK(execution_plan_run(plan, block, inputs, outputs, NULL, &err), &err);
        say_plan(plan->schedule);
        say("%s", emulated_notes());
        device->ops->free(device, block);
    }
    execution_plan_free(plan);
    for (int i = 0; i < NETWORK_PORTS; i++) {
        tensor_release(&inputs[i]);
    }
    device_close(device);
    arena_release(&network.graph.arena);
}

static int conv(struct network *network, int x, struct shape w, int64_t pad, int64_t group) {
    int weights = network_constant(network, w, 0.3f, 0);
    int bias = network_constant(network, (struct shape){1, {w.dims[0]}}, 0.5f, 0);
    const struct attribute attributes[] = {
        INTS("pads", pad, pad, pad, pad), INT("group", group), {0}};
    return network_node(network, "Conv", (int[]){x, weights, bias, -2}, attributes);
}

static int norm(struct network *network, int x, int64_t c) {
    int scale = network_constant(network, (struct shape){1, {c}}, 0.5f, 1);
    int bias = network_constant(network, (struct shape){1, {c}}, 0.5f, 0);
    return network_node(network, "InstanceNormalization", (int[]){x, scale, bias, -2}, NULL);
}

static int one(struct network *network, const char *op, int x) {
    return network_node(network, op, (int[]){x, -2}, NULL);
}

static int reflect(struct network *network, int x, int64_t by) {
    const struct attribute mode[] = {TXT("mode", "reflect"), {0}};
    int pads = network_integers(network, (int64_t[]){0, 0, by, by, 0, 0, by, by}, 8);
    return network_node(network, "Pad", (int[]){x, pads, -2}, mode);
}

/* Pad, conv, norm, relu; pad, conv, norm, add, doubling; pad, conv. */
static void style(struct network *network) {
    int x = network_input(network, (struct shape){4, {1, 3, 6, 8}});
    x = conv(network, reflect(network, x, 1), (struct shape){4, {12, 3, 3, 3}}, 0, 1);
    x = one(network, "Relu", norm(network, x, 12));
    int y = conv(network, reflect(network, x, 1), (struct shape){4, {12, 12, 3, 3}}, 0, 1);
    x = network_node(network, "Add", (int[]){x, norm(network, y, 12), -2}, NULL);
    int scales = network_constant(network, (struct shape){1, {4}}, 0, 1);
    float *numbers = network->values[scales].constant.data;
    numbers[2] = numbers[3] = 2;
    const struct attribute modes[] = {TXT("mode", "nearest"),
                                      TXT("nearest_mode", "floor"),
                                      TXT("coordinate_transformation_mode", "asymmetric"),
                                      {0}};
    x = network_node(network, "Resize", (int[]){x, -1, scales, -2}, modes);
    network_output(network,
                   conv(network, reflect(network, x, 1), (struct shape){4, {3, 12, 3, 3}}, 0, 1));
}

static void test_style_in_bfloat16(void) {
    describe(style, "cuda:bfloat16");
    CHECK_STR(text, "cuda pad: 1x3x6x8 8 -> 1x3x8x10\n"
                    "cuda conv: 1x3x8x10 -> 1x12x6x8*\n"
                    "cuda norm: 1x12x6x8* -> 1x12x6x8*\n"
                    "cuda pad: 1x12x6x8* 8 -> 1x12x8x10*\n"
                    "cuda conv: 1x12x8x10* -> 1x12x6x8*\n"
                    "cuda norm: 1x12x6x8* 1x12x6x8* -> 1x12x6x8*\n"
                    "cuda resize: 1x12x6x8* 4 -> 1x12x14x18*\n"
                    "cuda conv: 1x12x14x18* -> 1x3x12x16\n"
                    "convolution bfloat16 x 1x8x8x10 w 16x8x3x3 y 1x16x6x8 pad 0,0 stride 1,1 "
                    "dilation 1,1 groups 1\n"
                    "convolution bfloat16 x 1x16x8x10 w 16x16x3x3 y 1x16x6x8 pad 0,0 stride 1,1 "
                    "dilation 1,1 groups 1\n"
                    "convolution bfloat16 x 1x16x14x18 w 8x16x3x3 y 1x8x12x16 pad 0,0 stride 1,1 "
                    "dilation 1,1 groups 1 bias\n");
}

/* The same in float32 keeps every node except additions that cuDNN does. */
static void test_style_in_float32(void) {
    describe(style, "cuda");
    CHECK_STR(text, "cuda pad: 1x3x6x8 8 -> 1x3x8x10\n"
                    "cuda conv: 1x3x8x10 -> 1x12x6x8\n"
                    "cuda norm: 1x12x6x8 12 12 -> 1x12x6x8\n"
                    "cuda unary: 1x12x6x8 -> 1x12x6x8\n"
                    "cuda pad: 1x12x6x8 8 -> 1x12x8x10\n"
                    "cuda conv: 1x12x8x10 -> 1x12x6x8\n"
                    "cuda norm: 1x12x6x8 12 12 -> 1x12x6x8\n"
                    "cuda binary: 1x12x6x8 1x12x6x8 -> 1x12x6x8\n"
                    "cuda resize: 1x12x6x8 4 -> 1x12x12x16\n"
                    "cuda pad: 1x12x12x16 8 -> 1x12x14x18\n"
                    "cuda conv: 1x12x14x18 -> 1x3x12x16\n"
                    "convolution float x 1x3x8x10 w 12x3x3x3 y 1x12x6x8 pad 0,0 stride 1,1 "
                    "dilation 1,1 groups 1 bias\n"
                    "convolution float x 1x12x8x10 w 12x12x3x3 y 1x12x6x8 pad 0,0 stride 1,1 "
                    "dilation 1,1 groups 1 bias\n"
                    "convolution float x 1x12x14x18 w 3x12x3x3 y 1x3x12x16 pad 0,0 stride 1,1 "
                    "dilation 1,1 groups 1 bias\n");
}

static int batch_norm(struct network *network, int x, int64_t c) {
    struct shape shape = {1, {c}};
    int scale = network_constant(network, shape, 0.5f, 1);
    int bias = network_constant(network, shape, 0.5f, 0);
    int mean = network_constant(network, shape, 0.1f, 0);
    int variance = network_constant(network, shape, 0.4f, 1);
    return network_node(network, "BatchNormalization", (int[]){x, scale, bias, mean, variance, -2},
                        NULL);
}

/* A residual block with a shortcut, one filter a channel, a pool and a layer of rows. */
static void classifier(struct network *network) {
    int x = network_input(network, (struct shape){4, {2, 3, 8, 8}});
    x = one(network, "Relu",
            batch_norm(network, conv(network, x, (struct shape){4, {16, 3, 3, 3}}, 1, 1), 16));
    int y = conv(network, x, (struct shape){4, {16, 16, 1, 1}}, 0, 1);
    x = one(network, "Relu", network_node(network, "Add", (int[]){y, x, -2}, NULL));
    x = conv(network, x, (struct shape){4, {16, 1, 3, 3}}, 1, 16);
    int low = network_constant(network, (struct shape){0}, 0, 0);
    int high = network_constant(network, (struct shape){0}, 0, 6);
    x = network_node(network, "Clip", (int[]){x, low, high, -2}, NULL);
    x = one(network, "Flatten", one(network, "GlobalAveragePool", x));
    int w = network_constant(network, (struct shape){2, {16, 10}}, 0.5f, 0);
    int bias = network_constant(network, (struct shape){1, {10}}, 0.5f, 0);
    x = one(network, "Relu", network_node(network, "Gemm", (int[]){x, w, bias, -2}, NULL));
    network_output(network, one(network, "Softmax", x));
}

static void test_classifier_in_float16(void) {
    describe(classifier, "cuda:float16");
    CHECK_STR(text, "cuda conv: 2x3x8x8 -> 2x16x8x8*\n"
                    "cuda conv: 2x16x8x8* 2x16x8x8* -> 2x16x8x8*\n"
                    "cuda conv: 2x16x8x8* -> 2x16x8x8*\n"
                    "cuda global_pool: 2x16x8x8* -> 2x16x1x1\n"
                    "cuda gemm: 2x16 -> 2x10*\n"
                    "cuda softmax: 2x10* -> 2x10\n"
                    "convolution half x 2x8x8x8 w 16x8x3x3 y 2x16x8x8 pad 1,1 stride 1,1 dilation "
                    "1,1 groups 1 bias relu\n"
                    "convolution half x 2x16x8x8 w 16x16x1x1 y 2x16x8x8 pad 0,0 stride 1,1 "
                    "dilation 1,1 groups 1 bias add relu\n"
                    "product half 2x16 inner 16 batches 1 b turned bias relu\n");
}

/* Runs `runs` times, with inputs from seeds 1, 2, 3 ...; outputs must equal the reference's. */
static void run_often(struct device *device, struct network *network, int runs) {
    struct device *reference = NULL;
    struct tensor x = {0}, y[NETWORK_PORTS] = {0};
    struct execution_plan *plan = NULL;
    struct error err = {0};
    void *block = NULL;
    open_all("reference", &reference);
    CHECK_OK(tensor_init(&x, TENSOR_FLOAT32, &network->values[network->inputs[0]].shape, &err),
             &err);
    CHECK_OK(execution_plan_new(device, &network->graph, &x, &plan, &err), &err);
    CHECK_OK(device->ops->alloc(device, plan->schedule->block_bytes, &block, &err), &err);
    for (int run = 0; run < runs; run++) {
        struct tensor wanted = {0};
        CHECK_OK(network_run(network, reference, (uint32_t)run + 1, &wanted, &err), &err);
        network_draw(&x, &network->ranges[network->inputs[0]], (uint32_t)run + 1);
        CHECK_OK(execution_plan_run(plan, block, &x, y, NULL, &err), &err);
        for (int64_t i = 0; i < shape_count(&wanted.shape); i++) {
            float seen = ((float *)y[0].data)[i], right = ((float *)wanted.data)[i];
            CHECK(fabsf(seen - right) <= 1e-3f);
        }
        tensor_release(&wanted);
    }
    device->ops->free(device, block);
    execution_plan_free(plan);
    tensor_release(&x);
    device_close(reference);
}

/* The second run is recorded and done by the recording; so are all that follow. */
static void test_runs_are_recorded(void) {
    struct network network;
    struct device *device = NULL;
    network_init(&network, 13);
    classifier(&network);
    open_all("cuda", &device);
    size_t before = emulated_graphs();
    run_often(device, &network, 4);
    CHECK_INT(emulated_graphs() - before, 3);
    device_close(device);
    CHECK_INT(emulated_allocated(), 0);
    arena_release(&network.graph.arena);
}

/* The host's work cannot be part of a recording: such runs go step by step. */
static void test_host_steps_are_not_recorded(void) {
    struct network network;
    struct device *device = NULL;
    network_init(&network, 13);
    int x = network_input(&network, (struct shape){2, {3, 5}});
    network_output(&network, one(&network, "Relu", one(&network, "Hardmax", x)));
    open_all("cuda", &device);
    size_t before = emulated_graphs();
    run_often(device, &network, 3);
    CHECK_INT(emulated_graphs() - before, 0);
    device_close(device);
    arena_release(&network.graph.arena);
}

static void test_a_full_card_is_one_line(void) {
    struct device *device = NULL;
    struct error err = {0};
    void *memory = NULL;
    open_all("cuda", &device);
    emulated_limit((size_t)64 << 20);
    CHECK_INT(device->ops->alloc(device, (size_t)100 << 20, &memory, &err), -1);
    CHECK_INT(err.kind, ERROR_EXHAUSTED);
    CHECK_STR(err.text, "device \"cuda\": the GPU's memory is full: 100 MiB are needed, 64 of 64 "
                        "are free");
    emulated_limit(0);
    device_close(device);
}

static void test_precisions(void) {
    struct device *device = NULL;
    struct error err = {0};
    CHECK_INT(device_open("cuda:half", 1, &device, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, "device \"cuda:half\": the precision is unknown; float32, tf32, float16 "
                        "or bfloat16 is expected");
}

int main(void) {
    TEST(test_style_in_bfloat16);
    TEST(test_style_in_float32);
    TEST(test_classifier_in_float16);
    TEST(test_runs_are_recorded);
    TEST(test_host_steps_are_not_recorded);
    TEST(test_a_full_card_is_one_line);
    TEST(test_precisions);
    return TEST_END();
}
