// SPDX-License-Identifier: Apache-2.0
/* Functions with which families examine the step that they prepare. */
#include "agent/engine/device/cuda/preparation.h"

#include "agent/engine/ops/infer/elementwise.h"

int preparation_refuse(struct error *err, const char *why) {
    return error_set(err, ERROR_UNSUPPORTED, "device \"cuda\": %s", why);
}

const float *preparation_weights(const struct schedule *schedule, const struct node *node,
                                 int index) {
    int slot = index < node->input_count ? node->inputs[index] : -1;
    return slot >= 0 && schedule->slots[slot].type == TENSOR_FLOAT32 &&
                   schedule->slots[slot].is_lasting
               ? schedule->slots[slot].constant
               : NULL;
}

const void *preparation_constant(const struct preparation *prepare, int index) {
    const struct node *node = prepare->step->node;
    int slot = index < node->input_count ? node->inputs[index] : -1;
    return slot < 0 ? NULL : prepare->schedule->slots[slot].constant;
}

int preparation_clip(const struct preparation *prepare, int first, float *ret_low, float *ret_high,
                     struct error *err) {
    const struct node *node = prepare->step->node;
    struct tensor bounds[2] = {{.shape = {0}}, {.shape = {0}}};
    const struct tensor *given[2] = {NULL, NULL};
    for (int i = 0; i < 2 && first + i < node->input_count; i++) {
        if (node->inputs[first + i] >= 0) {
            bounds[i].data = (void *)(uintptr_t)preparation_constant(prepare, first + i);
            given[i] = &bounds[i];
            if (!bounds[i].data) {
                return preparation_refuse(err, "Clip with bounds computed during the run");
            }
        }
    }
    elementwise_clip_bounds(node, given[0], given[1], ret_low, ret_high);
    return 0;
}

bool preparation_is_channels_last(const struct preparation *prepare, int index) {
    int slot = prepare->step->inputs[index];
    return slot >= 0 && prepare->schedule->slots[slot].layout == GPU_CHANNELS_LAST;
}

void preparation_layout(struct preparation *prepare, enum gpu_layout layout) {
    for (int i = 0; i < prepare->task->input_count; i++) {
        prepare->task->inputs[i].layout = layout;
    }
    for (int i = 0; i < prepare->task->output_count; i++) {
        prepare->task->outputs[i].layout = layout;
    }
}
