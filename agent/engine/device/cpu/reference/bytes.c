// SPDX-License-Identifier: Apache-2.0
/* FromBytes and ToBytes: pixels as bytes [n, h, w, 3] to float32 [n, 3, h, w], and back. */
#include "agent/engine/ops/bytes.h"

#include "agent/engine/device/cpu/reference/reference.h"

#include <math.h>
#include <string.h>

static int from_bytes_run(const struct call *call, struct error *err UNUSED) {
    const struct pixel_conversion bytes = bytes_params(call->node);
    const struct shape *shape = &call->outputs[0]->shape; /* [n, 3, h, w] */
    const uint8_t *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    int64_t pixels = shape->dims[2] * shape->dims[3];
    for (int64_t n = 0; n < shape->dims[0]; n++, x += 3 * pixels) {
        for (int k = 0; k < 3; k++, y += pixels) {
            int from = bytes.is_bgr ? 2 - k : k;
            for (int64_t i = 0; i < pixels; i++) {
                y[i] = (float)x[3 * i + from] * bytes.scale[k] + bytes.shift[k];
            }
        }
    }
    return 0;
}

/* Writes plane k of a image; x, y: its first numbers. bad: its rows, or NULL. */
static void to_bytes_plane(const struct pixel_conversion *bytes, int k, const struct shape *shape,
                           const float *x, uint8_t *y, int32_t *bad) {
    int64_t width = shape->dims[3], pixels = shape->dims[2] * width;
    int to = bytes->is_bgr ? 2 - k : k;
    for (int64_t i = 0; i < pixels; i++) {
        float value = x[i] * bytes->scale[k] + bytes->shift[k];
        if (isnan(value) && bad) {
            bad[i / width] = MAX(bad[i / width], (int32_t)(width - i % width));
        }
        value = value > 0 ? value : 0;
        y[3 * i + to] = (uint8_t)(value < 255 ? value : 255);
    }
}

static int to_bytes_run(const struct call *call, struct error *err UNUSED) {
    const struct pixel_conversion bytes = bytes_params(call->node);
    const struct shape *shape = &call->inputs[0]->shape; /* [n, 3, h, w] */
    const float *x = call->inputs[0]->data;
    uint8_t *y = call->outputs[0]->data;
    int32_t *bad = call->output_count > 1 && call->outputs[1] ? call->outputs[1]->data : NULL;
    int64_t height = shape->dims[2], pixels = height * shape->dims[3];
    if (bad) {
        memset(bad, 0, (size_t)(shape->dims[0] * height) * sizeof *bad);
    }
    for (int64_t n = 0; n < shape->dims[0]; n++) {
        for (int k = 0; k < 3; k++) {
            to_bytes_plane(&bytes, k, shape, x + (3 * n + k) * pixels, y + 3 * n * pixels,
                           bad ? bad + n * height : NULL);
        }
    }
    return 0;
}

const struct kernel reference_from_bytes = {"reference from_bytes", from_bytes_run};
const struct kernel reference_to_bytes = {"reference to_bytes", to_bytes_run};
