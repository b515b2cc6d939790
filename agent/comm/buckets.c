// SPDX-License-Identifier: Apache-2.0
#include "agent/comm/buckets.h"

#include "lib/digest.h"

#include <assert.h>
#include <stdlib.h>

struct gradient {
    size_t index, bytes; /* rounded up */
    int ready_after_step;
};

static int by_time(const void *left, const void *right) {
    const struct gradient *a = left, *b = right;
    if (a->ready_after_step != b->ready_after_step) {
        return a->ready_after_step < b->ready_after_step ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

static size_t aligned(size_t bytes) {
    return (bytes + BUCKET_ALIGNMENT - 1) / BUCKET_ALIGNMENT * BUCKET_ALIGNMENT;
}

/* Sorts gradients in the order in which they are made; the caller frees. */
static struct gradient *sorted(const size_t *bytes, const int *ready_after_step, size_t count) {
    struct gradient *gradients = x_calloc(MAX(count, (size_t)1), sizeof *gradients);
    for (size_t i = 0; i < count; i++) {
        assert(bytes[i] > 0);
        gradients[i] = (struct gradient){i, aligned(bytes[i]), ready_after_step[i]};
    }
    qsort(gradients, count, sizeof *gradients, by_time);
    return gradients;
}

/* The size of the next bucket, given the remaining bytes. If less than the minimum would remain, it
 * takes everything. */
static size_t next_size(size_t left, size_t max) {
    return MIN(left / 2 < BUCKET_MIN_BYTES ? left : left / 2, max);
}

void buckets_plan(const size_t *bytes, const int *ready_after_step, size_t count, size_t max,
                  struct buckets *ret) {
    assert(max > 0);
    struct gradient *gradients = sorted(bytes, ready_after_step, count);
    struct buckets plan = {.gradient_count = count};
    plan.all = x_calloc(MAX(count, (size_t)1), sizeof *plan.all);
    plan.places = x_calloc(MAX(count, (size_t)1), sizeof *plan.places);
    size_t left = 0, enough = 0;
    for (size_t i = 0; i < count; i++) {
        left += gradients[i].bytes;
    }
    struct bucket *open = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct gradient *gradient = &gradients[i];
        if (open && (open->bytes >= enough || open->bytes + gradient->bytes > max)) {
            open = NULL;
        }
        if (!open) {
            open = &plan.all[plan.count++];
            open->start = plan.bytes;
            enough = next_size(left, max);
        }
        plan.places[gradient->index] = (struct bucket_place){plan.count - 1, plan.bytes};
        plan.bytes += gradient->bytes;
        left -= gradient->bytes;
        open->bytes += gradient->bytes;
        open->ready_after_step = gradient->ready_after_step;
    }
    free(gradients);
    *ret = plan;
}

void buckets_release(struct buckets *buckets) {
    free(buckets->all);
    free(buckets->places);
    *buckets = (struct buckets){0};
}

void buckets_digest(const struct buckets *buckets, char hex[static 65]) {
    /* The digest is over numbers, not structs: padding between the members of a struct is
     * undefined. */
    size_t count = 2 + 2 * buckets->count + 2 * buckets->gradient_count, at = 0;
    uint64_t *numbers = x_calloc(count, sizeof *numbers);
    numbers[at++] = buckets->count;
    numbers[at++] = buckets->gradient_count;
    for (size_t i = 0; i < buckets->count; i++) {
        numbers[at++] = buckets->all[i].bytes;
        numbers[at++] = (uint64_t)buckets->all[i].ready_after_step;
    }
    for (size_t i = 0; i < buckets->gradient_count; i++) {
        numbers[at++] = buckets->places[i].bucket;
        numbers[at++] = buckets->places[i].start;
    }
    digest_sha256(numbers, count * sizeof *numbers, hex);
    free(numbers);
}
