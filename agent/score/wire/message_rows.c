// SPDX-License-Identifier: Apache-2.0
#include "agent/score/wire/message_rows.h"

#include "lib/text/jsonrow.h"

#include <stdlib.h>
#include <string.h>

static const char start[] = "{\"type\":\"results\",\"epoch\":", list[] = ",\"results\":[";

static bool skip(const char **at, const char *end, const char *text) {
    size_t size = strlen(text);
    bool is_there = (size_t)(end - *at) >= size && memcmp(*at, text, size) == 0;
    *at += is_there ? size : 0;
    return is_there;
}

/* Digits alone, fewer than an int64_t can have. */
static bool skip_epoch(const char **at, const char *end, int64_t *ret_epoch) {
    const char *first = *at;
    int64_t epoch = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && *at - first < 16; ++*at) {
        epoch = epoch * 10 + (**at - '0');
    }
    *ret_epoch = epoch;
    return *at > first && (*first != '0' || *at == first + 1) && epoch <= MESSAGE_NUMBER_MAX;
}

static bool is_letter(struct jsonrow *row, char letter) {
    size_t size = 0;
    const char *text = jsonrow_text(row, &size);
    return !row->is_bad && size == 1 && *text == letter;
}

/* ["d", lease, items, failed, us, "t", text] or the same with "n" as its end. */
static bool read_done(struct jsonrow *row, struct message_result *result) {
    size_t size = 0;
    if (!is_letter(row, 'd')) {
        return false;
    }
    result->lease = jsonrow_number(row, INT64_MAX);
    result->items = jsonrow_number(row, MESSAGE_NUMBER_MAX);
    result->failed = jsonrow_number(row, result->items);
    result->took_us = jsonrow_number(row, MESSAGE_NUMBER_MAX);
    const char *place = jsonrow_text(row, &size);
    if (row->is_bad || size != 1 || (*place != 't' && *place != 'n')) {
        return false;
    }
    result->place = *place == 't' ? MESSAGE_TEXT : MESSAGE_NOWHERE;
    if (*place == 't') {
        result->text = jsonrow_text(row, &result->text_size);
        return !memchr(result->text, 0, result->text_size); /* which messages must not have */
    }
    return true;
}

static bool read_rows(const char *at, const char *end, struct message *message) {
    struct jsonrow row = {.room = message->texts};
    size_t room = 0;
    for (bool is_next = true; is_next; is_next = skip(&at, end, ",")) {
        if (message->count == room) {
            room = MAX(2 * room, (size_t)16);
            message->results = x_realloc_array(message->results, room, sizeof *message->results);
        }
        struct message_result *result = &message->results[message->count++];
        *result = (struct message_result){0};
        jsonrow_begin(&row, at, end, row.room);
        at = read_done(&row, result) ? jsonrow_end(&row) : NULL;
        if (!at) {
            return false;
        }
    }
    return skip(&at, end, "]}") && at == end;
}

bool message_rows_read(const char *text, size_t size, struct message *ret_message) {
    struct message message = {.type = MESSAGE_RESULTS};
    const char *at = text, *end = text + size;
    if (!skip(&at, end, start) || !skip_epoch(&at, end, &message.epoch) || !skip(&at, end, list) ||
        (at < end && *at == ']')) {
        return false;
    }
    message.texts = x_malloc(size + 1);
    if (!read_rows(at, end, &message)) {
        free(message.results);
        free(message.texts);
        return false;
    }
    *ret_message = message;
    return true;
}
