/* model_device.h: the options --device and --precision of the commands that run a network. */
#pragma once

#include "agent/engine/session.h"
#include "lib/options.h"

struct model_device {
    const char *device, *precision; /* as given; borrowed from argv */
};

#define MODEL_DEVICE_DEFAULT                                                                       \
    { .device = "cpu", .precision = "FP32" }
/* Two rows of the options' table. */
#define MODEL_DEVICE_OPTIONS(of)                                                                   \
    {"device",                                                                                     \
     0,                                                                                            \
     OPTION_TEXT,                                                                                  \
     "NAME",                                                                                       \
     "The device: cpu (default), reference or, where built in, cuda.",                             \
     &(of)->device},                                                                               \
    {                                                                                              \
        "precision", 0, OPTION_TEXT, "FP32|BF16|TF32|FP16",                                        \
            "As a job's scorer.onnx.precision (default: FP32). TF32, FP16: of cuda.",              \
            &(of)->precision                                                                       \
    }

/* The device's name with the precision (agent/engine/device.h), which the caller frees. NULL:
 * INVALID, another precision. */
char *model_device_name(const struct model_device *of, struct error *err);
/* Opens a model on it; threads 0: all. The caller frees the session. */
NODISCARD int model_device_open(const struct model_device *of, const char *path, int64_t threads,
                                struct session **ret_session, struct error *err);
