// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parts/pack.h"

#include "lib/digest.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAIL_BYTES = 16, WHOLE_BYTES_MAX = 8 << 20, PIECE_BYTES = 1 << 20, END_BYTES = 64 << 10 };

struct pack {
    struct staged_output *staged;
    json_t *index;
    size_t size; /* of the files */
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

/* Protects an entry whose file is not read with it. */
static void sum_entry(const char *name, int64_t size, const char *sha256, char ret_hex[static 9]) {
    AUTO(text_freep) char *text = x_printf("%s\n%lld\n%s", name, (long long)size, sha256);
    snprintf(ret_hex, 9, "%08x", digest_crc32c(0, text, strlen(text)));
}

int pack_add(struct pack *pack, const char *name, const void *data, size_t size,
             struct error *err) {
    char sha256[65], crc[9];
    digest_sha256(data, size, sha256);
    sum_entry(name, (int64_t)size, sha256, crc);
    json_t *entry = json_pack("[s,I,s,s]", name, (json_int_t)size, sha256, crc);
    if (!entry) {
        return error_set(err, ERROR_INVALID, "a result's name is not UTF-8");
    }
    json_array_append_new(pack->index, entry);
    pack->size += size;
    return staged_output_add(pack->staged, data, size, err);
}

/* A small pack, which may travel as text in a message, has no hashes: who has the text can hash it.
 */
static char *format_index(const struct pack *pack) {
    AUTO(tree_freep) json_t *small = json_array();
    for (size_t i = 0; i < json_array_size(pack->index) && pack->size <= STAGED_TEXT_MAX; i++) {
        const json_t *entry = json_array_get(pack->index, i);
        json_array_append_new(
            small, json_pack("[O,O]", json_array_get(entry, 0), json_array_get(entry, 1)));
    }
    AUTO(text_freep) char *index = json_dumps(small, JSON_COMPACT);
    return pack->size + strlen(index) + TAIL_BYTES <= STAGED_TEXT_MAX
               ? TAKE(index)
               : json_dumps(pack->index, JSON_COMPACT);
}

int pack_close(struct pack *pack, struct error *err) {
    AUTO(text_freep) char *index = format_index(pack);
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

static int set_no_pack(const struct part *part, struct error *err) {
    return error_set(err, ERROR_INVALID, "%s: not a pack of results", part->name);
}

/* Reads the end first, in which most indices are complete: on az:// each read is a request. */
static int read_index(const struct part *part, json_t **ret_index, int64_t *ret_end,
                      struct error *err) {
    int64_t room = MIN(part->size_bytes, (int64_t)END_BYTES);
    AUTO(text_freep) char *last = x_malloc((size_t)room + 1);
    if (room < TAIL_BYTES) {
        return set_no_pack(part, err);
    }
    if (part_read(part, part->size_bytes - room, last, (size_t)room, err) < 0) {
        return -1;
    }
    last[room] = 0;
    char *end = NULL;
    unsigned long long size = strtoull(last + room - TAIL_BYTES, &end, 16);
    if (end != last + room || size > PACK_INDEX_MAX ||
        (int64_t)size > part->size_bytes - TAIL_BYTES) {
        return set_no_pack(part, err);
    }
    *ret_end = part->size_bytes - TAIL_BYTES - (int64_t)size;
    bool is_there = (int64_t)size + TAIL_BYTES <= room;
    AUTO(text_freep) char *index = is_there ? NULL : x_malloc((size_t)size + 1);
    if (!is_there && part_read(part, *ret_end, index, (size_t)size, err) < 0) {
        return error_context(err, "%s", part->name);
    }
    const char *text = is_there ? last + room - TAIL_BYTES - size : index;
    return tree_parse(text, (size_t)size, PACK_INDEX_MAX, ret_index, err) < 0
               ? error_context(err, "%s", part->name)
               : 0;
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

/* A file of a pack, while its index is read. */
struct packed {
    const char *name;
    int64_t offset, size;
    const json_t *entry;
};
typedef int pack_visit(void *context, const struct part *part, const struct packed *file,
                       struct error *err);

static int visit_all(const struct part *part, pack_visit *visit, void *context, struct error *err) {
    AUTO(tree_freep) json_t *index = NULL;
    int64_t end = 0, offset = 0;
    if (read_index(part, &index, &end, err) < 0) {
        return -1;
    }
    size_t i;
    json_t *entry;
    json_array_foreach(index, i, entry) {
        struct packed file = {.name = json_string_value(json_array_get(entry, 0)),
                              .offset = offset,
                              .size = json_integer_value(json_array_get(entry, 1)),
                              .entry = entry};
        if (!file.name || pack_is_ours(file.name) || file.size < 0 || file.size > end - offset) {
            return set_no_pack(part, err);
        }
        if (visit(context, part, &file, err) < 0) {
            return -1;
        }
        offset += file.size;
    }
    return offset == end ? 0 : set_no_pack(part, err);
}

static int publish_file(void *context, const struct part *part, const struct packed *file,
                        struct error *err) {
    return write_one(part, file->offset, file->size, context, file->name, err);
}

int pack_publish(const struct part *part, struct store *output, struct error *err) {
    return visit_all(part, publish_file, output, err);
}

/* ---- listing -------------------------------------------------------------------------------- */

struct pack_listing {
    pack_each *each;
    void *context;
    bool is_checked; /* the whole part, for entries of earlier releases */
};

static int hash_file(const struct part *part, const struct packed *file, char ret_hex[static 65],
                     struct error *err) {
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    AUTO(digest_freep) struct digest *digest = digest_new();
    for (int64_t at = 0; at < file->size;) {
        size_t size = (size_t)MIN(file->size - at, (int64_t)PIECE_BYTES);
        if (part_read(part, file->offset + at, piece, size, err) < 0) {
            return -1;
        }
        digest_add(digest, piece, size);
        at += (int64_t)size;
    }
    digest_end(TAKE(digest), ret_hex);
    return 0;
}

/* An entry of an earlier release, which has no hash, or a damaged one. */
static int hash_again(struct pack_listing *listing, const struct part *part,
                      const struct packed *file, char ret_hex[static 65], struct error *err) {
    bool is_broken = false;
    if (!listing->is_checked && part_check(part, &is_broken, err) < 0) {
        return -1;
    }
    listing->is_checked = true;
    return hash_file(part, file, ret_hex, err);
}

static int list_file(void *context, const struct part *part, const struct packed *file,
                     struct error *err) {
    struct pack_listing *listing = context;
    const char *sha256 = json_string_value(json_array_get(file->entry, 2));
    const char *crc = json_string_value(json_array_get(file->entry, 3));
    char wanted[9] = "", hex[65];
    if (sha256 && strlen(sha256) == 64) {
        sum_entry(file->name, file->size, sha256, wanted);
    }
    if (!crc || strcmp(crc, wanted) != 0) {
        if (hash_again(listing, part, file, hex, err) < 0) {
            return -1;
        }
        sha256 = hex;
    }
    return listing->each(listing->context, file->name, file->size, sha256, err);
}

int pack_list(const struct part *part, pack_each *each, void *context, struct error *err) {
    struct pack_listing listing = {each, context, false};
    return visit_all(part, list_file, &listing, err);
}
