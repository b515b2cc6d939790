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
    bool is_bad_data;    /* the error is one of bad samples */
};

struct loader {
    struct loader_options options;
    struct slot ring[LOADER_RING];
    int64_t sample_bytes, extra_bytes[SAMPLE_EXTRAS_MAX];
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

static int64_t index_of(const struct loader *loader, int64_t epoch, int64_t place) {
    const struct loader_options *options = &loader->options;
    return options->is_training ? order_place(options->seed, epoch, options->dataset->count, place)
                                : place;
}

/* Every rank counts the whole batch, so that none has to ask the others. */
static void count_places(const struct loader *loader, const struct order_batch *whole,
                         int64_t *ret_counted) {
    int64_t counted = 0;
    for (int64_t i = 0; i < whole->count; i++) {
        int64_t index = index_of(loader, whole->epoch, whole->first + i);
        counted += dataset_counted(loader->options.dataset, index);
    }
    *ret_counted = counted;
}

/* Which samples the other ranks' bad ones were replaced by is not known here. */
static bool counts_own(const struct loader_options *options) {
    const struct dataset *dataset = options->dataset;
    return dataset->is_late || options->augment->moves_places ||
           (dataset->counted && bad_samples_skips(options->bad));
}

/* The lock is held. */
static void begin_step(struct loader *loader, int64_t step) {
    const struct loader_options *options = &loader->options;
    struct slot *slot = &loader->ring[step % LOADER_RING];
    struct order_batch whole = order_find_batch(options->dataset->count, options->batch_size, step);
    struct order_slice slice = order_find_slice(whole.count, options->rank, options->size);
    slot->batch.step = step;
    slot->batch.epoch = whole.epoch;
    slot->batch.count = slice.count;
    slot->batch.total = whole.count;
    slot->batch.counted = whole.count * shape_count(&options->augment->places);
    slot->batch.bad = 0;
    slot->batch.counts_own = counts_own(options);
    if (slot->batch.counts_own) {
        slot->batch.counted = 0;
    } else if (options->dataset->counted) {
        count_places(loader, &whole, &slot->batch.counted);
    }
    slot->first = whole.first + slice.first;
    slot->given = slot->done = 0;
    slot->error = (struct error){0};
    slot->is_bad_data = false;
}

static bool has_step(const struct loader *loader) {
    return loader->filling < loader->options.end_step &&
           loader->filling < loader->kept + LOADER_RING;
}

struct piece {
    struct slot *slot;
    int64_t first, count; /* of this piece, in the slice */
    int64_t counted, bad; /* of its samples so far */
    bool is_bad_data;     /* bad samples have ended it */
};

/* Waits for work; false: no more pieces. The lock is held. */
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
        *ret_piece = (struct piece){.slot = slot, .first = slot->given, .count = MIN(left, usual)};
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

/* Reads the sample of a place or, if that is bad and bad ones are skipped, another one. 1: it is;
 * 0: it is bad, and in evaluation has no substitute. */
static int read_place(struct loader *loader, struct piece *piece, int64_t place,
                      struct sample *sample, int64_t *ret_index, struct error *err) {
    const struct loader_options *options = &loader->options;
    int64_t epoch = piece->slot->batch.epoch, count = options->dataset->count;
    int64_t index = index_of(loader, epoch, place);
    for (uint32_t attempt = 0; attempt < BAD_SAMPLES_DRAWS; attempt++) {
        struct error cause = {0};
        *ret_index = index;
        if (dataset_read(options->dataset, index, sample, &cause) == 0) {
            return 1;
        }
        bool is_bad = bad_samples_is_one(&cause);
        if (!is_bad || !bad_samples_skips(options->bad)) {
            *err = cause;
            piece->is_bad_data = is_bad;
            return -1;
        }
        bad_samples_note(options->bad, index, &cause);
        if (!options->is_training) {
            return 0;
        }
        index = bad_samples_substitute(options->seed, epoch, count, place, attempt);
    }
    piece->is_bad_data = true;
    return error_set(err, ERROR_INVALID, "%d samples in a row are bad (data.onBadSample: Skip)",
                     BAD_SAMPLES_DRAWS);
}

/* Places that count of the sample, whose labels are in the batch already. */
static int64_t count_labels(const struct loader_options *options, const struct batch *batch,
                            int64_t at, int64_t index) {
    const struct dataset *dataset = options->dataset;
    int64_t places = shape_count(&options->augment->places), counted = 0;
    if (!dataset->is_late && !options->augment->moves_places) {
        return dataset_counted(dataset, index);
    }
    for (int64_t i = at * places; i < (at + 1) * places; i++) {
        counted += batch->labels[i] != dataset->ignored;
    }
    return counted;
}

static void put_target(const struct loader_options *options, const struct sample *sample,
                       const struct augment_draw *draw, int64_t at, struct batch *batch) {
    const struct dataset *dataset = options->dataset;
    if (batch->labels && dataset->places.rank > 0) {
        augment_labels(options->augment, sample, draw,
                       batch->labels + at * shape_count(&options->augment->places));
    } else if (batch->labels) {
        batch->labels[at] = sample->label;
    } else {
        memcpy(batch->targets + at * dataset->target_count, sample->target,
               (size_t)dataset->target_count * sizeof(float));
    }
}

/* A sample of zeros, which the caller does not count. */
static void put_none(struct loader *loader, int64_t at, struct batch *batch) {
    const struct dataset *dataset = loader->options.dataset;
    int64_t places = shape_count(&loader->options.augment->places);
    memset((char *)batch->samples + at * loader->sample_bytes, 0, (size_t)loader->sample_bytes);
    for (size_t i = 0; i < dataset->extra_count; i++) {
        memset((char *)batch->extras[i] + at * loader->extra_bytes[i], 0,
               (size_t)loader->extra_bytes[i]);
    }
    if (batch->labels) {
        memset(batch->labels + at * places, 0, (size_t)places * sizeof(int64_t));
    } else {
        memset(batch->targets + at * dataset->target_count, 0,
               (size_t)dataset->target_count * sizeof(float));
    }
}

static int make_sample(struct loader *loader, struct piece *piece, int64_t at,
                       struct sample *sample, struct error *err) {
    const struct loader_options *options = &loader->options;
    struct batch *batch = &piece->slot->batch;
    int64_t place = piece->slot->first + at, index;
    int found = read_place(loader, piece, place, sample, &index, err);
    if (found < 0) {
        return -1;
    }
    batch->indices[at] = index;
    piece->bad += found == 0 || index != index_of(loader, batch->epoch, place);
    if (batch->is_bad) {
        batch->is_bad[at] = found == 0;
    }
    if (found == 0) {
        put_none(loader, at, batch);
        return 0;
    }
    struct augment_draw draw = {options->is_training, options->seed, batch->epoch, index};
    augment_fill(options->augment, sample, &draw,
                 (char *)batch->samples + at * loader->sample_bytes);
    for (size_t i = 0; i < options->dataset->extra_count; i++) {
        augment_fill_extra(options->augment, &options->dataset->extras[i], i, sample,
                           (char *)batch->extras[i] + at * loader->extra_bytes[i]);
    }
    put_target(options, sample, &draw, at, batch);
    piece->counted += batch->counts_own ? count_labels(options, batch, at, index) : 0;
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
            piece.slot->is_bad_data = piece.is_bad_data;
        }
        piece.slot->batch.counted += piece.counted;
        piece.slot->batch.bad += piece.bad;
        piece.slot->done += piece.count;
        if (piece.slot->done == piece.slot->batch.count) {
            pthread_cond_broadcast(&loader->is_done);
        }
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* ---- the caller ----------------------------------------------------------------------------- */

/* Whole cache lines, with the alignment of tensors. */
static int make_tensor(int64_t count, int64_t bytes, void **ret_data, struct error *err) {
    *ret_data = aligned_alloc(64, ((size_t)(count * bytes) + 63) / 64 * 64 + 64);
    return *ret_data ? 0
                     : error_set(err, ERROR_EXHAUSTED, "no memory for a batch of %lld samples",
                                 (long long)count);
}

static int make_room(struct loader *loader, struct error *err) {
    const struct loader_options *options = &loader->options;
    const struct dataset *dataset = options->dataset;
    int64_t count = MIN(options->batch_size, dataset->count) / options->size + 1;
    int64_t places = shape_count(&options->augment->places);
    int64_t bytes =
        loader->sample_bytes + (dataset->target_count + 2 * places + 2) * (int64_t)sizeof(float);
    for (size_t i = 0; i < dataset->extra_count; i++) {
        bytes += loader->extra_bytes[i];
    }
    if (count > ring_bytes_max / LOADER_RING / bytes) {
        return error_set(err, ERROR_EXHAUSTED,
                         "batchSize %lld: %d batches of %lld samples of %lld bytes need more than "
                         "%lld GiB",
                         (long long)options->batch_size, LOADER_RING, (long long)count,
                         (long long)bytes, (long long)(ring_bytes_max >> 30));
    }
    for (int i = 0; i < LOADER_RING; i++) {
        struct batch *batch = &loader->ring[i].batch;
        batch->step = -1;
        if (make_tensor(count, loader->sample_bytes, &batch->samples, err) < 0) {
            return -1;
        }
        for (size_t k = 0; k < dataset->extra_count; k++) {
            if (make_tensor(count, loader->extra_bytes[k], &batch->extras[k], err) < 0) {
                return -1;
            }
        }
        batch->indices = x_calloc((size_t)count, sizeof *batch->indices);
        if (!options->is_training && bad_samples_skips(options->bad)) {
            batch->is_bad = x_calloc((size_t)count, sizeof *batch->is_bad);
        }
        if (dataset->classes) {
            batch->labels = x_calloc((size_t)(count * places), sizeof *batch->labels);
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
        for (size_t k = 0; k < SAMPLE_EXTRAS_MAX; k++) {
            free(loader->ring[i].batch.extras[k]);
        }
        free(loader->ring[i].batch.labels);
        free(loader->ring[i].batch.targets);
        free(loader->ring[i].batch.indices);
        free(loader->ring[i].batch.is_bad);
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
    loader->sample_bytes =
        shape_count(&options->augment->shape) * (int64_t)tensor_type_size(options->augment->result);
    for (size_t i = 0; i < options->dataset->extra_count; i++) {
        loader->extra_bytes[i] = shape_count(&options->dataset->extras[i].shape) *
                                 (int64_t)tensor_type_size(options->augment->extra_results[i]);
    }
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
        /* Only now: until its step is taken, the training may end for another reason. */
        if (slot->is_bad_data) {
            bad_samples_end(loader->options.bad);
        }
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
