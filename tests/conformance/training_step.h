/* training_step.h: a training step of one of training_networks.h, on any device. */
#pragma once

#include "agent/engine/training.h"
#include "tests/conformance/training_networks.h"
#include "tests/test.h"

enum { RESULTS_MAX = 64, DRAWS_MAX = 20 };

struct work {
    struct network net;
    struct training_graph graph;
    struct tensor inputs[RESULTS_MAX];
};

static inline void work_init(struct work *work, const struct row *row, uint32_t seed,
                             bool is_bfloat) {
    const struct training_options options = {.loss = TRAINING_MEAN_SQUARED, .is_bfloat = is_bfloat};
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

static inline void work_release(struct work *work) {
    for (int i = 0; i < RESULTS_MAX; i++) {
        tensor_release(&work->inputs[i]);
    }
    training_graph_release(&work->graph);
    arena_release(&work->net.graph.arena);
}

/* The target has the shape of the network's output. */
static inline void set_target(struct work *work) {
    struct error err = {0};
    struct device *device = NULL;
    struct tensor y = {0}, *target = &work->inputs[work->graph.target];
    CHECK_OK(device_open("reference", 1, &device, &err), &err);
    CHECK_OK(network_run(&work->net, device, 1, &y, &err), &err);
    CHECK_OK(tensor_init(target, TENSOR_FLOAT32, &y.shape, &err), &err);
    network_fill(target, 99);
    tensor_release(&y);
    device_close(device);
}

/* All outputs of two steps, copied; the second must equal the first bit for bit. */
static inline bool step(struct work *work, const char *name, int threads, struct tensor *results) {
    size_t count = work->graph.graph.output_count;
    bool *is_bound = calloc(count, sizeof *is_bound);
    struct tensor *outputs = calloc(count, sizeof *outputs);
    struct training *training = NULL;
    struct device *device = NULL;
    struct error err = {0};
    bool fine =
        count <= RESULTS_MAX && device_open(name, threads, &device, &err) == 0 &&
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

static inline void release(struct tensor *results) {
    for (int i = 0; i < RESULTS_MAX; i++) {
        tensor_release(&results[i]);
    }
}

/* The largest distance over all results, each relative to its largest number. */
static inline double distance(const struct work *work, const struct tensor *seen,
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

/* Whether a relu or a maximum is so near its kink that results would move by more than `limit`: its
 * gradient would then be a different one. */
static inline bool is_on_edge(struct work *work, const struct tensor *wanted, double limit) {
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
        on_edge = !step(work, "reference", 2, nudged) || !(distance(work, nudged, wanted) <= limit);
        memcpy(x, kept, (size_t)count * sizeof *kept);
        free(kept);
        release(nudged);
        memset(nudged, 0, sizeof nudged);
    }
    return on_edge;
}
