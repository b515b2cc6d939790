// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/failures.h"

#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"
#include "lib/tree.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    LINE_BYTES = 2 << 10, /* a byte of a cause becomes at most six */
    READ_BYTES = 256 << 10,
};
static_assert(6 * COMMIT_ITEM_CAUSE_MAX + 32 <= LINE_BYTES, "a line of the longest cause fits");

/* ".windlass/RUN/try/EPOCH-LEASE.failed" */
static void object_name(const char *run, int64_t epoch, int64_t lease,
                        char name[static PART_NAME_MAX]) {
    part_name(run, epoch, lease, name);
    size_t length = strlen(name);
    snprintf(name + length, PART_NAME_MAX - length, ".failed");
}

/* ---- writing -------------------------------------------------------------------------------- */

void failures_init(struct failures *failures, struct store *store, const char *run, int64_t epoch,
                   int64_t lease) {
    *failures = (struct failures){.store = store, .run = run, .epoch = epoch, .lease = lease};
    buffer_init(&failures->line, LINE_BYTES);
}

void failures_release(struct failures *failures) {
    json_decref(TAKE(failures->list));
    staged_output_free(TAKE(failures->lines));
    buffer_release(&failures->line);
}

/* Adds a failure to the list that is sent with the result, until the list is too large. */
static void add_pair(struct failures *failures, int64_t index, const char *cause, size_t size) {
    if (failures->list_bytes + failures->line.size <= FAILURES_BYTES_MAX) {
        json_array_append_new(failures->list,
                              json_pack("[I,o]", (json_int_t)index, json_stringn(cause, size)));
        failures->list_bytes += failures->line.size;
        return;
    }
    json_t *all = failures->list;
    failures->list = json_array();
    json_array_append(failures->list, json_array_get(all, 0));
    json_decref(all);
    failures->is_many = true;
}

int failures_add(struct failures *failures, int64_t index, const char *cause, struct error *err) {
    struct buffer *line = &failures->line;
    /* Truncate between characters. */
    size_t size = utf8_valid_size(cause, strnlen(cause, COMMIT_ITEM_CAUSE_MAX));
    buffer_clear(line);
    if (buffer_printf(line, err, "[%lld,\"", (long long)index) < 0 ||
        jsontext_escape(line, cause, size, err) < 0 || buffer_append(line, "\"]\n", 3, err) < 0) {
        return -1;
    }
    if (!failures->lines) {
        char name[PART_NAME_MAX];
        object_name(failures->run, failures->epoch, failures->lease, name);
        failures->lines = staged_output_new(failures->store, name, /* may_be_text= */ false);
        failures->list = json_array();
    }
    if (!failures->is_many) {
        add_pair(failures, index, cause, size);
    }
    return staged_output_add(failures->lines, line->data, line->size, err);
}

int failures_close(struct failures *failures, struct error *err) {
    return failures->is_many ? staged_output_close(failures->lines, err) : 0;
}

bool failures_has_failed(const struct failures *failures) {
    return failures->lines && staged_output_has_failed(failures->lines);
}

struct part failures_part(const struct failures *failures) {
    return failures->is_many ? staged_output_part(failures->lines) : (struct part){0};
}

void failures_remove(const struct failures *failures) {
    char name[PART_NAME_MAX];
    struct error ignored = {0};
    if (failures->lines) {
        object_name(failures->run, failures->epoch, failures->lease, name);
        (void)!store_remove(failures->store, name, &ignored);
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

static struct part part_of(struct store *output, const char *run,
                           const struct commit_record *record) {
    struct part part = {
        .store = output, .size_bytes = record->failures_bytes, .crc = record->failures_crc};
    object_name(run, record->epoch, record->lease, part.name);
    return part;
}

static int pass_pair(const json_t *pair, failures_each *each, void *context, struct error *err) {
    const json_t *index = json_array_get(pair, 0), *cause = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_integer(index) || json_integer_value(index) < 0 ||
        !json_is_string(cause)) {
        return error_set(err, ERROR_INVALID, "a failed item has no index and cause");
    }
    return each(context, json_integer_value(index), json_string_value(cause),
                json_string_length(cause), err);
}

/* Passes the complete lines to `each`, and drops them. */
static int pass_lines(struct buffer *text, failures_each *each, void *context, struct error *err) {
    size_t at = 0;
    for (const char *end; (end = memchr(text->data + at, '\n', text->size - at));) {
        size_t size = (size_t)(end - text->data) - at;
        AUTO(tree_freep) json_t *pair = json_loadb(text->data + at, size, 0, NULL);
        if (pass_pair(pair, each, context, err) < 0) {
            return -1;
        }
        at += size + 1;
    }
    buffer_drop(text, at);
    return text->size <= LINE_BYTES
               ? 0
               : error_set(err, ERROR_INVALID, "a line of more than %d bytes", LINE_BYTES);
}

static int read_object(const struct part *part, failures_each *each, void *context,
                       struct error *err) {
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, READ_BYTES + LINE_BYTES);
    for (int64_t at = 0; at < part->size_bytes;) {
        size_t size = (size_t)MIN(part->size_bytes - at, (int64_t)READ_BYTES);
        char *room = NULL;
        if (buffer_extend(&text, size, &room, err) < 0 ||
            part_read(part, at, room, size, err) < 0) {
            return -1;
        }
        at += (int64_t)size;
        if (pass_lines(&text, each, context, err) < 0) {
            return -1;
        }
    }
    return text.size == 0 ? 0
                          : error_set(err, ERROR_INVALID, "%s/%s: the last line has no newline",
                                      store_path(part->store), part->name);
}

int failures_read(struct store *output, const char *run, const struct commit_record *record,
                  failures_each *each, void *context, struct error *err) {
    if (record->failures_bytes > 0) {
        struct part part = part_of(output, run, record);
        return read_object(&part, each, context, err);
    }
    if (record->type == COMMIT_FAILED && !record->failures) { /* all items, with one cause */
        const char *cause = record->text ? record->text : "";
        for (int64_t i = 0; i < record->failed; i++) {
            if (each(context, i, cause, record->text_size, err) < 0) {
                return -1;
            }
        }
        return 0;
    }
    size_t i;
    json_t *pair;
    json_array_foreach(record->failures, i, pair) {
        if (pass_pair(pair, each, context, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int failures_check(struct store *output, const char *run, const struct commit_record *record,
                   bool *ret_broken, struct error *err) {
    *ret_broken = false;
    if (record->failures_bytes == 0) {
        return 0;
    }
    struct part part = part_of(output, run, record);
    return part_check(&part, ret_broken, err);
}
