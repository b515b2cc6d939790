// SPDX-License-Identifier: Apache-2.0
#include "operator/control/kind_watch.h"

#include <stdlib.h>
#include <string.h>

struct watching {
    struct cluster *cluster;
    struct cache *cache;
    json_t *watched; /* kind -> true */
};

static int watch_one(struct watching *watching, const char *api_version, const char *kind,
                     const char *label, const struct kind *of, struct error *err) {
    bool is_own = strcmp(of->name, kind) == 0;
    if (json_object_get(watching->watched, kind)) { /* two kinds may own the same kind */
        return 0;
    }
    json_object_set_new(watching->watched, kind, json_true());
    cache_watch(watching->cache, api_version, kind,
                (struct cache_rules){of->transform, is_own ? of->schema : NULL});
    return watching->cluster->ops->watch(watching->cluster, api_version, kind, label,
                                         is_own && of->may_be_absent, err);
}

static int watch_kind(struct watching *watching, const struct kind *kind, struct error *err) {
    if (watch_one(watching, kind->api_version, kind->name, /* label= */ NULL, kind, err) < 0) {
        return -1;
    }
    for (const struct owned_kind *owned = kind->owned; owned->kind; owned++) {
        if (watch_one(watching, owned->api_version, owned->kind, LABEL_JOB, kind, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int kind_watch_all(struct cluster *cluster, struct cache *cache, const struct kind *const *kinds,
                   json_t *watched, struct error *err) {
    struct watching watching = {.cluster = cluster, .cache = cache, .watched = watched};
    for (; *kinds; kinds++) {
        if (watch_kind(&watching, *kinds, err) < 0) {
            return -1;
        }
    }
    return 0;
}
