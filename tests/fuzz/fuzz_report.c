// SPDX-License-Identifier: Apache-2.0
/* Records with any numbers and any bytes as names and causes: the page remains well-formed, each
 * line of mini_batches.csv one line of twelve fields, each of failed.jsonl JSON. A record is taken
 * from the input as a byte for its kind, seven for its numbers, one for the length of its text. */
#include "agent/score/log/failures.h"
#include "agent/score/report/report.h"
#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"
#include "lib/tree.h"
#include "tests/page_check.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 9, FIELDS = 12 };

/* 0, small, or as large as numbers get. */
static int64_t number(uint8_t byte) {
    return byte < 128 ? byte : byte == 255 ? INT64_MAX / 2 : (int64_t)1 << (byte - 128) % 62;
}

static void check_csv(const char *line, size_t size) {
    int fields = 1;
    bool is_quoted = false;
    for (size_t i = 0; i + 1 < size; i++) {
        is_quoted = line[i] == '"' ? !is_quoted : is_quoted;
        fields += line[i] == ',' && !is_quoted;
        if (line[i] == '\n') {
            abort();
        }
    }
    if (size == 0 || line[size - 1] != '\n' || is_quoted || fields != FIELDS ||
        utf8_valid_size(line, size) != size) {
        abort();
    }
}

struct failing {
    const struct commit_record *record;
    const struct report_options *options;
};

static int check_failed(void *context, int64_t index, const char *cause, size_t size,
                        struct error *err) {
    const struct failing *failing = context;
    struct report_failure failure = {.index = index, .cause = cause, .cause_size = size};
    AUTO(buffer_release) struct buffer line;
    buffer_init(&line, 1 << 20);
    if (report_failed_line(&line, failing->record, &failure, failing->options, err) < 0 ||
        memchr(line.data, '\n', line.size) != line.data + line.size - 1 ||
        !jsontext_is_value(line.data, line.size - 1)) {
        abort();
    }
    return 0;
}

static int name_item(void *context, int64_t first, int64_t index, struct buffer *name,
                     struct error *err) {
    (void)first, (void)index;
    return buffer_append(name, context, strlen(context), err);
}

static void add(struct facts *facts, struct report_options *options, const uint8_t *head,
                const char *text) {
    struct error err = {0};
    /* jansson returns the text of a commit's line, which is UTF-8. */
    AUTO(tree_freep) json_t *failures = json_pack("[[is]]", 0, "one");
    json_t *cause = json_string(text);
    if (cause) {
        json_array_append_new(failures, json_pack("[io]", 1, cause));
    }
    struct commit_record record = {.type = head[0] % (COMMIT_RETRY + 1),
                                   .first = number(head[1]),
                                   .cells = number(head[2]) + 1,
                                   .items = number(head[3]),
                                   .epoch = number(head[4] / 16),
                                   .try = head[4],
                                   .worker = head[5] % 2 ? text : "w",
                                   .start_ms = number(head[6]),
                                   .took_ms = number(head[7]),
                                   .text = text,
                                   .text_size = strlen(text)};
    record.failed = record.type == COMMIT_FAILED ? record.items : MIN(record.items, head[5]);
    bool has_list =
        record.type == COMMIT_PARTIAL || (record.type == COMMIT_FAILED && head[5] % 4 == 0);
    record.failures = has_list ? failures : NULL;
    facts_add(facts, &record, MIN(number(head[0] / 8), record.cells));
    if (record.type > COMMIT_FAILED) {
        return;
    }
    AUTO(buffer_release) struct buffer line;
    buffer_init(&line, 1 << 20);
    if (report_batch_line(&line, &record, number(head[6]), &err) < 0) {
        abort();
    }
    check_csv(line.data, line.size);
    options->context = (void *)text;
    struct failing failing = {&record, options};
    if (record.failed <= 255 &&
        failures_read(/* output= */ NULL, "", &record, check_failed, &failing, &err) < 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    AUTO(text_freep) char *name = x_strndup((const char *)data, MIN(size, 60));
    struct report_options options = {.job = name,
                                     .name_space = name,
                                     .run = name,
                                     .state = name,
                                     .message = name,
                                     .unit = "rows",
                                     .items = size ? data[0] : -1,
                                     .slots = size,
                                     .item = name_item};
    AUTO(facts_freep) struct facts *facts = facts_new();
    for (size_t at = 0; at + HEAD <= size;) {
        size_t length = MIN(data[at + HEAD - 1], size - at - HEAD);
        AUTO(text_freep) char *text = x_strndup((const char *)data + at + HEAD, length);
        add(facts, &options, data + at, text);
        at += HEAD + length;
    }
    facts_finish(facts);
    AUTO(buffer_release) struct buffer page;
    buffer_init(&page, REPORT_PAGE_MAX);
    const char *place = NULL;
    if (report_page(&page, facts, &options, &err) < 0 || page_fault(page.data, &place)) {
        abort();
    }
    return 0;
}
