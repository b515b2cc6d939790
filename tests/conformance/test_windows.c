// SPDX-License-Identifier: Apache-2.0
// Pools, resizing, concatenations and networks of three dimensions (device/cpu/fast) against the
// plain kernels: drawn sizes and parameters, before and behind convolutions whose values are in
// blocks, in every instruction set of this processor.
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_compare.h"

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

struct draw {
    struct network net;
    uint64_t state;
    int64_t batch, channels, height, width;
};

static int below(struct draw *d, int limit) {
    return (int)(test_random(&d->state) % (uint64_t)limit);
}

static int conv(struct draw *d, int x, int64_t from, int64_t to) {
    const struct shape shape = {4, {to, from, 1, 1}};
    int w = network_constant(&d->net, shape, 1 / sqrtf((float)from), 0);
    return network_node(&d->net, "Conv", (int[]){x, w, -2}, NULL);
}

static int pad(struct draw *d, int x) {
    const int64_t all[] = {0, 0, below(d, 6), below(d, 6), 0, 0, below(d, 6), below(d, 6)};
    int sizes = network_integers(&d->net, all, 8);
    return network_node(&d->net, "Pad", (int[]){x, sizes, -2}, NULL);
}

static int pool(struct draw *d, int x) {
    bool is_average = below(d, 2), is_padded = below(d, 2);
    x = is_average && !is_padded && below(d, 2) ? pad(d, x) : x;
    const int64_t kernel[] = {1 + below(d, 4), 1 + below(d, 4)};
    const int64_t strides[] = {1 + below(d, 3), 1 + below(d, 3)};
    int64_t pads[4] = {0};
    for (int i = 0; i < 4 && is_padded; i++) {
        pads[i] = below(d, (int)kernel[i % 2]);
    }
    struct attribute last = INT("count_include_pad", below(d, 2));
    last.name = is_average ? last.name : NULL;
    return network_node(&d->net, is_average ? "AveragePool" : "MaxPool", (int[]){x, -2},
                        ATTRIBUTES(INTS("kernel_shape", kernel[0], kernel[1]),
                                   INTS("strides", strides[0], strides[1]),
                                   INTS("pads", pads[0], pads[1], pads[2], pads[3]),
                                   INT("ceil_mode", below(d, 2)), last));
}

static int resize(struct draw *d, int x) {
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const positions[] = {"half_pixel", "align_corners", "asymmetric",
                                            "pytorch_half_pixel"};
    const int64_t sizes[] = {d->batch, d->channels, 1 + below(d, 30), 1 + below(d, 30)};
    int to = network_integers(&d->net, sizes, 4);
    const char *mode = modes[below(d, 3)], *position = positions[below(d, 4)];
    return network_node(
        &d->net, "Resize", (int[]){x, -1, -1, to, -2},
        ATTRIBUTES(TXT("mode", mode), TXT("coordinate_transformation_mode", position)));
}

/* Channels of several values, in blocks and not, that do not fill whole blocks. */
static int concat(struct draw *d, int x) {
    int inputs[5] = {x, -2, -2, -2, -2}, count = 1 + below(d, 3);
    int64_t channels = d->channels;
    for (int i = 1; i <= count; i++) {
        const int64_t more = 1 + below(d, 40);
        const struct shape shape = {4, {d->batch, more, d->height, d->width}};
        inputs[i] = below(d, 2) ? conv(d, x, d->channels, more) : network_input(&d->net, shape);
        channels += more;
    }
    d->channels = channels;
    return network_node(&d->net, "Concat", inputs, ATTRIBUTES(INT("axis", 1)));
}

static void draw_network(struct draw *d, uint64_t seed) {
    *d = (struct draw){.state = seed};
    network_init(&d->net, 13);
    d->batch = 1 + below(d, 2);
    d->channels = 1 + below(d, 40);
    d->height = 4 + below(d, 20);
    d->width = 4 + below(d, 20);
    const struct shape shape = {4, {d->batch, d->channels, d->height, d->width}};
    int x = network_input(&d->net, shape);
    if (below(d, 3)) {
        const int64_t channels = 1 + below(d, 40);
        x = conv(d, x, d->channels, channels);
        d->channels = channels;
    }
    int which = below(d, 3);
    x = which == 0 ? pool(d, x) : which == 1 ? resize(d, x) : concat(d, x);
    network_output(&d->net, below(d, 3) ? conv(d, x, d->channels, 1 + below(d, 40)) : x);
}

