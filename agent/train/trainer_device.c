// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_state.h"

#include <stdlib.h>

/* ---- memory of the device ------------------------------------------------------------------- */

int trainer_device_floats(struct trainer *trainer, size_t count, float **ret, struct error *err) {
    void *memory;
    if (trainer->device->ops->alloc(trainer->device, count * sizeof(float), &memory, err) < 0) {
        return -1;
    }
    *ret = memory;
    return 0;
}

int trainer_device_write(const struct trainer *trainer, float *to, const float *from, size_t count,
                         struct error *err) {
    return trainer->device->ops->copy(trainer->device, COPY_TO_DEVICE, to, from,
                                      count * sizeof(float), err);
}

int trainer_device_read(const struct trainer *trainer, float *to, const float *from, size_t count,
                        struct error *err) {
    return trainer->device->ops->copy(trainer->device, COPY_TO_HOST, to, from,
                                      count * sizeof(float), err);
}

/* ---- sums ----------------------------------------------------------------------------------- */

int trainer_bucket_due(struct trainer *trainer, size_t bucket, struct error *err) {
    if (trainer->events &&
        trainer->device->training->record(trainer->device, trainer->events[bucket], err) < 0) {
        return -1;
    }
    reducer_due(trainer->reducer, bucket);
    return 0;
}

/* The reducer's thread calls these two. */
static int await_bucket(void *context, size_t bucket, struct error *err) {
    struct trainer *trainer = context;
    return trainer->device->training->await(trainer->device, trainer->events[bucket], err);
}

static int sum_bucket(struct comm *comm, void *context, size_t bucket, struct error *err) {
    struct trainer *trainer = context;
    struct device *device = trainer->device;
    size_t bytes = trainer->buckets.all[bucket].bytes, count = bytes / sizeof(float);
    float *values = trainer->gradients + trainer->buckets.all[bucket].start / sizeof(float);
    if (comm->ops->reduce_device) {
        return comm_reduce_device(comm, values, count, err);
    }
    float *staging = trainer->staging;
    if (device->training->copy_concurrent(device, COPY_TO_HOST, staging, values, bytes, err) < 0 ||
        comm_reduce(comm, staging, count, err) < 0) {
        return -1;
    }
    return device->training->copy_concurrent(device, COPY_TO_DEVICE, values, staging, bytes, err);
}

int trainer_make_reducer_ops(struct trainer *trainer, struct reducer_ops *ret_ops,
                             struct error *err) {
    struct device *device = trainer->device;
    size_t count = trainer->buckets.count, most = 0;
    *ret_ops = (struct reducer_ops){0};
    if (device->is_host) {
        return 0;
    }
    trainer->events = x_calloc(count + 1, sizeof(struct device_event *));
    for (size_t i = 0; i < count; i++) {
        most = MAX(most, trainer->buckets.all[i].bytes);
        if (device->training->event_new(device, &trainer->events[i], err) < 0) {
            return -1;
        }
    }
    if (!trainer->comm->ops->reduce_device) {
        trainer->staging = x_malloc(most);
    }
    *ret_ops = (struct reducer_ops){await_bucket, sum_bucket, trainer};
    return 0;
}

void trainer_free_memory(struct trainer *trainer) {
    struct device *device = trainer->device;
    for (size_t i = 0; trainer->weights && i < trainer->graph.variable_count; i++) {
        if (trainer->weights[i]) {
            device->ops->free(device, trainer->weights[i]);
        }
    }
    for (size_t i = 0; trainer->events && i < trainer->buckets.count; i++) {
        if (trainer->events[i]) {
            device->training->event_free(device, trainer->events[i]);
        }
    }
    if (trainer->gradients) {
        device->ops->free(device, trainer->gradients);
    }
    free(trainer->weights);
    free(trainer->results);
    free(trainer->events);
    free(trainer->staging);
}
