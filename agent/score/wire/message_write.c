// SPDX-License-Identifier: Apache-2.0
/* Writes messages: batches row by row, within the size of a message, and whole ones. */
#include "agent/score/wire/message.h"

#include "agent/score/wire/message_names.h"
#include "lib/text/jsontext.h"

#include <assert.h>
#include <stdlib.h>

/* ---- batches -------------------------------------------------------------------------------- */

/* A message ends with "]}"; the remaining room is for rows. */
enum { END_BYTES = 2 };

void message_batch_init(struct message_batch *batch, enum message_type type, int64_t epoch) {
    batch->type = type;
    batch->epoch = epoch;
    batch->count = 0;
    buffer_init(&batch->text, CONTRACT_MESSAGE_MAX);
}

void message_batch_release(struct message_batch *batch) {
    buffer_release(&batch->text);
}

static void begin_row(struct message_batch *batch, struct error *full) {
    if (batch->count == 0) {
        const char *list = batch->type == MESSAGE_RESULTS ? "results" : "leases";
        (void)!buffer_printf(&batch->text, full, "{\"type\":\"%s\",\"epoch\":%lld,",
                             message_type_names[batch->type], (long long)batch->epoch);
        if (batch->type == MESSAGE_LEASES && batch->workers > 1) {
            (void)!buffer_printf(&batch->text, full, "\"workers\":%d,", batch->workers);
        }
        (void)!buffer_printf(&batch->text, full, "\"%s\":[", list);
    } else {
        (void)!buffer_append(&batch->text, ",", 1, full);
    }
}

/* Ends the row that began at `start`; removes it if it did not fit. */
static int end_row(struct message_batch *batch, size_t start, const struct error *full) {
    if (!full->kind && batch->text.size <= batch->text.max - END_BYTES) {
        batch->count++;
        return 1;
    }
    batch->text.size = start;
    if (batch->text.data) {
        batch->text.data[start] = 0;
    }
    return batch->count ? 0 : -1;
}

int message_batch_lease(struct message_batch *batch, const struct message_lease *lease,
                        const char *work) {
    size_t start = batch->text.size;
    struct error full = {0};
    assert(batch->type == MESSAGE_LEASES);
    begin_row(batch, &full);
    (void)!buffer_printf(&batch->text, &full, "[%lld,%d,%lld,%d,%d,%s]", (long long)lease->lease,
                         lease->slot, (long long)lease->first, lease->cells, lease->try, work);
    return end_row(batch, start, &full);
}

static void add_string(struct buffer *text, const char *string, size_t size, struct error *full) {
    (void)!buffer_append(text, "\"", 1, full);
    (void)!jsontext_escape(text, string, size, full);
    (void)!buffer_append(text, "\"", 1, full);
}

static void add_said(struct buffer *text, const struct message_result *result, struct error *full) {
    if (result->output_tail_size > 0) {
        (void)!buffer_append(text, ",", 1, full);
        add_string(text, result->output_tail, result->output_tail_size, full);
    }
}

static void add_place(struct buffer *text, const struct message_result *result,
                      struct error *full) {
    if (result->place == MESSAGE_OBJECT) {
        (void)!buffer_printf(text, full, "\"o\",%lld,\"%08x\"", (long long)result->size_bytes,
                             result->crc);
    } else if (result->place == MESSAGE_TEXT) {
        (void)!buffer_append(text, "\"t\",", 4, full);
        add_string(text, result->text, result->text_size, full);
    } else {
        (void)!buffer_append(text, "\"n\"", 3, full);
    }
    if (result->failures) {
        AUTO(text_freep) char *failures = json_dumps(result->failures, JSON_COMPACT);
        (void)!buffer_printf(text, full, ",%s", failures ? failures : "[]");
        if (result->failures_bytes > 0) {
            (void)!buffer_printf(text, full, ",%lld,\"%08x\"", (long long)result->failures_bytes,
                                 result->failures_crc);
        }
        add_said(text, result, full);
    }
}

