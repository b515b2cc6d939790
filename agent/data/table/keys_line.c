// SPDX-License-Identifier: Apache-2.0
/* Reads the lines of keys.c, for workers. */
#include "agent/data/table/keys.h"

#include "lib/digest.h"

#include <stdio.h>
#include <string.h>

/* Reads the range at index `next` of a file's list. */
static bool read_range(const json_t *file, size_t next, struct table_block *ret_block) {
    const json_t *first = json_array_get(file, next), *end = json_array_get(file, next + 1);
    *ret_block = (struct table_block){.name = json_string_value(json_array_get(file, 0)),
                                      .token = json_string_value(json_array_get(file, 1)),
                                      .first = json_integer_value(first),
                                      .end = json_integer_value(end)};
    return json_is_integer(first) && json_is_integer(end) && ret_block->first >= 0 &&
           ret_block->end > ret_block->first;
}

static bool are_ranges(const json_t *at) {
    bool is_sound = json_array_size(at) > 0;
    size_t i;
    json_t *file;
    json_array_foreach(at, i, file) {
        const json_t *name = json_array_get(file, 0);
        size_t length = json_string_length(name);
        is_sound = is_sound && length > 0 && length <= STORE_NAME_MAX &&
                   strlen(json_string_value(name)) == length &&
                   json_is_string(json_array_get(file, 1)) && json_array_size(file) >= 4 &&
                   json_array_size(file) % 2 == 0;
        for (size_t next = 2; is_sound && next < json_array_size(file); next += 2) {
            struct table_block block;
            is_sound = read_range(file, next, &block);
        }
    }
    return is_sound;
}

bool keys_is_line(const json_t *line) {
    const json_t *at = json_object_get(line, "at");
    return json_is_object(line) && (at ? are_ranges(at)
                                       : json_is_string(json_object_get(line, "list")) &&
                                             json_is_string(json_object_get(line, "crc")));
}

static int load(const json_t *line, const char *output, json_t **ret_at, struct error *err) {
    const char *name = tree_text(line, "list", ""), *wanted = tree_text(line, "crc", "");
    AUTO(store_freep) struct store *store = NULL;
    AUTO(buffer_release) struct buffer text;
    struct error ignored = {0};
    char crc[9];
    buffer_init(&text, KEYS_AT_MAX + 1);
    if (store_open(output, /* writes= */ false, &store, err) < 0 ||
        store_get(store, name, &text, NULL, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    const char *bytes = text.data ? text.data : "";
    snprintf(crc, sizeof crc, "%08x", digest_crc32c(0, bytes, text.size));
    AUTO(tree_freep) json_t *at = NULL;
    if (strcmp(crc, wanted) != 0 || tree_parse(bytes, text.size, text.size, &at, &ignored) < 0 ||
        !are_ranges(at)) {
        return error_set(err, ERROR_INVALID,
                         "spec.output.path: %s/%s has changed since it was listed", output, name);
    }
    *ret_at = TAKE(at);
    return 0;
}

int keys_ranges_open(const json_t *line, const char *output, struct keys_ranges *ret_ranges,
                     struct error *err) {
    *ret_ranges = (struct keys_ranges){.at = json_object_get(line, "at"), .next = 2};
    if (!ret_ranges->at && load(line, output, &ret_ranges->loaded, err) < 0) {
        return -1;
    }
    ret_ranges->at = ret_ranges->at ? ret_ranges->at : ret_ranges->loaded;
    return 0;
}

bool keys_ranges_next(struct keys_ranges *ranges, struct table_block *ret_block) {
    const json_t *file = json_array_get(ranges->at, ranges->file);
    if (file && ranges->next >= json_array_size(file)) {
        file = json_array_get(ranges->at, ++ranges->file);
        ranges->next = 2;
    }
    if (!file) {
        return false;
    }
    (void)read_range(file, ranges->next, ret_block);
    ranges->next += 2;
    return true;
}

void keys_ranges_release(struct keys_ranges *ranges) {
    json_decref(ranges->loaded);
    *ranges = (struct keys_ranges){0};
}