/* ---- three dimensions ------------------------------------------------------------------------ */

static int conv_volume(struct draw *d, int x, int64_t from, int64_t to, bool is_point) {
    int64_t kernel[3], strides[3], dilations[3], pads[6];
    for (int i = 0; i < 3; i++) {
        kernel[i] = is_point ? 1 : 1 + below(d, 3);
        strides[i] = is_point ? 1 : 1 + below(d, 2);
        dilations[i] = 1 + below(d, 2);
        pads[i] = pads[i + 3] = is_point ? 0 : (kernel[i] - 1) * dilations[i];
    }
    pads[below(d, 6)] /= 2;
    const struct shape shape = {5, {to, from, kernel[0], kernel[1], kernel[2]}};
    float scale = 1 / sqrtf((float)(from * kernel[0] * kernel[1] * kernel[2]));
    int w = network_constant(&d->net, shape, scale, 0);
    int bias = network_constant(&d->net, (struct shape){1, {to}}, 0.5F, 0);
    return network_node(
        &d->net, "Conv", (int[]){x, w, bias, -2},
        ATTRIBUTES(INTS("strides", strides[0], strides[1], strides[2]),
                   INTS("dilations", dilations[0], dilations[1], dilations[2]),
                   INTS("pads", pads[0], pads[1], pads[2], pads[3], pads[4], pads[5])));
}

static int pool_volume(struct draw *d, int x) {
    bool is_average = below(d, 2);
    int64_t kernel[3], strides[3], pads[6];
    for (int i = 0; i < 3; i++) {
        kernel[i] = 1 + below(d, 3);
        strides[i] = 1 + below(d, 3);
        pads[i] = below(d, (int)kernel[i]);
        pads[i + 3] = below(d, (int)kernel[i]);
    }
    struct attribute last = INT("count_include_pad", below(d, 2));
    last.name = is_average ? last.name : NULL;
    return network_node(
        &d->net, is_average ? "AveragePool" : "MaxPool", (int[]){x, -2},
        ATTRIBUTES(INTS("kernel_shape", kernel[0], kernel[1], kernel[2]),
                   INTS("strides", strides[0], strides[1], strides[2]),
                   INTS("pads", pads[0], pads[1], pads[2], pads[3], pads[4], pads[5]), last));
}

static int norm_volume(struct draw *d, int x, int64_t channels) {
    const struct shape shape = {1, {channels}};
    int scale = network_constant(&d->net, shape, 0.5F, 1);
    int bias = network_constant(&d->net, shape, 0.5F, 0);
    return network_node(&d->net, "InstanceNormalization", (int[]){x, scale, bias, -2}, NULL);
}

/* x times a number for each channel; a computed one may be in blocks, of its samples. */
static int scale_volume(struct draw *d, int x, int64_t channels) {
    const struct shape shape = {4, {channels, 1, 1, 1}};
    bool is_computed = below(d, 2);
    int by =
        is_computed ? network_input(&d->net, shape) : network_constant(&d->net, shape, 0.5F, 1);
    by = is_computed ? network_node(&d->net, "Relu", (int[]){by, -2}, NULL) : by;
    return network_node(&d->net, "Mul", (int[]){x, by, -2}, NULL);
}

static int follow_volume(struct draw *d, int x) {
    int which = below(d, 8), other = -2;
    switch (which) {
    case 0:
        return pool_volume(d, x);
    case 1:
        return norm_volume(d, x, d->channels);
    case 2:
        x = scale_volume(d, x, d->channels);
        return network_node(&d->net, "Sigmoid", (int[]){x, -2}, NULL);
    case 3:
        other = network_node(&d->net, "Sigmoid", (int[]){x, -2}, NULL);
        return network_node(&d->net, "Mul", (int[]){x, other, -2}, NULL);
    case 4:
        other = conv_volume(d, x, d->channels, d->channels, true);
        return network_node(&d->net, "Add", (int[]){x, other, -2}, NULL);
    case 5:
        other = conv_volume(d, x, d->channels, d->channels, true);
        d->channels *= 2;
        return network_node(&d->net, "Concat", (int[]){x, other, -2},
                            ATTRIBUTES(INT("axis", below(d, 2) ? 1 : -4)));
    case 6:
        return network_node(&d->net, "GlobalAveragePool", (int[]){x, -2}, NULL);
    default:
        return network_node(&d->net, "Relu", (int[]){x, -2}, NULL);
    }
}

