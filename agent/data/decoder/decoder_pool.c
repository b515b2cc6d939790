// SPDX-License-Identifier: Apache-2.0
/* Decoding processes shared by many threads. */
#include "agent/data/decoder/decoder.h"
#include "agent/data/image/image.h"
#include "lib/cgroup.h"

#include <pthread.h>
#include <stdlib.h>

struct decoder_pool {
    struct decoder_limits limits;
    pthread_mutex_t lock;
    pthread_cond_t has_idle;
    struct decoder **idle;   /* [count] */
    size_t count, made, max; /* max: 0 before the first call */
};

struct decoder_pool *decoder_pool_new(void) {
    struct decoder_pool *pool = x_calloc(1, sizeof *pool);
    pool->limits = DECODER_PICTURE_LIMITS;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->has_idle, NULL);
    return pool;
}

void decoder_pool_limit(struct decoder_pool *pool, struct decoder_limits limits) {
    pool->limits = limits;
}

void decoder_pool_free(struct decoder_pool *pool) {
    if (pool) {
        for (size_t i = 0; i < pool->count; i++) {
            decoder_free(pool->idle[i]);
        }
        free(pool->idle);
        pthread_cond_destroy(&pool->has_idle);
        pthread_mutex_destroy(&pool->lock);
        free(pool);
    }
}

/* At the first call, since windlass-shim, which decodes nothing, touches no file but the job's. */
static void prepare(struct decoder_pool *pool) {
    if (!pool->max) {
        pool->max = (size_t)cgroup_usable_processors(NULL);
        pool->idle = x_calloc(pool->max, sizeof *pool->idle);
    }
}

/* A wait ends when a call does, which decoder_limits bounds. */
static struct decoder *take(struct decoder_pool *pool) {
    struct decoder *decoder = NULL;
    pthread_mutex_lock(&pool->lock);
    prepare(pool);
    while (!pool->count && pool->made == pool->max) {
        pthread_cond_wait(&pool->has_idle, &pool->lock);
    }
    if (pool->count) {
        decoder = pool->idle[--pool->count];
    } else {
        pool->made++;
    }
    pthread_mutex_unlock(&pool->lock);
    return decoder ? decoder : decoder_new(pool->limits);
}

static void give_back(struct decoder_pool *pool, struct decoder *decoder) {
    pthread_mutex_lock(&pool->lock);
    pool->idle[pool->count++] = decoder;
    pthread_cond_signal(&pool->has_idle);
    pthread_mutex_unlock(&pool->lock);
}

int decoder_pool_image(struct decoder_pool *pool, const void *bytes, size_t size,
                       struct picture *ret_picture, struct error *err) {
    if (!decoder_is_separate()) {
        return image_decode(bytes, size, ret_picture, err);
    }
    struct decoder *decoder = take(pool);
    int result = decoder_image(decoder, bytes, size, ret_picture, err);
    give_back(pool, decoder);
    return result;
}

int decoder_pool_mask(struct decoder_pool *pool, const void *bytes, size_t size,
                      struct picture *ret_picture, struct error *err) {
    if (!decoder_is_separate()) {
        return image_decode_mask(bytes, size, ret_picture, err);
    }
    struct decoder *decoder = take(pool);
    int result = decoder_mask(decoder, bytes, size, ret_picture, err);
    give_back(pool, decoder);
    return result;
}

static struct decoder_pool *unpackers; /* for good: others may use it until the process ends */
static pthread_once_t unpackers_once = PTHREAD_ONCE_INIT;

static void make_unpackers(void) {
    unpackers = decoder_pool_new();
}

int decoder_pool_unpack(int codec, struct parquet_unpack_bytes in, uint8_t *out, size_t size_out,
                        struct error *err) {
    pthread_once(&unpackers_once, make_unpackers);
    struct decoder *decoder = take(unpackers);
    struct decoder_page page = {codec, in, size_out};
    int result = decoder_unpack(decoder, &page, out, err);
    give_back(unpackers, decoder);
    return result;
}
