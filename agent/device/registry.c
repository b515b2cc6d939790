// SPDX-License-Identifier: Apache-2.0
#include "agent/device/registry.h"

#include "agent/device/cpu/cpu.h"
#include "agent/device/cpu/reference.h"
#ifdef WITH_CUDA
#include "agent/device/cuda/device.h"
#endif

#include <stdio.h>
#include <string.h>

int registry_open(const char *name, int threads, struct device **ret_device, struct error *err) {
    if (!name || strcmp(name, "cpu") == 0) {
        return cpu_open(false, threads, ret_device, err);
    }
    if (strcmp(name, "reference") == 0) {
        return cpu_open(true, threads, ret_device, err);
    }
    if (strcmp(name, "cuda") == 0) {
#ifdef WITH_CUDA
        return gpu_open(ret_device, err);
#else
        return error_set(err, ERROR_UNSUPPORTED,
                         "device \"cuda\": this build has no CUDA (nvcc was not found by make)");
#endif
    }
    return error_set(err, ERROR_INVALID,
                     "device \"%s\" is unknown; cpu, reference or cuda is expected", name);
}

void device_close(struct device *device) {
    if (device) {
        device->ops->close(device);
    }
}

int registry_evaluate(const struct node *node, const struct tensor *const *inputs,
                      struct tensor *const *outputs, struct error *err) {
    const struct call call = {.node = node,
                              .input_count = node->input_count,
                              .output_count = node->output_count,
                              .inputs = inputs,
                              .outputs = outputs};
    return reference_kernels[node->op->id]->run(&call, err);
}
