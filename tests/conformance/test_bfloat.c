// SPDX-License-Identifier: Apache-2.0
// The device "cpu:bfloat16": products against the definition in double, within the bound of factors
// that are rounded to 8 bits; whole networks against float32; and what is refused. Each with the
// plain loops, which every processor has, and with the instructions of this one.
#include "agent/engine/device/cpu/vector/vector_bfloat_choice.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_compare.h"

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

static struct device *open_bfloat(const char *kind, int threads) {
    struct error err = {0};
    struct device *device = NULL;
    setenv("WINDLASS_CPU_BF16", kind, 1);
    CHECK_OK(device_open("cpu:bfloat16", threads, &device, &err), &err);
    unsetenv("WINDLASS_CPU_BF16");
    return device;
}

/* ---- products -------------------------------------------------------------------------------- */

struct draw {
    struct network net;
    int weights; // value
    int64_t m, k, n;
    bool turned, is_computed; // the right operand: is an input
};

static void draw(struct draw *d, uint64_t seed) {
    uint64_t state = seed;
    network_init(&d->net, 13);
    d->m = 1 + (int64_t)test_below(&state, test_below(&state, 3) ? 40 : 600);
    d->k = 1 + (int64_t)test_below(&state, test_below(&state, 3) ? 100 : 1500);
    d->n = 1 + (int64_t)test_below(&state, 90);
    d->turned = test_below(&state, 2);
    bool is_gemm = d->turned || test_below(&state, 2);
    int64_t batch = is_gemm ? 1 : 1 + (int64_t)test_below(&state, 3);
    const struct shape flat = {2, {d->m, d->k}}, deep = {3, {batch, d->m, d->k}};
    int x = network_input(&d->net, is_gemm ? flat : deep);
    const struct shape straight = {2, {d->k, d->n}}, turned = {2, {d->n, d->k}};
    d->is_computed = !is_gemm && test_below(&state, 2);
    d->weights = d->is_computed ? network_input(&d->net, straight)
                                : network_constant(&d->net, d->turned ? turned : straight, 1, 0);
    d->m *= batch;
    int y = network_node(&d->net, is_gemm ? "Gemm" : "MatMul", (int[]){x, d->weights, -2},
                         d->turned ? ATTRIBUTES(INT("transB", 1)) : NULL);
    network_output(&d->net, y);
}

// The number of outputs that are further from the definition than rounded factors explain.
static int64_t count_wrong(const struct draw *d, const struct tensor *seen) {
    struct tensor x = {.shape = {2, {d->m, d->k}}};
    float *a = x.data = x_calloc((size_t)(d->m * d->k), sizeof *a);
    network_draw(&x, &d->net.ranges[d->net.inputs[0]], 1);
    struct tensor b = {.shape = {2, {d->k, d->n}}};
    float *drawn = b.data = x_calloc((size_t)(d->k * d->n), sizeof *drawn);
    network_draw(&b, &d->net.ranges[d->weights], 2);
    const float *w = d->is_computed ? drawn : d->net.values[d->weights].constant.data;
    int64_t wrong = 0;
    for (int64_t at = 0; at < d->m * d->n; at++) {
        int64_t i = at / d->n, j = at % d->n;
        double sum = 0, size = 0;
        for (int64_t k = 0; k < d->k; k++) {
            double product =
                (double)a[i * d->k + k] * (double)w[d->turned ? j * d->k + k : k * d->n + j];
            sum += product;
            size += fabs(product);
        }
        wrong += !(fabs(tensor_number(seen, at) - sum) <= 0x1.02p-7 * size + 1e-6);
    }
    free(a);
    free(drawn);
    return wrong;
}

