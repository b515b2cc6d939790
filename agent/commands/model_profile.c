// SPDX-License-Identifier: Apache-2.0
/* `model profile`: how long each node of a network takes. */
#include "agent/commands/model.h"
#include "agent/commands/model_device.h"
#include "agent/commands/model_inputs.h"
#include "agent/engine/session.h"
#include "lib/file.h"
#include "lib/options.h"
#include "lib/text/utf8.h"
#include "lib/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 12, NAME_COLUMNS = 34, TRACE_BYTES_MAX = 64 << 20 };

/* ---- the table ------------------------------------------------------------------------------ */

/* Prints "-" for a value that was not measured or does not apply. */
static const char *percent(char text[static 16], double part, double whole) {
    if (part > 0 && whole > 0) {
        snprintf(text, 16, "%.0f %%", 100 * part / whole);
    } else {
        snprintf(text, 16, "-");
    }
    return text;
}

static void print_row(const struct session_profile *profile, const struct session_profile_step *row,
                      const char *what, size_t steps) {
    char share[16], compute[16], memory[16];
    double seconds = row->ms / 1e3;
    const struct device_peaks *peaks = &profile->peaks;
    printf("%-*.*s %5zu %9.3f %6s %9.3f %9.1f %10s %9s\n", NAME_COLUMNS, NAME_COLUMNS, what, steps,
           row->ms, percent(share, row->ms, profile->run_ms), row->flops / 1e9, row->bytes / 1e6,
           percent(compute, row->flops / seconds, peaks->flops),
           percent(memory, row->bytes / seconds, peaks->bytes));
}

static void print_head(const char *what) {
    printf("\n%-*s %5s %9s %6s %9s %9s %10s %9s\n", NAME_COLUMNS, what, "steps", "ms", "time",
           "GFLOP", "MB", "of compute", "of memory");
}

static int by_ms(const void *left, const void *right) {
    const struct session_profile_step *a = left, *b = right;
    return (a->ms < b->ms) - (a->ms > b->ms);
}

struct kind {
    struct session_profile_step sum; /* first, because rows are sorted by its ms */
    size_t steps;
};

/* One row for each operator and kernel, the longest first. */
static void print_operators(const struct session_profile *profile) {
    struct kind *kinds = x_calloc(profile->step_count + 1, sizeof *kinds), all = {.steps = 0};
    size_t count = 0;
    for (size_t i = 0; i < profile->step_count; i++) {
        const struct session_profile_step *step = &profile->steps[i];
        size_t k = 0;
        while (k < count && (strcmp(kinds[k].sum.op, step->op) != 0 ||
                             strcmp(kinds[k].sum.kernel, step->kernel) != 0)) {
            k++;
        }
        count = MAX(count, k + 1);
        kinds[k].sum.op = step->op;
        kinds[k].sum.kernel = step->kernel;
        struct kind *to[] = {&kinds[k], &all};
        for (size_t n = 0; n < ARRAY_LEN(to); n++) {
            to[n]->steps++;
            to[n]->sum.ms += step->ms;
            to[n]->sum.flops += step->flops;
            to[n]->sum.bytes += step->bytes;
        }
    }
    qsort(kinds, count, sizeof *kinds, by_ms);
    print_head("operator, its kernel");
    for (size_t k = 0; k < count; k++) {
        AUTO(text_freep) char *what = x_printf("%s, %s", kinds[k].sum.op, kinds[k].sum.kernel);
        print_row(profile, &kinds[k].sum, what, kinds[k].steps);
    }
    print_row(profile, &all.sum, "all", all.steps);
    free(kinds);
}

/* The steps that took longest, or all steps in their order. */
static void print_steps(const struct session_profile *profile, bool wants_all) {
    size_t count = profile->step_count;
    struct session_profile_step *steps = x_calloc(count + 1, sizeof *steps);
    for (size_t i = 0; i < count; i++) {
        steps[i] = profile->steps[i];
    }
    if (!wants_all) {
        qsort(steps, count, sizeof *steps, by_ms);
        count = MIN(count, (size_t)LONGEST);
    }
    print_head(wants_all ? "step, in their order" : "longest steps (--all: every one)");
    for (size_t i = 0; i < count; i++) {
        AUTO(text_freep) char *what = x_printf("%s %s", steps[i].op, steps[i].name);
        utf8_make_line(what);
        print_row(profile, &steps[i], what, 1);
    }
    free(steps);
}

static void print_profile(const struct session_profile *profile, const char *device,
                          bool wants_all) {
    const struct device_peaks *peaks = &profile->peaks;
    if (profile->has_peaks) {
        printf("%s (%s) at most: %.1f GFLOP/s of multiply-adds, %.1f GB/s copied (read and "
               "written), measured now\n",
               device, peaks->what, peaks->flops / 1e9, peaks->bytes / 1e9);
    } else {
        printf("%s cannot measure its peak performance\n", device);
    }
    printf("fastest of %zu runs: %.3f ms\n", profile->run_count, profile->run_ms);
    print_operators(profile);
    print_steps(profile, wants_all);
}

/* ---- the trace ------------------------------------------------------------------------------ */

