// SPDX-License-Identifier: Apache-2.0
#include "agent/train/dataset/shards.h"

#include "agent/data/source/source.h"

#include <string.h>

/* Digits up to a character; -1: none, or too many. */
static int64_t read_digits(const char *from, const char *to) {
    int64_t value = 0;
    if (to == from || to - from > SHARDS_DIGITS_MAX) {
        return -1;
    }
    for (; from < to; from++) {
        if (*from < '0' || *from > '9') {
            return -1;
        }
        value = 10 * value + (*from - '0');
    }
    return value;
}

int shards_expand(const char *path, json_t *paths, struct error *err) {
    const char *open = strchr(path, '{'), *dots = open ? strstr(open, "..") : NULL;
    const char *close = dots ? strchr(dots, '}') : NULL;
    if (!open && !strchr(path, '}')) {
        return 0;
    }
    int64_t first = close ? read_digits(open + 1, dots) : -1;
    int64_t last = close ? read_digits(dots + 2, close) : -1;
    if (first < 0 || last < first || strpbrk(close + 1, "{}")) {
        return error_set(err, ERROR_INVALID,
                         "%.300s: one range of numbers in braces is expected, such as "
                         "train-{000..099}.tar",
                         path);
    }
    if (last - first >= SHARDS_MAX) {
        return error_set(err, ERROR_INVALID, "%.300s: %lld shards, at most %d", path,
                         (long long)(last - first + 1), SHARDS_MAX);
    }
    for (int64_t i = first; i <= last; i++) {
        AUTO(text_freep)
        char *shard = x_printf("%.*s%0*lld%s", (int)(open - path), path, (int)(dots - open - 1),
                               (long long)i, close + 1);
        json_array_append_new(paths, json_string(shard));
    }
    return 1;
}

struct collecting {
    const struct source *source;
    json_t *paths;
};

static int add_file(void *context, const char *name, struct error *err) {
    const struct collecting *collecting = context;
    const char *folder = store_path(collecting->source->store);
    AUTO(text_freep) char *path = x_printf("%s/%s", folder, name);
    if (json_array_size(collecting->paths) == SHARDS_MAX) {
        return error_set(err, ERROR_INVALID, "%s: more than %d shards", folder, SHARDS_MAX);
    }
    json_array_append_new(collecting->paths, json_string(path));
    return 0;
}

static int list(const char *path, struct strays *strays, json_t *paths, struct error *err) {
    AUTO(source_release) struct source source = {0};
    struct collecting collecting = {&source, paths};
    if (source_open(path, &source, err) < 0) {
        return -1;
    }
    if (source.file) {
        json_array_append_new(paths, json_string(path));
        return 0;
    }
    source.leave = strays_add_left_out;
    source.leave_context = strays;
    if (source_list(&source, "*.tar", NULL, add_file, &collecting, err) < 0) {
        return -1;
    }
    return json_array_size(paths)
               ? 0
               : error_set(err, ERROR_NOT_FOUND, "%s: no file matches *.tar", path);
}

int shards_find(const char *path, struct strays *strays, json_t **ret_paths, struct error *err) {
    json_t *paths = json_array();
    int result = shards_expand(path, paths, err);
    if (result == 0) {
        result = list(path, strays, paths, err);
    }
    if (result < 0) {
        json_decref(paths);
        return -1;
    }
    *ret_paths = paths;
    return 0;
}
