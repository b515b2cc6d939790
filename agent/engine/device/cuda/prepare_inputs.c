// SPDX-License-Identifier: Apache-2.0
/* Functions with which families examine the step that they prepare. */
#include "agent/engine/device/cuda/gpu.h"

int prepare_refuse(struct error *err, const char *why) {
    return error_set(err, ERROR_UNSUPPORTED, "device \"cuda\": %s", why);
}

const float *prepare_weights(const struct schedule *schedule, const struct node *node, int index) {
    int slot = index < node->input_count ? node->inputs[index] : -1;
    return slot >= 0 && schedule->slots[slot].type == TENSOR_FLOAT32 &&
                   schedule->slots[slot].is_lasting
               ? schedule->slots[slot].constant
               : NULL;
}

const void *prepare_constant(const struct prepare *prepare, int index) {
    const struct node *node = prepare->step->node;
    int slot = index < node->input_count ? node->inputs[index] : -1;
    return slot < 0 ? NULL : prepare->schedule->slots[slot].constant;
}

bool prepare_is_channels_last(const struct prepare *prepare, int index) {
    int slot = prepare->step->inputs[index];
    return slot >= 0 && prepare->schedule->slots[slot].layout == GPU_CHANNELS_LAST;
}

void prepare_layout(struct prepare *prepare, enum gpu_layout layout) {
    for (int i = 0; i < prepare->task->input_count; i++) {
        prepare->task->inputs[i].layout = layout;
    }
    for (int i = 0; i < prepare->task->output_count; i++) {
        prepare->task->outputs[i].layout = layout;
    }
}