static void check_products(const char *kind) {
    if (!vector_bfloat_get(kind)) {
        SKIP("this processor has no %s", kind);
    }
    struct error err = {0};
    struct device *plain = NULL;
    bool differs = false;
    CHECK_OK(device_open("cpu", 1, &plain, &err), &err);
    for (int64_t round = 0; round < test_rounds(12); round++) {
        static struct draw d;
        struct tensor seen = {0}, exact = {0};
        struct device *device = open_bfloat(kind, round % 2 ? 3 : 1);
        draw(&d, test_mix(test_seed(20261201) + (uint64_t)round));
        CHECK_OK(network_run(&d.net, device, 1, &seen, &err), &err);
        int64_t wrong = seen.data ? count_wrong(&d, &seen) : 1;
        if (wrong) {
            printf("# %s, round %d: %d of %dx%d, k %d\n", kind, (int)round, (int)wrong, (int)d.m,
                   (int)d.n, (int)d.k);
            test_failures++;
        }
        CHECK_OK(network_run(&d.net, plain, 1, &exact, &err), &err);
        differs |= memcmp(seen.data, exact.data, (size_t)(d.m * d.n) * sizeof(float)) != 0;
        tensor_release(&seen);
        tensor_release(&exact);
        arena_release(&d.net.graph.arena);
        device_close(device);
    }
    CHECK(differs); // it was not float32
    device_close(plain);
}

/* ---- whole networks -------------------------------------------------------------------------- */

static int op(struct network *net, const char *name, int a, int b) {
    return network_node(net, name, b < 0 ? (int[]){a, -2} : (int[]){a, b, -2}, NULL);
}

static int conv(struct network *net, int x, int ins, int outs, int kernel, int stride) {
    float scale = 1.5F / sqrtf((float)(ins * kernel * kernel));
    int w = network_constant(net, (struct shape){4, {outs, ins, kernel, kernel}}, scale, 0);
    int bias = network_constant(net, (struct shape){1, {outs}}, 0.3F, 0), pad = kernel / 2;
    return network_node(
        net, "Conv", (int[]){x, w, bias, -2},
        ATTRIBUTES(INTS("pads", pad, pad, pad, pad), INTS("strides", stride, stride)));
}

// A stem of 3 channels, residuals, a stride, an activation, a transposed one, a pool and a layer.
static void cnn(struct network *net) {
    int x = network_input(net, (struct shape){4, {2, 3, 37, 45}});
    x = op(net, "Relu", conv(net, x, 3, 24, 7, 2), -1);
    int y = op(net, "Relu", conv(net, x, 24, 40, 1, 1), -1);
    y = op(net, "Relu", conv(net, y, 40, 40, 3, 1), -1);
    y = op(net, "Relu", op(net, "Add", conv(net, y, 40, 24, 1, 1), x), -1);
    y = conv(net, y, 24, 48, 3, 2);
    y = op(net, "Mul", y, op(net, "Sigmoid", y, -1));
    int up = network_constant(net, (struct shape){4, {48, 20, 2, 2}}, 0.2F, 0);
    y = network_node(net, "ConvTranspose", (int[]){y, up, -2}, ATTRIBUTES(INTS("strides", 2, 2)));
    y = op(net, "GlobalAveragePool", conv(net, y, 20, 64, 3, 1), -1);
    y = op(net, "Flatten", y, -1);
    network_output(net,
                   op(net, "MatMul", y, network_constant(net, (struct shape){2, {64, 10}}, 1, 0)));
}

static int layer(struct network *net, int x, int ins, int outs) {
    float scale = 1.5F / sqrtf((float)ins);
    int w = network_constant(net, (struct shape){2, {ins, outs}}, scale, 0);
    x = op(net, "MatMul", x, w);
    return op(net, "Add", x, network_constant(net, (struct shape){1, {outs}}, 0.2F, 0));
}

static int heads(struct network *net, int x, bool turned) {
    x = op(net, "Reshape", x, network_integers(net, (int64_t[]){2, 19, 3, 16}, 4));
    return turned ? network_node(net, "Transpose", (int[]){x, -2},
                                 ATTRIBUTES(INTS("perm", 0, 2, 3, 1)))
                  : network_node(net, "Transpose", (int[]){x, -2},
                                 ATTRIBUTES(INTS("perm", 0, 2, 1, 3)));
}

static int norm(struct network *net, int x) {
    int scale = network_constant(net, (struct shape){1, {48}}, 0.2F, 1);
    return network_node(net, "LayerNormalization", (int[]){x, scale, -2}, NULL);
}

