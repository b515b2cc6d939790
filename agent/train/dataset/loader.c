// SPDX-License-Identifier: Apache-2.0
/* Steps from first_step on are in ring[step % LOADER_RING]. Under the lock: `filling` is the step
 * whose samples are assigned to threads (a few at a time), `taking` is the step that the caller
 * gets next; until then the caller uses the slot before it. */
#include "agent/train/dataset/loader.h"

#include "agent/train/dataset/order.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES_A_THREAD = 4 }; /* of a batch, so that all threads end at about the same time */

static const int64_t ring_bytes_max = (int64_t)64 << 30;

struct slot {
    struct batch batch;
    int64_t first;       /* place of the first sample in the epoch */
    int64_t given, done; /* samples */
    struct error error;  /* of the first sample that failed */
};

struct loader {
    struct loader_options options;
    struct slot ring[LOADER_RING];
    int64_t sample_elements;
    pthread_t threads[LOADER_THREADS_MAX];
    int thread_count;
    pthread_mutex_t lock;
    pthread_cond_t has_work, is_done;
    int64_t filling, taking, kept; /* kept: the first step whose slot must not be reused */
    bool stops;
    atomic_int_fast64_t made;
    int64_t waited_ns; /* used only by the caller's thread */
};

/* ---- filling -------------------------------------------------------------------------------- */

/* The lock is held. */
static void begin_step(struct loader *loader, int64_t step) {
    const struct loader_options *options = &loader->options;
    struct slot *slot = &loader->ring[step % LOADER_RING];
    struct order_batch whole = order_batch(options->dataset->count, options->batch_size, step);
    struct order_slice slice = order_slice(whole.count, options->rank, options->size);
    slot->batch.step = step;
    slot->batch.epoch = whole.epoch;
    slot->batch.count = slice.count;
    slot->batch.total = whole.count;
    slot->first = whole.first + slice.first;
    slot->given = slot->done = 0;
    slot->error = (struct error){0};
}

static bool has_step(const struct loader *loader) {
    return loader->filling < loader->options.end_step &&
           loader->filling < loader->kept + LOADER_RING;
}

struct piece {
    struct slot *slot;
    int64_t first, count; /* of this piece, in the slice */
};

/* Waits for work; false: there is no more. The lock is held. */
static bool next_piece(struct loader *loader, struct piece *ret_piece) {
    for (;;) {
        while (!loader->stops && !has_step(loader)) {
            if (loader->filling >= loader->options.end_step) {
                return false;
            }
            pthread_cond_wait(&loader->has_work, &loader->lock);
        }
        if (loader->stops) {
            return false;
        }
        struct slot *slot = &loader->ring[loader->filling % LOADER_RING];
        if (slot->batch.step != loader->filling) {
            begin_step(loader, loader->filling);
        }
        int64_t left = slot->batch.count - slot->given;
        int64_t usual = slot->batch.count / (PIECES_A_THREAD * loader->options.threads) + 1;
        *ret_piece = (struct piece){slot, slot->given, MIN(left, usual)};
        slot->given += ret_piece->count;
        if (slot->given == slot->batch.count) {
            loader->filling++;
            pthread_cond_broadcast(&loader->is_done); /* a batch without samples is then complete */
        }
        if (ret_piece->count) {
            return true;
        }
    }
}

static int make_sample(struct loader *loader, const struct piece *piece, int64_t at,
                       struct sample *sample, struct error *err) {
    const struct loader_options *options = &loader->options;
    struct dataset *dataset = options->dataset;
    struct batch *batch = &piece->slot->batch;
    int64_t place = piece->slot->first + at;
    int64_t index = options->is_training
                        ? order_place(options->seed, batch->epoch, dataset->count, place)
                        : place;
    struct augment_draw draw = {options->is_training, options->seed, batch->epoch, index};
    batch->indices[at] = index;
    if (dataset_read(dataset, index, sample, err) < 0) {
        return -1;
    }
    augment_fill(options->augment, sample, &draw, batch->samples + at * loader->sample_elements);
    if (batch->labels) {
        batch->labels[at] = sample->label;
    } else {
        memcpy(batch->targets + at * dataset->target_count, sample->target,
               (size_t)dataset->target_count * sizeof(float));
    }
    atomic_fetch_add(&loader->made, 1);
    return 0;
}

