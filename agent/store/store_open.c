// SPDX-License-Identifier: Apache-2.0
/* Finds the kind of store of a path, and opens it. */
#include "agent/store/store.h"

#include "agent/store/store_ops.h"

#include <string.h>

/* The first kind with a matching prefix is used; volumes match every path, so they are last. */
static const struct store_ops *const kinds[] = {&azure_store_ops, &s3_store_ops, &google_store_ops,
                                                &path_store_ops};

const struct store_ops *store_ops_of(const char *spec_path) {
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const char *prefix = kinds[i]->prefix;
        if (text_starts(spec_path, prefix) && (*prefix || !strstr(spec_path, "://"))) {
            return kinds[i];
        }
    }
    return NULL;
}

int store_open(const char *spec_path, bool writes, struct store **ret_store, struct error *err) {
    const struct store_ops *kind = store_ops_of(spec_path);
    struct store *store = NULL;
    if (!kind) {
        return error_set(
            err, ERROR_INVALID,
            "\"%.80s\": VOLUME/path/in/it, az://ACCOUNT/CONTAINER/path, s3://BUCKET/path or "
            "gs://BUCKET/path is expected",
            spec_path);
    }
    if (kind->open(spec_path, writes, &store, err) < 0) {
        return -1;
    }
    store_init(store, kind, spec_path, writes);
    *ret_store = store;
    return 0;
}

int store_probe_path(const char *spec_path, int timeout_ms, struct error *err) {
    const struct store_ops *kind = store_ops_of(spec_path);
    return kind && kind->try_path ? kind->try_path(spec_path, timeout_ms, err) : 0;
}

bool store_is_local(const char *spec_path) {
    return !strstr(spec_path, "://");
}