static void trace_run(struct trace *trace, const struct session_profile *profile, size_t run) {
    const int64_t *ended = profile->ended_ns + run * profile->step_count;
    int64_t began = profile->began_ns[run];
    size_t mark = trace_size(trace);
    AUTO(text_freep) char *name = x_printf("run %zu", run + 1);
    if (profile->step_count) {
        trace_add(trace, &(struct trace_span){.name = name,
                                              .began_ns = began,
                                              .ended_ns = ended[profile->step_count - 1]});
    }
    for (size_t i = 0; i < profile->step_count; i++) {
        const struct session_profile_step *step = &profile->steps[i];
        AUTO(text_freep) char *what = x_printf("%s %s", step->op, step->name);
        double ns = (double)(ended[i] - began);
        const struct trace_argument figures[] = {
            {"GFLOP", step->flops / 1e9},
            {"MB", step->bytes / 1e6},
            {"share of compute", step->flops / ns * 1e9 / profile->peaks.flops},
            {"share of memory", step->bytes / ns * 1e9 / profile->peaks.bytes}};
        /* A step is nested in its run, so it must begin after the run begins: see trace.h. */
        trace_add(trace, &(struct trace_span){0, what, began + (i == 0), ended[i], figures,
                                              ARRAY_LEN(figures)});
        began = ended[i];
    }
    if (trace->is_full) {
        trace_cut(trace, mark); /* a run is recorded completely or not at all */
    }
}

static int write_trace(const struct session_profile *profile, const char *model, const char *path,
                       struct error *err) {
    AUTO(trace_release) struct trace trace;
    AUTO(buffer_release) struct buffer file;
    trace_init(&trace, 1, profile->began_ns[0], TRACE_BYTES_MAX);
    buffer_init(&file, TRACE_BYTES_MAX);
    trace_name_process(&trace, model);
    trace_name_lane(&trace, 0, "steps");
    size_t run = 0;
    while (run < profile->run_count && !trace.is_full) {
        trace_run(&trace, profile, run++);
    }
    if (trace_write(&trace, trace_size(&trace), &file, err) < 0 ||
        file_write(path, file.data, file.size, err) < 0) {
        return -1;
    }
    printf("\n%s  %zu runs; open it at https://ui.perfetto.dev\n", path,
           run - (trace.is_full ? 1 : 0));
    return 0;
}

/* ---- the command ---------------------------------------------------------------------------- */

int model_profile_command(int argc, char **argv, struct error *err) {
    struct option_list pairs = {0}, list = {0};
    struct model_device device = MODEL_DEVICE_DEFAULT;
    const char *path = NULL;
    int64_t threads = 0, runs = 10;
    bool wants_all = false;
    const struct option options[] = {
        {"shape", 's', OPTION_LIST, "NAME=1x3x512x512", "The shape of an input.", &pairs},
        {"trace", 0, OPTION_TEXT, "FILE.json", "Also write every run and step as a Chrome trace.",
         &path},
        {"all", 'a', OPTION_FLAG, NULL, "All steps in order, not only the longest.", &wants_all},
        {"threads", 't', OPTION_INTEGER, "N", "CPU threads (default: all)", &threads},
        {"runs", 'n', OPTION_INTEGER, "N", "Measured runs (default: 10).", &runs},
        MODEL_DEVICE_OPTIONS(&device),
        {.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent model profile MODEL.onnx [--shape NAME=1x3x512x512] "
                 "[--trace FILE.json]",
        .about =
            "Shows where a model's time goes. First the device's peaks are measured: "
            "multiply-adds\n"
            "in registers, and a copy between two buffers larger than any cache. Then the model\n"
            "runs once to plan and --runs times with a clock reading after each step. A step is "
            "one\n"
            "kernel call: a node, or several that the device has fused (named after the first).\n"
            "\n"
            "  ms, time     the fastest of the runs, and its share of the fastest whole run\n"
            "  GFLOP        of convolutions and matrix products (a multiply-add is two)\n"
            "  MB           inputs, outputs and weights, each once\n"
            "  of compute   GFLOP a second, as a share of the measured peak. Over 100 % is\n"
            "               possible: Winograd's form of a 3x3 convolution saves most of them\n"
            "  of memory    the same of MB. Over 100 %: they came out of a cache\n"
            "\n"
            "A step far below both is bound by something else: waiting for threads, call "
            "overhead,\n"
            "scattered memory accesses. The trace opens at https://ui.perfetto.dev and\n"
            "chrome://tracing. Other work on the machine distorts these numbers.",
        .examples = "windlass-agent model profile examples/style-transfer/data/model/starry.onnx "
                    "--shape image=1x3x360x640\n"
                    "windlass-agent model profile resnet50.onnx --shape input=1x3x224x224 "
                    "--all --trace resnet50.json",
        .words_min = 1,
        .words_max = 1};
    int read = options_read(argc, argv, &help, options, &list, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    if (runs < 1 || runs > SESSION_PROFILE_RUNS_MAX) {
        return error_set(err, ERROR_INVALID, "--runs %lld: expected 1 to %d", (long long)runs,
                         SESSION_PROFILE_RUNS_MAX);
    }
    AUTO(session_freep) struct session *session = NULL;
    AUTO(session_profile_freep) struct session_profile *profile = NULL;
    AUTO(text_freep) char *name = model_device_name(&device, err);
    struct tensor *inputs;
    if (!name || model_device_open(&device, list.values[0], threads, &session, err) < 0 ||
        model_inputs_make(session, &pairs, &inputs, err) < 0) {
        return -1;
    }
    int result = session_profile_new(session, inputs, (size_t)runs, &profile, err);
    model_inputs_free(session, inputs);
    if (result < 0) {
        return -1;
    }
    print_profile(profile, name, wants_all);
    return path ? write_trace(profile, list.values[0], path, err) : 0;
}
