// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/model_device.h"

#include "agent/engine/device.h"

char *model_device_name(const struct model_device *of, struct error *err) {
    const char *suffix = device_suffix(of->precision);
    if (!suffix) {
        (void)!error_set(err, ERROR_INVALID, "--precision %.32s: expected FP32, BF16, TF32 or FP16",
                         of->precision);
        return NULL;
    }
    return x_printf("%s%s", of->device, suffix);
}

int model_device_open(const struct model_device *of, const char *path, int64_t threads,
                      struct session **ret_session, struct error *err) {
    AUTO(text_freep) char *name = model_device_name(of, err);
    const struct session_options options = {.threads = (int)threads, .device = name};
    return name ? session_open(path, &options, ret_session, err) : -1;
}
