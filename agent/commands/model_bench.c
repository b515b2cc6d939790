// SPDX-License-Identifier: Apache-2.0
/* `model bench`: times a model on generated pictures. */
#include "agent/commands/model.h"
#include "agent/commands/model_device.h"
#include "agent/commands/model_inputs.h"
#include "agent/engine/session.h"
#include "lib/options.h"
#include "lib/time/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS_MAX = 100000 };

static int by_value(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static int measure(struct session *session, const struct tensor *inputs, int64_t runs,
                   struct error *err) {
    struct tensor *outputs = x_calloc(session_output_count(session) + 1, sizeof *outputs);
    int64_t *times = x_calloc((size_t)runs, sizeof *times);
    int64_t start = clock_monotonic_ns();
    /* Makes the plan and warms the caches. */
    int result = session_run(session, inputs, outputs, err);
    double first = (double)(clock_monotonic_ns() - start) / 1e6;
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int64_t i = 0; result == 0 && i < runs; i++) {
        start = clock_monotonic_ns();
        result = session_run(session, inputs, outputs, err);
        times[i] = clock_monotonic_ns() - start;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double used =
        (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
    if (result == 0) {
        qsort(times, (size_t)runs, sizeof *times, by_value);
        int64_t middle = runs / 2;
        double median = (double)times[middle] / 1e6, least = (double)times[0] / 1e6;
        printf("first %.3f ms\nmin %.3f ms\n", first, least);
        printf("%.1f GFLOP/s (%.3f GFLOP in convolutions and matrix products)\n",
               session_flops(session) / median / 1e6, session_flops(session) / 1e9);
        printf("processor %.3f ms of all threads in a run\n", used / (double)runs);
        printf("median %.3f ms\n", median);
    }
    free(outputs);
    free(times);
    return result;
}

int model_bench_command(int argc, char **argv, struct error *err) {
    struct option_list pairs = {0}, list = {0};
    struct model_device device = MODEL_DEVICE_DEFAULT;
    int64_t threads = 0, runs = 10;
    const struct option options[] = {
        {"shape", 's', OPTION_LIST, "NAME=1x3x512x512", "The shape of an input.", &pairs},
        {"threads", 't', OPTION_INTEGER, "N", "CPU threads (default: all)", &threads},
        {"runs", 'n', OPTION_INTEGER, "N", "Measured runs (default: 10).", &runs},
        MODEL_DEVICE_OPTIONS(&device),
        {.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent model bench MODEL.onnx [--shape NAME=1x3x512x512] [--threads N]",
        .about =
            "Times a model on generated pictures: one run to plan, then --runs measured ones.\n"
            "The last line is the median. --shape is for inputs without a fixed shape.",
        .examples = "windlass-agent model bench examples/style-transfer/data/model/starry.onnx "
                    "--shape image=1x3x360x640",
        .words_min = 1,
        .words_max = 1};
    int read = options_read(argc, argv, &help, options, &list, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    if (runs < 1 || runs > RUNS_MAX) {
        return error_set(err, ERROR_INVALID, "--runs %lld: expected 1 to %d", (long long)runs,
                         RUNS_MAX);
    }
    AUTO(session_freep) struct session *session = NULL;
    if (model_device_open(&device, list.values[0], threads, &session, err) < 0) {
        return -1;
    }
    struct tensor *inputs;
    if (model_inputs_make(session, &pairs, &inputs, err) < 0) {
        return -1;
    }
    int result = measure(session, inputs, runs, err);
    model_inputs_free(session, inputs);
    return result;
}