// A layer of an encoder: attention, residuals, norms and a wide layer.
static void encoder(struct network *net) {
    int x = network_input(net, (struct shape){3, {2, 19, 48}});
    int q = heads(net, layer(net, x, 48, 48), false), k = heads(net, layer(net, x, 48, 48), true);
    int v = heads(net, layer(net, x, 48, 48), false), s = op(net, "MatMul", q, k);
    s = op(net, "Mul", s, network_constant(net, (struct shape){0, {0}}, 0, 0.25F));
    s = op(net, "MatMul", op(net, "Softmax", s, -1), v);
    s = network_node(net, "Transpose", (int[]){s, -2}, ATTRIBUTES(INTS("perm", 0, 2, 1, 3)));
    s = op(net, "Reshape", s, network_integers(net, (int64_t[]){2, 19, 48}, 3));
    x = norm(net, op(net, "Add", x, layer(net, s, 48, 48)));
    int wide = layer(net, x, 48, 192);
    wide = op(net, "Mul", wide, op(net, "Erf", wide, -1));
    network_output(net, norm(net, op(net, "Add", x, layer(net, wide, 192, 48))));
}

enum { LARGEST_PART = 50 }; // outputs are within a 50th of the largest

static void check_network(void (*build)(struct network *net), const char *kind) {
    struct error err = {0};
    struct network net;
    struct device *reference = NULL;
    struct tensor wanted = {0};
    network_init(&net, 17);
    build(&net);
    CHECK_OK(device_open("reference", 1, &reference, &err), &err);
    CHECK_OK(network_run(&net, reference, 1, &wanted, &err), &err);
    for (int threads = 1; threads <= 3 && wanted.data; threads += 2) {
        struct device *device = open_bfloat(kind, threads);
        struct tensor seen = {0};
        double largest = 0, worst = 0;
        CHECK_OK(network_run(&net, device, 1, &seen, &err), &err);
        for (int64_t i = 0; seen.data && i < shape_count(&wanted.shape); i++) {
            double y = tensor_number(&wanted, i), off = fabs(tensor_number(&seen, i) - y);
            largest = fmax(largest, fabs(y));
            worst = off <= worst ? worst : off; // NaN too
        }
        printf("# %s, %d threads: off by %.2g of %.2g\n", kind, threads, worst, largest);
        CHECK(worst > 0 && worst <= largest / LARGEST_PART);
        tensor_release(&seen);
        device_close(device);
    }
    tensor_release(&wanted);
    device_close(reference);
    arena_release(&net.graph.arena);
}

static void check_networks(const char *kind) {
    if (!vector_bfloat_get(kind)) {
        SKIP("this processor has no %s", kind);
    }
    check_network(cnn, kind);
    check_network(encoder, kind);
}

static void test_products_plain(void) {
    check_products("plain");
}

static void test_products_avx512_bf16(void) {
    check_products("avx512_bf16");
}

static void test_products_amx(void) {
    check_products("amx");
}

static void test_networks_plain(void) {
    check_networks("plain");
}

static void test_networks_avx512_bf16(void) {
    check_networks("avx512_bf16");
}

static void test_networks_amx(void) {
    check_networks("amx");
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_older_processors_refuse(void) {
    struct device *device = NULL;
    struct error err = {0};
    if (!isa_runs_here(ISA_AVX2)) {
        SKIP("this processor has no avx2");
    }
    setenv("WINDLASS_CPU_ISA", "avx2", 1);
    CHECK(device_open("cpu:bfloat16", 1, &device, &err) < 0);
    unsetenv("WINDLASS_CPU_ISA");
    CHECK_INT(ERROR_UNAVAILABLE, err.kind);
    CHECK_STR(err.text, "bfloat16 needs a processor with AVX512_BF16 or AMX (amx_bf16), and this "
                        "one has avx2");
}

static void test_other_precisions(void) {
    struct device *device = NULL;
    struct error err = {0};
    CHECK(device_open("cpu:float16", 1, &device, &err) < 0);
    CHECK_INT(ERROR_INVALID, err.kind);
    CHECK_STR(err.text, "device \"cpu:float16\": a processor computes in float32 or bfloat16");
    CHECK_OK(device_open("cpu:float32", 1, &device, &err), &err);
    device_close(device);
}

int main(void) {
    TEST(test_products_plain);
    TEST(test_products_avx512_bf16);
    TEST(test_products_amx);
    TEST(test_networks_plain);
    TEST(test_networks_avx512_bf16);
    TEST(test_networks_amx);
    TEST(test_older_processors_refuse);
    TEST(test_other_precisions);
    return TEST_END();
}
