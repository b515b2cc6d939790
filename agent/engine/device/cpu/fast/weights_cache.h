/* weights_cache.h: packed weights (in the order in which a kernel reads them) of a device. They are
 * made once and used by the steps of all schedules. */
#pragma once

#include "agent/engine/device/cpu/fast/conv.h"

struct weights_cache;
struct weights_key {
    const void *node; /* two nodes may use one constant as weights, with different shapes */
    const void *weights, *bias, *norm;
    enum conv_algorithm algorithm;
    bool planar;
    /* Of a transposed convolution: up_h, up_w, crop_top, crop_left, on which the order of the
     * kernel's elements depends; else zeros. They may depend on the input's shape. */
    int order[4];
};
struct weights_cache *weights_cache_new(void);
void weights_cache_free(struct weights_cache *cache);
/* NULL if the key is not in the cache. The cache owns the weights that are put. */
struct conv_weights *weights_cache_get(const struct weights_cache *cache,
                                       const struct weights_key *key);
void weights_cache_put(struct weights_cache *cache, const struct weights_key *key,
                       struct conv_weights *weights);
