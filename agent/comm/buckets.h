/* buckets.h: where the gradients of a network are in memory, and which of them are summed together.
 * Pure: the same gradients give the same plan on every rank, so ranks need not negotiate.
 *
 * All gradients are in one piece of memory, in the order in which backward computes them, each at a
 * multiple of 64 bytes. Buckets are adjacent parts of it: kernels write gradients where the sum is
 * made, and the optimizer reads them there, so nothing is copied. Each bucket takes half of what is
 * left, `max` bytes at most and 1 MiB at least: large ones first, while backward still has much to
 * do beside them, and little is left to be sent behind the last gradient (ResNet-50: 51 26 13 6 3 2
 * 1 MB). A gradient is never cut: one that is larger than max makes a bucket of its own. */
#pragma once

#include "lib/base.h"

enum { BUCKET_ALIGNMENT = 64, BUCKET_MIN_BYTES = 1 << 20 };

struct bucket {
    size_t start, bytes; /* of the one memory; multiples of 64. The gaps between gradients must be
                            0, so that they stay 0 */
    int due_at;          /* all its gradients are made after this step of the schedule */
};

struct bucket_place {
    size_t bucket; /* index */
    size_t start;  /* where the gradient begins, in bytes of the one memory */
};

struct buckets {
    size_t bytes; /* of the one memory */
    size_t count;
    struct bucket *all; /* [count]: in order of start, and so of due_at */
    size_t gradient_count;
    struct bucket_place *places; /* [gradient_count]: in the caller's order */
};

/* bytes[i]: of gradient i, above 0. made_at[i]: the step that makes it; equal ones are in the order
 * of i. max: of a bucket, above 0. */
void buckets_plan(const size_t *bytes, const int *made_at, size_t count, size_t max,
                  struct buckets *ret);
void buckets_release(struct buckets *buckets);

/* Of sizes and places: what ranks compare (comm_agree). 64 hexadecimal characters and NUL. */
void buckets_digest(const struct buckets *buckets, char hex[static 65]);
