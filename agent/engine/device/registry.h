/* registry.h: the devices of this build, by name. */
#pragma once

#include "agent/engine/device/device.h"
#include "agent/engine/graph/shape.h"

/* "cpu" (NULL too), "reference" (the CPU with nothing but the plain kernels: the oracle of tests)
 * or "cuda", also with a number and a precision ("cuda1:bfloat16": cuda/device.h). threads: 0 for
 * as many as this process may use. ERROR_UNSUPPORTED when this build lacks the device,
 * ERROR_UNAVAILABLE when the machine does. */
NODISCARD int registry_open(const char *name, int threads, struct device **ret_device,
                            struct error *err);
void device_close(struct device *device);

/* Runs one node with the reference kernels on host memory (an evaluate_function). */
NODISCARD int registry_evaluate(const struct node *node, const struct tensor *const *inputs,
                                struct tensor *const *outputs, struct error *err);
