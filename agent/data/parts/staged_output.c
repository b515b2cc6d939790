// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parts/staged_output.h"

#include "lib/digest.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct outcome {
    struct store *store;
    char name[PART_NAME_MAX];
    bool may_be_text, has_failed, is_closed;
    enum outcome_place place;
    struct buffer bytes;         /* all, until there is an upload */
    struct store_upload *upload; /* NULL: all bytes are in memory */
    int64_t size_bytes;
    uint32_t crc;
};

struct outcome *outcome_new(struct store *store, const char *name, bool may_be_text) {
    struct outcome *outcome = x_calloc(1, sizeof *outcome);
    outcome->store = store;
    outcome->may_be_text = may_be_text;
    assert(strlen(name) < PART_NAME_MAX);
    snprintf(outcome->name, sizeof outcome->name, "%s", name);
    buffer_init(&outcome->bytes, OUTCOME_MEMORY);
    return outcome;
}

void outcome_free(struct outcome *outcome) {
    if (outcome) {
        store_upload_free(outcome->upload);
        buffer_release(&outcome->bytes);
        free(outcome);
    }
}

void outcome_freep(struct outcome **outcome) {
    outcome_free(TAKE(*outcome));
}

static int start_upload(struct outcome *outcome, struct error *err) {
    if (store_upload_open(outcome->store, outcome->name, &outcome->upload, err) < 0 ||
        store_upload_add(outcome->upload, outcome->bytes.data ? outcome->bytes.data : "",
                         outcome->bytes.size, err) < 0) {
        return -1;
    }
    buffer_release(&outcome->bytes);
    return 0;
}

/* From now on the store's. */
static int store_failed(struct outcome *outcome) {
    outcome->has_failed = true;
    return -1;
}

int outcome_add(struct outcome *outcome, const void *data, size_t size, struct error *err) {
    assert(!outcome->is_closed);
    outcome->crc = digest_crc32c(outcome->crc, data, size);
    outcome->size_bytes += (int64_t)size;
    if (!outcome->upload) {
        if (outcome->bytes.size + size <= OUTCOME_MEMORY) {
            return buffer_append(&outcome->bytes, data, size, err);
        }
        if (start_upload(outcome, err) < 0) {
            return store_failed(outcome);
        }
    }
    return store_upload_add(outcome->upload, data, size, err) < 0 ? store_failed(outcome) : 0;
}

/* JSON strings cannot hold NUL as our readers have them. */
static bool is_text(const struct outcome *outcome) {
    const struct buffer *bytes = &outcome->bytes;
    return outcome->may_be_text && !outcome->upload && bytes->size <= OUTCOME_TEXT_MAX &&
           (!bytes->size || (!memchr(bytes->data, 0, bytes->size) &&
                             utf8_valid_size(bytes->data, bytes->size) == bytes->size));
}

/* No other try has this name: if the same bytes lie there they are ours, whose answer was lost. */
static int look_again(const struct outcome *outcome, struct error *err) {
    struct part part = outcome_part(outcome);
    struct error cause = {0};
    bool is_broken = false;
    part.bytes = NULL; /* as it is in the store */
    if (part_check(&part, &is_broken, &cause) == 0) {
        error_clear(err);
        return 0;
    }
    *err = is_broken ? *err : cause;
    return -1;
}

int outcome_close(struct outcome *outcome, struct error *err) {
    assert(!outcome->is_closed);
    outcome->is_closed = true;
    if (is_text(outcome)) {
        outcome->place = OUTCOME_TEXT;
        return 0;
    }
    outcome->place = OUTCOME_OBJECT;
    struct error cause = {0};
    const char *bytes = outcome->bytes.data ? outcome->bytes.data : "";
    int result = outcome->upload ? store_upload_commit(outcome->upload, STORE_CREATE, &cause)
                                 : store_put(outcome->store, outcome->name, bytes,
                                             outcome->bytes.size, STORE_CREATE, &cause);
    if (result < 0 && cause.kind == ERROR_CONFLICT) {
        result = look_again(outcome, &cause);
    }
    if (result < 0) {
        *err = cause;
        return store_failed(outcome);
    }
    return 0;
}

bool outcome_has_failed(const struct outcome *outcome) {
    return outcome->has_failed;
}

enum outcome_place outcome_place(const struct outcome *outcome) {
    return outcome->place;
}

struct part outcome_part(const struct outcome *outcome) {
    const char *bytes = outcome->bytes.data ? outcome->bytes.data : "";
    struct part part = {.store = outcome->store,
                        .bytes = outcome->upload ? NULL : bytes,
                        .size_bytes = outcome->size_bytes,
                        .crc = outcome->crc};
    snprintf(part.name, sizeof part.name, "%s", outcome->name);
    return part;
}