static void draw_volume(struct draw *d, uint64_t seed) {
    *d = (struct draw){.state = seed};
    network_init(&d->net, 13);
    int64_t from = 1 + below(d, 20);
    d->channels = 1 + below(d, 40);
    d->batch = 1 + below(d, 2);
    d->height = 5 + below(d, 10);
    d->width = 5 + below(d, 10);
    const struct shape shape = {5, {d->batch, from, 5 + below(d, 4), d->height, d->width}};
    int x = network_input(&d->net, shape);
    x = conv_volume(d, x, from, d->channels, below(d, 5) == 0);
    x = below(d, 2) ? network_node(&d->net, "Relu", (int[]){x, -2}, NULL) : x;
    x = follow_volume(d, x);
    x = conv_volume(d, x, d->channels, 1 + below(d, 40), below(d, 2));
    network_output(&d->net, below(d, 2) ? network_node(&d->net, "Relu", (int[]){x, -2}, NULL) : x);
}

/* A pixel of weight 0 may be infinite. */
static void draw_odd_resize(struct draw *d, uint64_t seed) {
    *d = (struct draw){.state = seed, .batch = 1};
    network_init(&d->net, 13);
    d->channels = 1 + below(d, 40);
    const struct shape shape = {4, {1, d->channels, 2 + below(d, 10), 2 + below(d, 10)}};
    int x = network_input(&d->net, shape);
    d->net.ranges[x].is_odd = true;
    network_output(&d->net, resize(d, x));
}

/* Equal numbers, whose sum in float is far away if they are added one after another. */
static void draw_large_pool(struct draw *d, uint64_t seed) {
    *d = (struct draw){.state = seed};
    network_init(&d->net, 13);
    const int64_t kernel[] = {100 + below(d, 100), 100 + below(d, 100)};
    const struct shape shape = {4, {1, 1, kernel[0] + 1, kernel[1] + 1}};
    int x = network_input(&d->net, shape);
    d->net.ranges[x] = (struct network_range){.low = 1.1, .high = 1.1};
    x = network_node(&d->net, "AveragePool", (int[]){x, -2},
                     ATTRIBUTES(INTS("kernel_shape", kernel[0], kernel[1])));
    network_output(&d->net, x);
}

/* With a device of its own, since packed weights are found again by their address. */
static void check_draw(void (*draw)(struct draw *d, uint64_t seed), uint64_t seed,
                       struct device *reference) {
    struct draw d;
    struct error err = {0};
    struct device *cpu = NULL;
    draw(&d, seed);
    CHECK_OK(device_open("cpu", 2, &cpu, &err), &err);
    if (!network_same(&d.net, reference, cpu)) {
        printf("# seed %llu: the devices differ\n", (unsigned long long)seed);
        test_failures++;
    }
    device_close(cpu);
    arena_release(&d.net.graph.arena);
}

static void check_isa(enum isa isa) {
    if (!isa_runs_here(isa)) {
        SKIP("this processor has no %s", isa_name(isa));
    }
    setenv("WINDLASS_CPU_ISA", isa_name(isa), 1);
    struct error err = {0};
    struct device *reference = NULL;
    CHECK_OK(device_open("reference", 1, &reference, &err), &err);
    for (int64_t round = 0; round < test_rounds(200); round++) {
        uint64_t seed = test_mix(test_seed(20261130) + (uint64_t)round);
        check_draw(draw_network, seed, reference);
        check_draw(draw_volume, seed, reference);
        if (round % 4 == 0) {
            check_draw(draw_odd_resize, seed, reference);
        }
        if (round % 50 == 0) {
            check_draw(draw_large_pool, seed, reference);
        }
    }
    device_close(reference);
    unsetenv("WINDLASS_CPU_ISA");
}

static void test_windows_plain(void) {
    check_isa(ISA_PLAIN);
}

static void test_windows_avx2(void) {
    check_isa(ISA_AVX2);
}

static void test_windows_avx512(void) {
    check_isa(ISA_AVX512);
}

int main(void) {
    TEST(test_windows_plain);
    TEST(test_windows_avx2);
    TEST(test_windows_avx512);
    return TEST_END();
}
