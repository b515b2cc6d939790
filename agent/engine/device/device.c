// SPDX-License-Identifier: Apache-2.0
/* Opens a device by its kind, and evaluates one node on it. */
#include "agent/engine/device/kernel.h"

#include "agent/engine/device/cpu/cpu.h"
#include "agent/engine/device/cpu/reference/reference.h"
#include "agent/engine/ops/cost.h"
#ifdef WITH_CUDA
#include "agent/engine/device/cuda/gpu_device.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int device_open(const char *name, int threads, struct device **ret_device, struct error *err) {
#ifndef WITHOUT_CPU /* a build of the engine for tests on a GPU machine, where "reference" is the  \
                       oracle */
    if (!name || strcmp(name, "cpu") == 0 || strncmp(name, "cpu:", 4) == 0) {
        return cpu_open(threads, name && name[3] ? name + 4 : NULL, ret_device, err);
    }
#endif
    if (name && strcmp(name, "reference") == 0) {
        return reference_open(threads, ret_device, err);
    }
    size_t digits = name && strncmp(name, "cuda", 4) == 0 ? strspn(name + 4, "0123456789") : 3;
    if (digits < 3 && (!name[4 + digits] || name[4 + digits] == ':')) {
#ifdef WITH_CUDA
        const char *precision = name[4 + digits] ? name + 5 + digits : NULL;
        return gpu_open((int)strtol(name + 4, NULL, 10), precision, ret_device, err);
#else
        return error_set(err, ERROR_UNSUPPORTED,
                         "device \"cuda\": this build has no CUDA: on a cluster the image "
                         "windlass-agent-cuda has it, elsewhere a build where make finds nvcc");
#endif
    }
    return error_set(err, ERROR_INVALID,
                     "device \"%s\" is unknown; cpu, reference or cuda is expected",
                     name ? name : "cpu");
}

const char *device_suffix(const char *precision) {
    static const char *const suffixes[][2] = {
        {"FP32", ""}, {"TF32", ":tf32"}, {"BF16", ":bfloat16"}, {"FP16", ":float16"}};
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (strcmp(suffixes[i][0], precision) == 0) {
            return suffixes[i][1];
        }
    }
    return NULL;
}

void device_close(struct device *device) {
    if (device) {
        device->ops->close(device);
    }
}

/* A node may have thousands of inputs, but operators that read their facts have few. */
static double work_of_call(const struct node *node, const struct tensor *const *inputs,
                           struct tensor *const *outputs) {
    struct arena scratch = {0};
    size_t input_count = (size_t)node->input_count, output_count = (size_t)node->output_count;
    struct fact *facts = arena_array(&scratch, input_count, sizeof *facts);
    const struct fact **facts_at = arena_array(&scratch, input_count, sizeof *facts_at);
    struct fact *made = arena_array(&scratch, output_count, sizeof *made);
    for (size_t i = 0; i < input_count; i++) {
        facts_at[i] = inputs[i] ? &facts[i] : NULL;
        facts[i] = inputs[i] ? (struct fact){inputs[i]->type, inputs[i]->shape, inputs[i]->data}
                             : (struct fact){0};
    }
    for (size_t i = 0; i < output_count; i++) {
        made[i] = outputs[i] ? (struct fact){outputs[i]->type, outputs[i]->shape, NULL}
                             : (struct fact){0};
    }
    double work = cost_of_node(node, facts_at, made);
    arena_release(&scratch);
    return work;
}

int device_evaluate(const struct node *node, const struct tensor *const *inputs,
                    struct tensor *const *outputs, struct error *err) {
    if (work_of_call(node, inputs, outputs) > COST_FOLDED_MAX) {
        return error_set(err, ERROR_EXHAUSTED,
                         "constant folding would need more than %.0f operations", COST_FOLDED_MAX);
    }
    const struct call call = {.node = node,
                              .input_count = node->input_count,
                              .output_count = node->output_count,
                              .inputs = inputs,
                              .outputs = outputs};
    return reference_kernels[node->op->id]->run(&call, err);
}
