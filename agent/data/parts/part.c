// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parts/part.h"

#include "lib/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 20 };

void part_name(const char *run, int64_t epoch, int64_t lease, char name[static PART_NAME_MAX]) {
    snprintf(name, PART_NAME_MAX, ".windlass/%s/try/%lld-%lld", run, (long long)epoch,
             (long long)lease);
}

struct part parts_at(const struct parts *parts, int64_t index) {
    const struct part_place *place = &parts->places[index];
    struct part part = {.store = parts->store, .size_bytes = place->size_bytes, .crc = place->crc};
    part_name(parts->run, place->epoch, place->lease, part.name);
    return part;
}

int part_read(const struct part *part, int64_t offset, void *data, size_t size, struct error *err) {
    size_t got = 0;
    if (offset < 0 || offset > part->size_bytes || size > (size_t)(part->size_bytes - offset)) {
        return error_set(err, ERROR_INVALID, "%s: ends too early", part->name);
    }
    if (part->bytes) {
        memcpy(data, part->bytes + offset, size);
        return 0;
    }
    if (store_read(part->store, part->name, &(struct store_piece){offset, data, size, NULL}, &got,
                   err) < 0) {
        return -1;
    }
    return got == size ? 0 : error_set(err, ERROR_INVALID, "%s: ends too early", part->name);
}

static int sum(const struct part *part, uint32_t *ret_crc, struct error *err) {
    AUTO(text_freep) char *chunk = x_malloc(CHUNK_BYTES);
    uint32_t crc = 0;
    for (int64_t at = 0; at < part->size_bytes;) {
        size_t size = (size_t)MIN(part->size_bytes - at, (int64_t)CHUNK_BYTES);
        if (part_read(part, at, chunk, size, err) < 0) {
            return -1;
        }
        crc = digest_crc32c(crc, chunk, size);
        at += (int64_t)size;
    }
    *ret_crc = crc;
    return 0;
}

static int refuse_changed(const struct part *part, struct error *err) {
    return error_set(err, ERROR_INVALID, "%s/%s: differs from what was committed",
                     store_path(part->store), part->name);
}

int part_check(const struct part *part, bool *ret_broken, struct error *err) {
    struct store_info info = {.size_bytes = part->size_bytes};
    uint32_t crc = 0;
    *ret_broken = false;
    if ((!part->bytes && store_stat(part->store, part->name, &info, err) < 0) ||
        sum(part, &crc, err) < 0) {
        *ret_broken = err->kind == ERROR_NOT_FOUND || err->kind == ERROR_INVALID;
        return -1;
    }
    *ret_broken = info.size_bytes != part->size_bytes || crc != part->crc;
    return *ret_broken ? refuse_changed(part, err) : 0;
}

int part_load(struct part *part, char *room, size_t room_bytes, bool *ret_broken,
              struct error *err) {
    size_t got = 0, size = (size_t)part->size_bytes;
    *ret_broken = false;
    if (part->bytes || size >= room_bytes) {
        return part_check(part, ret_broken, err);
    }
    /* Reads one byte more than expected, to detect a larger object. */
    if (store_read(part->store, part->name, &(struct store_piece){0, room, size + 1, NULL}, &got,
                   err) < 0) {
        *ret_broken = err->kind == ERROR_NOT_FOUND || err->kind == ERROR_INVALID;
        return -1;
    }
    if (got != size || digest_crc32c(0, room, got) != part->crc) {
        *ret_broken = true;
        return refuse_changed(part, err);
    }
    part->bytes = room;
    return 0;
}
