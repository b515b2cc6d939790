/* buckets.h: the layout of a network's gradients in memory, and which of them are summed together.
 * Pure: the same gradients give the same plan on every rank, so ranks need not negotiate.
 *
 * All gradients are in one block of memory, in the order in which backward computes them, each at a
 * multiple of 64 bytes. Buckets are adjacent parts of it: kernels write gradients where they are
 * summed, and the optimizer reads them there, so nothing is copied. Each bucket takes half of the
 * remaining bytes, at most `max` and at least 1 MiB. Large buckets come first, while backward still
 * has much to compute, so that little remains to be sent after the last gradient (ResNet-50: 51 26
 * 13 6 3 2 1 MB). A gradient is never split: one that is larger than max is a separate bucket. */
#pragma once

#include "lib/base.h"

enum { BUCKET_ALIGNMENT = 64, BUCKET_MIN_BYTES = 1 << 20 };

struct bucket {
    size_t start, bytes;  /* in the block; multiples of 64. The gaps between gradients must be 0, so
                             that their sums are 0 */
    int ready_after_step; /* a step of the schedule: then all its gradients are computed */
};

struct bucket_place {
    size_t bucket; /* index */
    size_t start;  /* where the gradient begins, in bytes of the block */
};

struct buckets {
    size_t bytes; /* size of the block */
    size_t count;
    struct bucket *all; /* [count]: in order of start, which is the order of ready_after_step */
    size_t gradient_count;
    struct bucket_place *places; /* [gradient_count]: in the caller's order */
};

/* bytes[i]: size of gradient i, above 0. ready_after_step[i]: the step that computes it; equal ones
 * are ordered by i. max: maximum of a bucket, above 0. */
void buckets_plan(const size_t *bytes, const int *ready_after_step, size_t count, size_t max,
                  struct buckets *ret);
void buckets_release(struct buckets *buckets);

/* A digest of sizes and places, which ranks compare (comm_agree). 64 hexadecimal characters and
 * NUL. */
void buckets_digest(const struct buckets *buckets, char hex[static 65]);