static void *fill(void *context) {
    struct loader *loader = context;
    AUTO(sample_release) struct sample sample = {0};
    struct piece piece;
    pthread_mutex_lock(&loader->lock);
    while (next_piece(loader, &piece)) {
        struct error err = {0};
        /* Its other samples need not be read. */
        bool is_broken = piece.slot->error.kind != ERROR_NONE;
        pthread_mutex_unlock(&loader->lock);
        for (int64_t i = 0; i < piece.count && !is_broken; i++) {
            is_broken = make_sample(loader, &piece, piece.first + i, &sample, &err) < 0;
        }
        pthread_mutex_lock(&loader->lock);
        if (err.kind != ERROR_NONE && piece.slot->error.kind == ERROR_NONE) {
            piece.slot->error = err;
        }
        piece.slot->done += piece.count;
        if (piece.slot->done == piece.slot->batch.count) {
            pthread_cond_broadcast(&loader->is_done);
        }
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* ---- the caller ----------------------------------------------------------------------------- */

static int make_room(struct loader *loader, struct error *err) {
    const struct loader_options *options = &loader->options;
    const struct dataset *dataset = options->dataset;
    int64_t count = MIN(options->batch_size, dataset->count) / options->size + 1;
    int64_t bytes = (loader->sample_elements + dataset->target_count + 4) * (int64_t)sizeof(float);
    if (count > ring_bytes_max / LOADER_RING / bytes) {
        return error_set(err, ERROR_EXHAUSTED,
                         "batchSize %lld: %d batches of %lld samples of %lld bytes need more than "
                         "%lld GiB",
                         (long long)options->batch_size, LOADER_RING, (long long)count,
                         (long long)bytes, (long long)(ring_bytes_max >> 30));
    }
    for (int i = 0; i < LOADER_RING; i++) {
        struct batch *batch = &loader->ring[i].batch;
        size_t elements = (size_t)(count * loader->sample_elements) * sizeof(float);
        batch->step = -1;
        /* Whole cache lines, with the alignment of tensors. */
        batch->samples = aligned_alloc(64, (elements + 63) / 64 * 64 + 64);
        if (!batch->samples) {
            return error_set(err, ERROR_EXHAUSTED, "no memory for a batch of %lld samples",
                             (long long)count);
        }
        batch->indices = x_calloc((size_t)count, sizeof *batch->indices);
        if (dataset->classes) {
            batch->labels = x_calloc((size_t)count, sizeof *batch->labels);
        } else {
            batch->targets =
                x_calloc((size_t)(count * dataset->target_count), sizeof *batch->targets);
        }
    }
    return 0;
}

void loader_close(struct loader *loader) {
    if (!loader) {
        return;
    }
    pthread_mutex_lock(&loader->lock);
    loader->stops = true;
    pthread_cond_broadcast(&loader->has_work);
    pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->thread_count; i++) {
        pthread_join(loader->threads[i], NULL);
    }
    for (int i = 0; i < LOADER_RING; i++) {
        free(loader->ring[i].batch.samples);
        free(loader->ring[i].batch.labels);
        free(loader->ring[i].batch.targets);
        free(loader->ring[i].batch.indices);
    }
    pthread_cond_destroy(&loader->has_work);
    pthread_cond_destroy(&loader->is_done);
    pthread_mutex_destroy(&loader->lock);
    free(loader);
}

void loader_closep(struct loader **loader) {
    loader_close(TAKE(*loader));
}

int loader_open(const struct loader_options *options, struct loader **ret_loader,
                struct error *err) {
    assert(options->threads >= 1 && options->threads <= LOADER_THREADS_MAX);
    assert(options->batch_size >= 1 && options->rank >= 0 && options->rank < options->size);
    AUTO(loader_closep) struct loader *loader = x_calloc(1, sizeof *loader);
    loader->options = *options;
    loader->sample_elements = shape_count(&options->augment->shape);
    loader->filling = loader->taking = loader->kept = options->first_step;
    atomic_init(&loader->made, 0);
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->has_work, NULL);
    pthread_cond_init(&loader->is_done, NULL);
    if (make_room(loader, err) < 0) {
        return -1;
    }
    for (int i = 0; i < options->threads; i++) {
        int code = pthread_create(&loader->threads[i], NULL, fill, loader);
        if (code != 0) {
            return error_from_errno(err, code, "cannot start a thread");
        }
        loader->thread_count++;
    }
    *ret_loader = TAKE(loader);
    return 0;
}

int loader_take(struct loader *loader, const struct batch **ret_batch, struct error *err) {
    int64_t step = loader->taking;
    if (step >= loader->options.end_step) {
        return 0;
    }
    struct slot *slot = &loader->ring[step % LOADER_RING];
    int64_t start_ns = clock_monotonic_ns();
    pthread_mutex_lock(&loader->lock);
    loader->kept = step; /* the caller no longer uses the slot before */
    pthread_cond_broadcast(&loader->has_work);
    while (loader->filling <= step || slot->done < slot->batch.count) {
        pthread_cond_wait(&loader->is_done, &loader->lock);
    }
    pthread_mutex_unlock(&loader->lock);
    loader->waited_ns += clock_monotonic_ns() - start_ns;
    if (slot->error.kind != ERROR_NONE) {
        *err = slot->error;
        return -1;
    }
    loader->taking++;
    *ret_batch = &slot->batch;
    return 1;
}

int64_t loader_waited_ns(const struct loader *loader) {
    return loader->waited_ns;
}

int64_t loader_made(const struct loader *loader) {
    return atomic_load(&loader->made);
}
