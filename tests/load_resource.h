/* load_resource.h: the only resource of a file, as `windlass check -f FILE` reads it. */
#pragma once

#include "operator/resource_files.h"

#include <stdlib.h>

static inline int load_resource(const char *path, bool today, json_t **ret_object,
                                struct error *err) {
    struct option_list paths = {.values = {path}, .count = 1};
    struct resource_files files = {0};
    char *from = NULL;
    int result = resource_files_read(&paths, today, &files, err) < 0
                     ? -1
                     : resource_files_take_only(&files, &from, ret_object, err);
    free(from);
    resource_files_release(&files);
    return result;
}
