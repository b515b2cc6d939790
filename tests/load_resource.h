/* load_resource.h: the only resource of a file, as `windlass check -f FILE` reads it. */
#pragma once

#include "operator/resource_files.h"

/* INVALID: it is refused, or is not the only one. */
static inline int load_resource(const char *path, bool today, json_t **ret_object,
                                struct error *err) {
    struct option_list paths = {.values = {path}, .count = 1};
    AUTO(resource_files_release) struct resource_files files = {0};
    if (resource_files_read(&paths, today ? RESOURCE_SUPPORTED : RESOURCE_OF_CLUSTER, NULL, &files,
                            err) < 0) {
        return -1;
    }
    if (files.count > 1) {
        return error_set(err, ERROR_INVALID, "%.120s: more than one resource", path);
    }
    if (!files.at[0].object) {
        *err = files.at[0].why;
        return -1;
    }
    *ret_object = TAKE(files.at[0].object);
    return 0;
}
