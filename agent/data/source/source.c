// SPDX-License-Identifier: Apache-2.0
#include "agent/data/source/source.h"

#include "agent/data/source/name_pattern.h"
#include "agent/store/stored_file.h"
#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

void source_release(struct source *source) {
    store_free(TAKE(source->store));
    free(TAKE(source->file));
}

/* The length of the folder's part of the path; 0: it has no folder above it. */
static size_t folder_length(const char *spec_path) {
    const char *slash = strrchr(spec_path, '/'), *below = stored_file_below_container(spec_path);
    const char *lowest = below ? below : spec_path; /* a container is the topmost folder */
    return slash && slash >= lowest && slash[1] ? (size_t)(slash - spec_path) : 0;
}

/* 1: a file; 0: not a file, or unknown; -1: the storage failed. */
static int open_file(const char *spec_path, struct source *ret_source, struct error *err) {
    size_t length = folder_length(spec_path);
    AUTO(text_freep) char *folder = x_strndup(spec_path, length);
    AUTO(store_freep) struct store *store = NULL;
    struct store_info info;
    struct error cause = {0};
    if (length == 0 || store_open(folder, /* writes= */ false, &store, &cause) < 0) {
        return 0;
    }
    if (store_stat(store, spec_path + length + 1, &info, &cause) < 0) {
        bool is_none = cause.kind == ERROR_NOT_FOUND || cause.kind == ERROR_INVALID;
        *err = is_none ? *err : cause;
        return is_none ? 0 : -1;
    }
    ret_source->store = TAKE(store);
    ret_source->file = x_strdup(spec_path + length + 1);
    return 1;
}

int source_open(const char *spec_path, struct source *ret_source, struct error *err) {
    *ret_source = (struct source){0};
    int found = open_file(spec_path, ret_source, err);
    return found ? MIN(found, 0)
                 : store_open(spec_path, /* writes= */ false, &ret_source->store, err);
}

void source_leave_count(void *count, const char *name UNUSED) {
    ++*(int64_t *)count;
}

struct listing {
    const struct source *source;
    const char *pattern;
    source_each *each;
    void *context;
};

static int on_name(void *context, const char *name, const struct store_info *info,
                   struct error *err) {
    struct listing *listing = context;
    size_t length = strlen(name);
    if (info && info->is_left_out) {
        if (info->is_folder || name_pattern_covers(listing->pattern, name)) {
            listing->source->leave(listing->source->leave_context, name);
        }
        return 0;
    }
    if (!name_pattern_matches(listing->pattern, name) &&
        !(info && (info->is_folder || info->is_beyond))) {
        return 0;
    }
    if (info && info->fault) {
        return error_set(err, ERROR_INVALID,
                         "%s: remove it, or put the file itself there under a plain name",
                         info->fault);
    }
    if (utf8_valid_size(name, length) != length) {
        return error_set(err, ERROR_INVALID, "%s/%s: its name is not UTF-8; rename it",
                         store_path(listing->source->store), name);
    }
    return listing->each(listing->context, name, err);
}

int source_list(const struct source *source, const char *pattern, const char *after,
                source_each *each, void *context, struct error *err) {
    struct listing listing = {source, pattern, each, context};
    if (!source->file) {
        return (source->leave ? store_list_all : store_list_links)(source->store, "", after,
                                                                   on_name, &listing, err);
    }
    return after && strcmp(source->file, after) <= 0 ? 0 : each(context, source->file, err);
}
