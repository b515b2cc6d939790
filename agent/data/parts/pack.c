// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parts/pack.h"

#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAIL_BYTES = 16, WHOLE_BYTES_MAX = 8 << 20, PIECE_BYTES = 1 << 20 };

struct pack {
    struct staged_output *staged;
    json_t *index;
};

struct pack *pack_new(struct staged_output *staged) {
    struct pack *pack = x_calloc(1, sizeof *pack);
    pack->staged = staged;
    pack->index = json_array();
    return pack;
}

void pack_free(struct pack *pack) {
    if (pack) {
        json_decref(pack->index);
        free(pack);
    }
}

int pack_add(struct pack *pack, const char *name, const void *data, size_t size,
             struct error *err) {
    json_t *entry = json_pack("[s,I]", name, (json_int_t)size);
    if (!entry) {
        return error_set(err, ERROR_INVALID, "a result's name is not UTF-8");
    }
    json_array_append_new(pack->index, entry);
    return staged_output_add(pack->staged, data, size, err);
}

int pack_close(struct pack *pack, struct error *err) {
    AUTO(text_freep) char *index = json_dumps(pack->index, JSON_COMPACT);
    size_t size = strlen(index);
    char tail[TAIL_BYTES + 1];
    snprintf(tail, sizeof tail, "%016zx", size);
    if (size > PACK_INDEX_MAX) {
        return error_set(err, ERROR_INVALID,
                         "the names of one mini-batch are more than %d MiB: make "
                         "spec.miniBatchSize smaller",
                         PACK_INDEX_MAX >> 20);
    }
    return staged_output_add(pack->staged, index, size, err) < 0 ||
                   staged_output_add(pack->staged, tail, TAIL_BYTES, err) < 0
               ? -1
               : 0;
}

/* ---- publishing ----------------------------------------------------------------------------- */

static int read_index(const struct part *part, json_t **ret_index, int64_t *ret_end,
                      struct error *err) {
    char tail[TAIL_BYTES + 1] = "";
    if (part_read(part, part->size_bytes - TAIL_BYTES, tail, TAIL_BYTES, err) < 0) {
        return -1;
    }
    char *end = NULL;
    unsigned long long size = strtoull(tail, &end, 16);
    if (end != tail + TAIL_BYTES || size > PACK_INDEX_MAX ||
        (int64_t)size > part->size_bytes - TAIL_BYTES) {
        return error_set(err, ERROR_INVALID, "%s: not a pack of results", part->name);
    }
    AUTO(text_freep) char *index = x_malloc((size_t)size + 1);
    *ret_end = part->size_bytes - TAIL_BYTES - (int64_t)size;
    if (part_read(part, *ret_end, index, (size_t)size, err) < 0 ||
        tree_parse(index, (size_t)size, PACK_INDEX_MAX, ret_index, err) < 0) {
        return error_context(err, "%s", part->name);
    }
    return 0;
}

bool pack_is_ours(const char *name) {
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (text_starts(at, ".windlass")) {
            return true;
        }
    }
    return false;
}

static int write_large(const struct part *part, int64_t offset, int64_t size, struct store *output,
                       const char *name, struct error *err) {
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    if (store_upload_open(output, name, &upload, err) < 0) {
        return -1;
    }
    for (int64_t at = 0; at < size;) {
        size_t wanted = (size_t)MIN(size - at, (int64_t)PIECE_BYTES);
        if (part_read(part, offset + at, piece, wanted, err) < 0 ||
            store_upload_add(upload, piece, wanted, err) < 0) {
            return -1;
        }
        at += (int64_t)wanted;
    }
    return store_upload_commit(upload, STORE_REPLACE, err);
}

static int write_one(const struct part *part, int64_t offset, int64_t size, struct store *output,
                     const char *name, struct error *err) {
    if (size > WHOLE_BYTES_MAX) {
        return write_large(part, offset, size, output, name, err);
    }
    AUTO(text_freep) char *bytes = x_malloc((size_t)size + 1);
    return part_read(part, offset, bytes, (size_t)size, err) < 0
               ? -1
               : store_put(output, name, bytes, (size_t)size, STORE_REPLACE, err);
}

int pack_publish(const struct part *part, struct store *output, struct error *err) {
    AUTO(tree_freep) json_t *index = NULL;
    int64_t end = 0, offset = 0;
    if (read_index(part, &index, &end, err) < 0) {
        return -1;
    }
    size_t i;
    json_t *entry;
    json_array_foreach(index, i, entry) {
        const char *name = json_string_value(json_array_get(entry, 0));
        int64_t size = json_integer_value(json_array_get(entry, 1));
        if (!name || pack_is_ours(name) || size < 0 || size > end - offset) {
            return error_set(err, ERROR_INVALID, "%s: not a pack of results", part->name);
        }
        if (write_one(part, offset, size, output, name, err) < 0) {
            return -1;
        }
        offset += size;
    }
    return offset == end ? 0
                         : error_set(err, ERROR_INVALID, "%s: not a pack of results", part->name);
}
