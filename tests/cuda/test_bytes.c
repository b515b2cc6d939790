// SPDX-License-Identifier: Apache-2.0
/* A network with bytes as inputs and outputs, on the emulated GPU in every precision, against the
 * plain kernels. */
#include "agent/engine/device/kernel.h"
#include "agent/engine/ops/rewrite/rewrite.h"
#include "agent/engine/run/execution_plan.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network.h"
#include "tests/cuda/emulated.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { N = 2, H = 6, W = 10 };

static void run(const char *name, struct graph *graph, const struct tensor *x,
                struct tensor *ret_bytes, struct tensor *ret_bad) {
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct error err = {0};
    struct tensor y[2] = {0};
    void *block = NULL;
    CHECK_OK(device_open(name, 1, &device, &err), &err);
    CHECK_OK(execution_plan_new(device, graph, x, &plan, &err), &err);
    CHECK_OK(device->ops->alloc(device, plan->schedule->block_bytes, &block, &err), &err);
    for (int i = 0; i < 3; i++) { /* the second run is recorded, the third replays it */
        CHECK_OK(execution_plan_run(plan, block, x, y, NULL, &err), &err);
    }
    CHECK_OK(tensor_init(ret_bytes, y[0].type, &y[0].shape, &err), &err);
    CHECK_OK(tensor_init(ret_bad, y[1].type, &y[1].shape, &err), &err);
    memcpy(ret_bytes->data, y[0].data, (size_t)shape_count(&y[0].shape));
    memcpy(ret_bad->data, y[1].data, (size_t)shape_count(&y[1].shape) * sizeof(int32_t));
    device->ops->free(device, block);
    execution_plan_free(plan);
    device_close(device);
}

/* in -> a convolution, or nothing -> times 1, or NaN at some pixels of the second -> out */
static void compare(const char *name, bool has_conv, bool is_bad, bool is_bgr, int most) {
    struct network network;
    struct graph graph;
    struct error err = {0};
    struct tensor x = {0}, wanted[2] = {0}, seen[2] = {0};
    const struct pixel_conversion in = {
        {1 / 255.0f, 2 / 255.0f, 1 / 100.0f}, {0.5f, -1, 0.25f}, is_bgr};
    const struct pixel_conversion out = {{100, 60, 50}, {0.5f, 120.5f, 40.5f}, is_bgr};
    network_init(&network, 13);
    int value = network_input(&network, (struct shape){4, {N, 3, H, W}});
    network.values[value].has_shape = true;
    if (has_conv) {
        int w = network_constant(&network, (struct shape){4, {3, 3, 3, 3}}, 0.2f, 0);
        const struct attribute pads[] = {INTS("pads", 1, 1, 1, 1), {0}};
        value = network_node(&network, "Conv", (int[]){value, w, -2}, pads);
    }
    int factors = network_constant(&network, (struct shape){4, {N, 1, H, W}}, 0, 1);
    float *second = (float *)network.values[factors].constant.data + H * W;
    second[2 * W + 3] = second[2 * W + 7] = second[5 * W + 9] = is_bad ? NAN : 1;
    network_output(&network, network_node(&network, "Mul", (int[]){value, factors, -2}, NULL));
    CHECK_OK(rewrite_bytes(&network.graph, &in, &out, &graph, &err), &err);
    struct shape shape = {4, {N, H, W, 3}};
    CHECK_OK(tensor_init(&x, TENSOR_UINT8, &shape, &err), &err);
    for (int i = 0; i < N * H * W * 3; i++) {
        ((uint8_t *)x.data)[i] = (uint8_t)(i * 53 % 256);
    }
    run("reference", &graph, &x, &wanted[0], &wanted[1]);
    run(name, &graph, &x, &seen[0], &seen[1]);
    int low = 255, high = 0;
    for (int i = 0; i < (is_bad ? 1 : N) * H * W * 3; i++) {
        int a = ((uint8_t *)seen[0].data)[i], b = ((uint8_t *)wanted[0].data)[i];
        CHECK(abs(a - b) <= most);
        low = MIN(low, b);
        high = MAX(high, b);
    }
    CHECK(high - low > 80); /* it is a picture */
    const struct shape rows = {2, {N, H}};
    CHECK(shape_equal(&seen[1].shape, &rows) && seen[1].type == TENSOR_INT32);
    for (int i = 0; i < N * H; i++) {
        int left = !is_bad ? 0 : i == H + 2 ? W - 3 : i == H + 5 ? 1 : 0;
        CHECK_INT(((int32_t *)seen[1].data)[i], left);
        CHECK_INT(((int32_t *)wanted[1].data)[i], left);
    }
    for (int i = 0; i < 2; i++) {
        tensor_release(&wanted[i]);
        tensor_release(&seen[i]);
    }
    tensor_release(&x);
    graph_release(&graph);
    arena_release(&network.graph.arena);
}

static void test_bytes_in_float32(void) {
    for (int i = 0; i < 8; i++) {
        compare("cuda", i & 1, i & 2, i & 4, 1);
    }
    CHECK_INT(emulated_allocated(), 0);
}

static void test_bytes_in_16_bits(void) {
    for (int i = 0; i < 8; i++) {
        compare("cuda:bfloat16", i & 1, i & 2, i & 4, 3);
        compare("cuda:float16", i & 1, i & 2, i & 4, 1);
    }
    CHECK_INT(emulated_allocated(), 0);
}

static void test_another_input_is_refused(void) {
    struct network network;
    struct graph graph;
    struct error err = {0};
    const struct pixel_conversion in = {{1, 1, 1}, {0}, false};
    network_init(&network, 13);
    network.values[network_input(&network, (struct shape){2, {3, 4}})].has_shape = true;
    CHECK_INT(rewrite_bytes(&network.graph, &in, NULL, &graph, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    arena_release(&network.graph.arena);
}

int main(void) {
    TEST(test_bytes_in_float32);
    TEST(test_bytes_in_16_bits);
    TEST(test_another_input_is_refused);
    return TEST_END();
}