int message_batch_result(struct message_batch *batch, const struct message_result *result) {
    size_t start = batch->text.size;
    struct error full = {0};
    struct buffer *text = &batch->text;
    assert(batch->type == MESSAGE_RESULTS);
    begin_row(batch, &full);
    if (result->event != MESSAGE_ENDS) {
        (void)!buffer_printf(text, &full, "[\"%s\",%lld",
                             result->event == MESSAGE_WAITS ? "w" : "b", (long long)result->lease);
    } else if (result->is_fault) {
        (void)!buffer_printf(text, &full, "[\"f\",%lld,\"%s\",", (long long)result->lease,
                             message_fault_names[result->fault]);
        add_string(text, result->text, result->text_size, &full);
        if (result->items > 0 || result->output_tail_size > 0) {
            (void)!buffer_printf(text, &full, ",%lld", (long long)result->items);
            add_said(text, result, &full);
        }
    } else {
        (void)!buffer_printf(text, &full, "[\"%s\",%lld,%lld,%lld,%lld,",
                             result->failed > 0 && result->is_final ? "p" : "d",
                             (long long)result->lease, (long long)result->items,
                             (long long)result->failed, (long long)result->took_us);
        add_place(text, result, &full);
    }
    (void)!buffer_append(text, "]", 1, &full);
    return end_row(batch, start, &full);
}

int message_batch_number(struct message_batch *batch, int64_t number) {
    size_t start = batch->text.size;
    struct error full = {0};
    assert(batch->type == MESSAGE_COMMITTED || batch->type == MESSAGE_PUBLISHED);
    begin_row(batch, &full);
    (void)!buffer_printf(&batch->text, &full, "%lld", (long long)number);
    return end_row(batch, start, &full);
}

char *message_batch_take(struct message_batch *batch) {
    struct error full = {0};
    size_t size = 0;
    if (batch->count == 0) {
        return NULL;
    }
    (void)!buffer_append(&batch->text, "]}", END_BYTES, &full);
    assert(!full.kind); /* END_BYTES were reserved */
    batch->count = 0;
    return buffer_take(&batch->text, &size);
}

/* ---- whole messages ------------------------------------------------------------------------- */

static char *format_batch(const struct message *message) {
    struct message_batch batch;
    message_batch_init(&batch, message->type, message->epoch);
    batch.workers = message->workers;
    batch.text.max = SIZE_MAX / 2;
    struct error full = {0};
    for (size_t i = 0; i < message->count; i++) {
        if (message->type == MESSAGE_LEASES) {
            AUTO(text_freep) char *work = json_dumps(message->leases[i].work, JSON_COMPACT);
            message_batch_lease(&batch, &message->leases[i], work);
        } else if (message->type == MESSAGE_RESULTS) {
            message_batch_result(&batch, &message->results[i]);
        } else {
            message_batch_number(&batch, message->numbers[i]);
        }
    }
    if (batch.count == 0) {
        begin_row(&batch, &full);
        batch.count = 1;
    }
    return message_batch_take(&batch);
}

char *message_format(const struct message *message) {
    AUTO(tree_freep) json_t *tree = json_object();
    json_object_set_new(tree, "type", json_string(message_type_names[message->type]));
    switch (message->type) {
    case MESSAGE_HELLO:
        json_object_set_new(tree, "worker", json_string(message->name));
        json_object_set_new(tree, "slots", json_integer(message->slots));
        json_object_set_new(tree, "program", json_string(message->program));
        json_object_set(tree, "files", message->files);
        if (message->deaths > 0) {
            json_object_set_new(tree, "deaths",
                                json_pack("[i, i]", message->deaths, message->deaths_max));
            json_object_set_new(tree, "before", json_string(message->text));
        }
        break;
    case MESSAGE_CANCEL:
        json_object_set_new(tree, "lease", json_integer(message->lease));
        break;
    case MESSAGE_REFUSED:
        json_object_set_new(tree, "message", json_string(message->text));
        break;
    case MESSAGE_PATHS:
        json_object_set_new(tree, "paths",
                            message->paths ? json_deep_copy(message->paths) : json_object());
        break;
    case MESSAGE_LEAVING:
    case MESSAGE_DONE:
        break;
    default:
        if (!message->metrics) {
            return format_batch(message);
        }
        json_object_set_new(tree, "epoch", json_integer(message->epoch));
        json_object_set_new(tree, "results", json_array());
        json_object_set_new(tree, "requests", json_deep_copy(message->metrics));
    }
    char *text = json_dumps(tree, JSON_COMPACT);
    return text ? text : x_strdup("{}");
}
