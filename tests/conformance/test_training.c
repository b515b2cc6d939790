// SPDX-License-Identifier: Apache-2.0
// What the CPU device fuses and keeps in blocks in a training step, against the plain kernels:
// loss, every gradient and the norms' statistics of small networks, in every instruction set of
// this processor, with one thread and with three, which must agree bit for bit. SOAK_SEED and
// SOAK_ROUNDS: other numbers, and how many draws (2).
#include "agent/device/cpu/isa.h"
#include "agent/ops/training_graph.h"
#include "agent/run/training.h"
#include "tests/conformance/attributes.h"
#include "tests/conformance/network_run.h"
#include "tests/test.h"

#include <sys/wait.h>
#include <unistd.h>

#define ATTRIBUTES(...) ((const struct attribute[]){__VA_ARGS__, {.name = NULL}})

enum { RESULTS_MAX = 64, DRAWS_MAX = 20 };

static const double tolerance = 2e-5; /* of the largest number of a result */

/* ---- networks ------------------------------------------------------------------------------- */

static int op(struct network *net, const char *name, int x) {
    return network_node(net, name, (int[]){x, -2}, NULL);
}

static int add(struct network *net, int a, int b) {
    return network_node(net, "Add", (int[]){a, b, -2}, NULL);
}

struct form {
    int outs, ins, kernel, stride;
};

static int conv(struct network *net, int x, struct form f) {
    float scale = 1.7F / sqrtf((float)(f.ins * f.kernel * f.kernel));
    int w = network_constant(net, (struct shape){4, {f.outs, f.ins, f.kernel, f.kernel}}, scale, 0);
    int p = f.kernel / 2;
    return network_node(net, "Conv", (int[]){x, w, -2},
                        ATTRIBUTES(INTS("pads", p, p, p, p), INTS("strides", f.stride, f.stride)));
}

static int norm(struct network *net, int x, int channels) {
    const struct shape shape = {1, {channels}};
    int scale = network_constant(net, shape, 0.5F, 1), bias = network_constant(net, shape, 0.5F, 0);
    int mean = network_constant(net, shape, 0, 0), var = network_constant(net, shape, 0, 1);
    return network_node(net, "BatchNormalization", (int[]){x, scale, bias, mean, var, -2}, NULL);
}

static int unit(struct network *net, int x, struct form f) {
    return op(net, "Relu", norm(net, conv(net, x, f), f.outs));
}

static int pool(struct network *net, int x, int kernel, int stride, int pad) {
    return network_node(net, "MaxPool", (int[]){x, -2},
                        ATTRIBUTES(INTS("kernel_shape", kernel, kernel),
                                   INTS("pads", pad, pad, pad, pad),
                                   INTS("strides", stride, stride)));
}

static int dense(struct network *net, int x, int ins) {
    int w = network_constant(net, (struct shape){2, {5, ins}}, 0.5F, 0);
    x = op(net, "Flatten", op(net, "GlobalAveragePool", x));
    return network_node(net, "Gemm", (int[]){x, w, -2}, ATTRIBUTES(INT("transB", 1)));
}

/* ResNet's blocks: a shortcut with a norm of its own, then one without. `c` channels. */
static int resnet(struct network *net, int x, int c) {
    x = pool(net, unit(net, x, (struct form){c, 3, 3, 1}), 3, 2, 1);
    int y = unit(net, x, (struct form){c, c, 1, 1});
    y = unit(net, y, (struct form){c, c, 3, 2});
    y = norm(net, conv(net, y, (struct form){2 * c, c, 1, 1}), 2 * c);
    int z = norm(net, conv(net, x, (struct form){2 * c, c, 1, 2}), 2 * c);
    x = op(net, "Relu", add(net, y, z));
    y = norm(net, conv(net, x, (struct form){2 * c, 2 * c, 3, 1}), 2 * c);
    x = op(net, "Relu", add(net, x, y));
    return dense(net, x, 2 * c);
}

static int resnet_of_blocks(struct network *net, int x) {
    return resnet(net, x, 16);
}

/* Channels that fill no block: oneDNN's pictures are row-major, the norms' are not. */
static int resnet_of_rests(struct network *net, int x) {
    return resnet(net, x, 10);
}

/* A norm and a relu that two read; a relu in front of nothing but a sum; a norm without a relu. */
static int shared(struct network *net, int x) {
    x = norm(net, conv(net, x, (struct form){16, 3, 3, 1}), 16);
    int y = op(net, "Relu", x);
    int z = add(net, op(net, "Relu", norm(net, add(net, x, y), 16)), op(net, "Tanh", y));
    y = norm(net, conv(net, z, (struct form){16, 16, 3, 1}), 16);
    return add(net, y, conv(net, z, (struct form){16, 16, 1, 1}));
}

