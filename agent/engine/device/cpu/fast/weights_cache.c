// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/device/cpu/fast/weights_cache.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct weights_key key;
    struct conv_weights *weights;
};

struct weights_cache {
    struct entry *entries;
    size_t count;
};

struct weights_cache *weights_cache_new(void) {
    return x_calloc(1, sizeof(struct weights_cache));
}

void weights_cache_free(struct weights_cache *cache) {
    if (!cache) {
        return;
    }
    for (size_t i = 0; i < cache->count; i++) {
        conv_weights_free(cache->entries[i].weights);
    }
    free(cache->entries);
    free(cache);
}

struct conv_weights *weights_cache_get(const struct weights_cache *cache,
                                       const struct weights_key *key) {
    for (size_t i = 0; i < cache->count; i++) {
        const struct weights_key *other = &cache->entries[i].key;
        if (other->node == key->node && other->weights == key->weights &&
            other->bias == key->bias && other->norm == key->norm &&
            other->algorithm == key->algorithm && other->planar == key->planar &&
            memcmp(other->order, key->order, sizeof key->order) == 0) {
            return cache->entries[i].weights;
        }
    }
    return NULL;
}

void weights_cache_put(struct weights_cache *cache, const struct weights_key *key,
                       struct conv_weights *weights) {
    cache->entries = x_realloc_array(cache->entries, cache->count + 1, sizeof *cache->entries);
    cache->entries[cache->count++] = (struct entry){*key, weights};
}
