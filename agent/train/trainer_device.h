/* trainer_device.h: the trainer's memory on the device (weights, gradients), and the functions by
 * which the reducer sums buckets that are in it. A part of trainer_state.h, used by the same files
 * only. */
#pragma once

#include "agent/comm/reducer.h"

struct trainer;

/* The only place where device memory is allocated, read and written. count:
 * floats. trainer_free_memory frees what `weights` and `gradients` point to. */
NODISCARD int trainer_device_floats(struct trainer *trainer, size_t count, float **ret,
                                    struct error *err);
NODISCARD int trainer_device_write(const struct trainer *trainer, float *to, const float *from,
                                   size_t count, struct error *err);
NODISCARD int trainer_device_read(const struct trainer *trainer, float *to, const float *from,
                                  size_t count, struct error *err);
/* For reducer_set_ops (reducer.h): the functions by which the reducer awaits and sums buckets whose
 * memory is on this device; NULL if it is host memory. */
NODISCARD int trainer_make_reducer_ops(struct trainer *trainer, struct reducer_ops *ret_ops,
                                       struct error *err);
/* All steps that compute the bucket's gradients were started: the reducer may sum it. */
NODISCARD int trainer_bucket_due(struct trainer *trainer, size_t bucket, struct error *err);
void trainer_free_memory(struct trainer *trainer);