/* What the norm adds is made behind it: the gradient behind the relu has another reader first. */
static int late(struct network *net, int x) {
    x = conv(net, x, (struct form){16, 3, 3, 1});
    int y = norm(net, x, 16), z = conv(net, x, (struct form){16, 16, 1, 1});
    x = op(net, "Relu", add(net, y, z));
    return conv(net, x, (struct form){16, 16, 3, 1});
}

/* Windows that overlap, reach over the edges, leave a rest; of numbers of both signs. */
static int pooled(struct network *net, int x) {
    x = pool(net, norm(net, conv(net, x, (struct form){16, 3, 1, 1}), 16), 3, 2, 0);
    x = pool(net, conv(net, x, (struct form){32, 16, 3, 1}), 2, 1, 1);
    return conv(net, x, (struct form){16, 32, 1, 1});
}

/* The shapes of networks without norms. */
static int without_norms(struct network *net, int x) {
    x = op(net, "Relu", conv(net, x, (struct form){16, 3, 3, 1}));
    int y = op(net, "Relu", conv(net, x, (struct form){16, 16, 3, 1}));
    x = op(net, "Relu", add(net, x, conv(net, y, (struct form){16, 16, 1, 1})));
    return dense(net, pool(net, x, 2, 2, 0), 16);
}

/* Enough channels and pixels for Winograd, where there is AVX-512. */
static int wide(struct network *net, int x) {
    x = norm(net, conv(net, x, (struct form){64, 3, 1, 1}), 64);
    x = norm(net, conv(net, x, (struct form){64, 64, 3, 1}), 64);
    return conv(net, x, (struct form){8, 64, 1, 1});
}

static const struct row {
    const char *name;
    int (*build)(struct network *net, int x);
    int n, h, w;
} rows[] = {
    {"resnet", resnet_of_blocks, 8, 9, 11},
    {"resnet", resnet_of_blocks, 1, 12, 7},
    {"resnet", resnet_of_blocks, 6, 7, 8},
    {"resnet, 10 channels", resnet_of_rests, 4, 9, 11},
    {"shared", shared, 4, 9, 6},
    {"shared", shared, 3, 5, 5},
    {"late", late, 4, 6, 7},
    {"wide", wide, 4, 12, 15},
    {"pooled", pooled, 4, 9, 12},
    {"pooled", pooled, 2, 8, 5},
    {"without norms", without_norms, 4, 8, 9},
};

/* ---- a step ---------------------------------------------------------------------------------- */

struct work {
    struct network net;
    struct training_graph graph;
    struct tensor inputs[RESULTS_MAX];
};

static void work_init(struct work *work, const struct row *row, uint32_t seed) {
    static const struct training_options options = {.loss = TRAINING_MEAN_SQUARED};
    struct error err = {0};
    network_init(&work->net, 13);
    int x = network_input(&work->net, (struct shape){4, {row->n, 3, row->h, row->w}});
    work->net.values[x].has_shape = true;
    network_output(&work->net, row->build(&work->net, x));
    CHECK_OK(training_graph_build(&work->net.graph, &options, &work->graph, &err), &err);
    memset(work->inputs, 0, sizeof work->inputs);
    CHECK_OK(tensor_init(&work->inputs[0], TENSOR_FLOAT32, &work->net.values[x].shape, &err), &err);
    network_fill(&work->inputs[0], seed);
    for (size_t i = 0; i < work->graph.variable_count; i++) {
        work->inputs[work->graph.first_variable + i] =
            work->net.values[work->graph.variables[i]].constant;
        work->inputs[work->graph.first_variable + i].owned = false;
    }
    const struct shape one = {0};
    CHECK_OK(tensor_init(&work->inputs[work->graph.scale], TENSOR_FLOAT32, &one, &err), &err);
    *(float *)work->inputs[work->graph.scale].data = 1.0F / (float)row->n;
}

static void work_release(struct work *work) {
    for (int i = 0; i < RESULTS_MAX; i++) {
        tensor_release(&work->inputs[i]);
    }
    training_graph_release(&work->graph);
    arena_release(&work->net.graph.arena);
}

/* The target has the shape of the network's output. */
static void set_target(struct work *work) {
    struct error err = {0};
    struct device *device = NULL;
    struct tensor y = {0}, *target = &work->inputs[work->graph.target];
    CHECK_OK(registry_open("reference", 1, &device, &err), &err);
    CHECK_OK(network_run(&work->net, device, 1, &y, &err), &err);
    CHECK_OK(tensor_init(target, TENSOR_FLOAT32, &y.shape, &err), &err);
    network_fill(target, 99);
    tensor_release(&y);
    device_close(device);
}

