// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parts/staged_output.h"

#include "lib/digest.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct staged_output {
    struct store *store;
    char name[PART_NAME_MAX];
    bool may_be_text, has_failed, is_closed;
    enum staged_output_place place;
    struct buffer bytes;         /* all, until there is an upload */
    struct store_upload *upload; /* NULL: all bytes are in memory */
    int64_t size_bytes;
    uint32_t crc;
};

struct staged_output *staged_output_new(struct store *store, const char *name, bool may_be_text) {
    struct staged_output *staged = x_calloc(1, sizeof *staged);
    staged->store = store;
    staged->may_be_text = may_be_text;
    assert(strlen(name) < PART_NAME_MAX);
    snprintf(staged->name, sizeof staged->name, "%s", name);
    buffer_init(&staged->bytes, STAGED_MEMORY);
    return staged;
}

void staged_output_free(struct staged_output *staged) {
    if (staged) {
        store_upload_free(staged->upload);
        buffer_release(&staged->bytes);
        free(staged);
    }
}

void staged_output_freep(struct staged_output **staged) {
    staged_output_free(TAKE(*staged));
}

static int start_upload(struct staged_output *staged, struct error *err) {
    if (store_upload_open(staged->store, staged->name, &staged->upload, err) < 0 ||
        store_upload_add(staged->upload, staged->bytes.data ? staged->bytes.data : "",
                         staged->bytes.size, err) < 0) {
        return -1;
    }
    buffer_release(&staged->bytes);
    return 0;
}

/* From now on the error is the store's. */
static int store_failed(struct staged_output *staged) {
    staged->has_failed = true;
    return -1;
}

int staged_output_add(struct staged_output *staged, const void *data, size_t size,
                      struct error *err) {
    assert(!staged->is_closed);
    staged->crc = digest_crc32c(staged->crc, data, size);
    staged->size_bytes += (int64_t)size;
    if (!staged->upload) {
        if (staged->bytes.size + size <= STAGED_MEMORY) {
            return buffer_append(&staged->bytes, data, size, err);
        }
        if (start_upload(staged, err) < 0) {
            return store_failed(staged);
        }
    }
    return store_upload_add(staged->upload, data, size, err) < 0 ? store_failed(staged) : 0;
}

/* Our JSON parser rejects NUL in strings. */
static bool is_text(const struct staged_output *staged) {
    const struct buffer *bytes = &staged->bytes;
    return staged->may_be_text && !staged->upload && bytes->size <= STAGED_TEXT_MAX &&
           (!bytes->size || (!memchr(bytes->data, 0, bytes->size) &&
                             utf8_valid_size(bytes->data, bytes->size) == bytes->size));
}

/* No other try has this name: an object with the same bytes is ours, and only the response was
 * lost. */
static int check_stored(const struct staged_output *staged, struct error *err) {
    struct part part = staged_output_part(staged);
    struct error cause = {0};
    bool is_broken = false;
    part.bytes = NULL; /* read it from the store */
    if (part_check(&part, &is_broken, &cause) == 0) {
        error_clear(err);
        return 0;
    }
    *err = is_broken ? *err : cause;
    return -1;
}

int staged_output_close(struct staged_output *staged, struct error *err) {
    assert(!staged->is_closed);
    staged->is_closed = true;
    if (is_text(staged)) {
        staged->place = STAGED_TEXT;
        return 0;
    }
    staged->place = STAGED_OBJECT;
    struct error cause = {0};
    const char *bytes = staged->bytes.data ? staged->bytes.data : "";
    int result = staged->upload ? store_upload_commit(staged->upload, STORE_CREATE, &cause)
                                : store_put(staged->store, staged->name, bytes, staged->bytes.size,
                                            STORE_CREATE, &cause);
    if (result < 0 && cause.kind == ERROR_CONFLICT) {
        result = check_stored(staged, &cause);
    }
    if (result < 0) {
        *err = cause;
        return store_failed(staged);
    }
    return 0;
}

bool staged_output_has_failed(const struct staged_output *staged) {
    return staged->has_failed;
}

enum staged_output_place staged_output_find_place(const struct staged_output *staged) {
    return staged->place;
}

struct part staged_output_part(const struct staged_output *staged) {
    const char *bytes = staged->bytes.data ? staged->bytes.data : "";
    struct part part = {.store = staged->store,
                        .bytes = staged->upload ? NULL : bytes,
                        .size_bytes = staged->size_bytes,
                        .crc = staged->crc};
    snprintf(part.name, sizeof part.name, "%s", staged->name);
    return part;
}
