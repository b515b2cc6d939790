// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/sample.h"

#include <stdlib.h>

void sample_release(struct sample *sample) {
    free(sample->data);
    for (size_t i = 0; i < SAMPLE_EXTRAS_MAX; i++) {
        free(sample->extras[i]);
    }
    free(sample->target);
    free(sample->labels);
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

void *sample_extra_room(struct sample *sample, size_t extra, size_t bytes) {
    if (bytes > sample->extra_rooms[extra]) {
        free(sample->extras[extra]);
        sample->extras[extra] = x_malloc(bytes);
        sample->extra_rooms[extra] = bytes;
    }
    return sample->extras[extra];
}

void sample_take_picture(struct sample *sample, struct picture *picture) {
    free(sample->data);
    sample->shape = (struct shape){3, {3, picture->height, picture->width}};
    sample->is_interleaved = true;
    sample->room = 3 * (size_t)picture->width * (size_t)picture->height;
    sample->data = TAKE(picture->pixels);
}

float *sample_target_room(struct sample *sample, size_t count) {
    if (count * sizeof(float) > sample->target_room) {
        free(sample->target);
        sample->target = x_calloc(count, sizeof(float));
        sample->target_room = count * sizeof(float);
    }
    return sample->target;
}

int64_t *sample_labels_room(struct sample *sample, size_t count) {
    if (count * sizeof(int64_t) > sample->labels_room) {
        free(sample->labels);
        sample->labels = x_calloc(count, sizeof(int64_t));
        sample->labels_room = count * sizeof(int64_t);
    }
    return sample->labels;
}
