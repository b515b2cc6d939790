// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/sample.h"

#include <stdlib.h>

void sample_release(struct sample *sample) {
    free(sample->data);
    free(sample->target);
    *sample = (struct sample){0};
}

void *sample_room(struct sample *sample, size_t bytes) {
    if (bytes > sample->room) {
        free(sample->data);
        sample->data = x_malloc(bytes);
        sample->room = bytes;
    }
    return sample->data;
}

float *sample_target_room(struct sample *sample, size_t count) {
    if (count * sizeof(float) > sample->target_room) {
        free(sample->target);
        sample->target = x_calloc(count, sizeof(float));
        sample->target_room = count * sizeof(float);
    }
    return sample->target;
}