/* All outputs of two steps, copied; the second must be the first's, bit for bit. */
static bool step(struct work *work, const char *name, int threads, struct tensor *results) {
    size_t count = work->graph.graph.output_count;
    bool *is_bound = calloc(count, sizeof *is_bound);
    struct tensor *outputs = calloc(count, sizeof *outputs);
    struct training *training = NULL;
    struct device *device = NULL;
    struct error err = {0};
    bool fine =
        count <= RESULTS_MAX && registry_open(name, threads, &device, &err) == 0 &&
        training_open(device, &work->graph.graph, work->inputs, is_bound, &training, &err) == 0;
    for (int run = 0; fine && run < 2; run++) {
        fine = training_run(training, work->inputs, outputs, NULL, &err) == 0;
        for (size_t i = 0; fine && i < count; i++) {
            size_t size =
                (size_t)shape_count(&outputs[i].shape) * tensor_type_size(outputs[i].type);
            if (run == 0) {
                CHECK_OK(tensor_init(&results[i], outputs[i].type, &outputs[i].shape, &err), &err);
                memcpy(results[i].data, outputs[i].data, size);
            }
            CHECK(memcmp(results[i].data, outputs[i].data, size) == 0);
        }
    }
    if (!fine) {
        printf("# %s: %s\n", name, err.text);
        test_failures++;
    }
    training_free(training);
    device_close(device);
    free(outputs);
    free(is_bound);
    return fine;
}

static void release(struct tensor *results) {
    for (int i = 0; i < RESULTS_MAX; i++) {
        tensor_release(&results[i]);
    }
}

/* The worst of all results; each by its own largest number. */
static double distance(const struct work *work, const struct tensor *seen,
                       const struct tensor *wanted) {
    double worst = 0;
    for (size_t i = 0; i < work->graph.graph.output_count; i++) {
        double apart = 0, largest = 1e-3;
        for (int64_t k = 0; k < shape_count(&wanted[i].shape); k++) {
            double a = (double)((const float *)seen[i].data)[k];
            double b = (double)((const float *)wanted[i].data)[k];
            apart = isfinite(a) ? fmax(apart, fabs(a - b)) : INFINITY;
            largest = fmax(largest, fabs(b));
        }
        worst = fmax(worst, apart / largest);
    }
    return worst;
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* Whether a relu or a maximum is about to tip over: its gradient would be another one's. */
static bool is_on_edge(struct work *work, const struct tensor *wanted) {
    struct tensor nudged[RESULTS_MAX] = {0};
    float *x = work->inputs[0].data;
    bool on_edge = false;
    for (int side = -1; side <= 1 && !on_edge; side += 2) {
        int64_t count = shape_count(&work->inputs[0].shape);
        float *kept = malloc((size_t)count * sizeof *kept);
        memcpy(kept, x, (size_t)count * sizeof *kept);
        for (int64_t i = 0; i < count; i++) {
            x[i] *= 1 + (float)side * (float)(i % 7) * 1e-6F;
        }
        on_edge = !step(work, "reference", 2, nudged) ||
                  !(distance(work, nudged, wanted) <= 10 * tolerance);
        memcpy(x, kept, (size_t)count * sizeof *kept);
        free(kept);
        release(nudged);
        memset(nudged, 0, sizeof nudged);
    }
    return on_edge;
}

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
        work_init(&work, row, seed + (uint32_t)draw * 1000);
        set_target(&work);
        bool fits = step(&work, "reference", 2, wanted) && !is_on_edge(&work, wanted);
        if (fits) {
            compare(&work, row, wanted);
        }
        release(wanted);
        work_release(&work);
        if (fits) {
            return;
        }
    }
    printf("# %s: every draw stands on an edge\n", row->name);
    test_failures++;
}

static int check_all(void) {
    uint32_t seed = number_of("SOAK_SEED", 1), rounds = number_of("SOAK_ROUNDS", 2);
    printf("# SOAK_SEED=%u SOAK_ROUNDS=%u\n", seed, rounds);
    for (uint32_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            check_row(&rows[i], seed + round);
        }
    }
    return test_failures;
}

// In a process of its own: oneDNN settles for good which instructions it uses.
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

// The comparison would pass as well if nothing were fused.
static void test_resnet_is_fused(void) {
    struct error err = {0};
    struct device *device = NULL;
    struct plan *plan = NULL;
    struct work work;
    work_init(&work, &rows[0], 1);
    set_target(&work);
    CHECK_OK(registry_open("cpu", 1, &device, &err), &err);
    CHECK_OK(plan_new(device, &work.graph.graph, work.inputs, &plan, &err), &err);
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
    plan_free(plan);
    device_close(device);
    work_release(&work);
}

int main(void) {
    TEST(test_plain);
    TEST(test_avx2);
    TEST(test_avx512);
    TEST(test_resnet_is_fused);
    return TEST_END();
}
