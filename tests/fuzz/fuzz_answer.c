// SPDX-License-Identifier: Apache-2.0
/* The stdout of a user's program: the same lines and arrays whatever pieces they come in, and every
 * whole answer has as many results as items, all of them JSON, or an error. The first byte seeds
 * the pieces, the second is the number of requested items. */
#include "agent/score/worker/command_answer.h"

#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads the results of an answer that has come, and begins anew. */
static void check_answer(struct command_answer *answer, size_t items) {
    size_t failed = 0;
    bool is_refused = answer->error != NULL;
    for (size_t i = 0; answer->is_whole && !is_refused && i < items; i++) {
        struct command_result result;
        struct error err = {0};
        if (command_answer_next(answer, &result, &err) < 0) {
            abort();
        }
        failed += result.cause != NULL;
        if (!result.cause && !jsontext_is_value(result.json, result.size)) {
            abort();
        }
    }
    if (answer->is_whole && !is_refused && (answer->count != items || failed != answer->failed)) {
        abort();
    }
    if (answer->is_whole) {
        command_answer_release(answer);
        command_answer_start(answer, items);
    }
}

struct reading {
    struct command_lines lines;
    struct command_answer answer;
    size_t items;
    bool is_open; /* the arrays that come next are of the answer */
};

static void take(struct reading *reading, enum command_line_kind kind, const char *line,
                 size_t size) {
    struct command_message message;
    struct command_answer *answer = &reading->answer;
    if (kind == COMMAND_LINE_BODY && reading->is_open) {
        command_answer_body(answer, line, size);
    } else if (kind == COMMAND_LINE_OBJECT && command_message_read(line, size, &message)) {
        int64_t bytes = command_answer_line(message.has_id ? answer : NULL, &message);
        if (bytes > 0) {
            command_lines_expect(&reading->lines, bytes);
        }
        reading->is_open = message.has_id && !answer->is_whole;
    }
    check_answer(answer, reading->items);
}

static void read_all(const char *data, size_t size, unsigned seed, size_t items,
                     struct buffer *all) {
    static const char marks[] = "+{-!#";
    struct reading reading = {.items = items};
    struct error err = {0};
    command_lines_init(&reading.lines, 2000);
    command_answer_start(&reading.answer, items);
    for (size_t at = 0; at < size;) {
        seed = seed * 1664525 + 1013904223;
        size_t piece = seed % 4 == 0 ? size - at : MIN(1 + (seed >> 16) % 40, size - at), used = 0;
        const char *line = NULL;
        size_t line_size = 0;
        enum command_line_kind kind =
            command_lines_read(&reading.lines, data + at, piece, &used, &line, &line_size);
        if (kind != COMMAND_LINE_TOO_LONG && (used == 0 || used > piece)) {
            abort();
        }
        at += used;
        if (kind == COMMAND_LINE_MORE) {
            continue;
        }
        if (buffer_append(all, marks + kind, 1, &err) < 0 ||
            (line && buffer_append(all, line, line_size, &err) < 0)) {
            abort();
        }
        if (kind == COMMAND_LINE_TOO_LONG) {
            break;
        }
        take(&reading, kind, line, line_size);
    }
    command_lines_release(&reading.lines);
    command_answer_release(&reading.answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 100000) {
        return 0;
    }
    struct buffer one, many;
    buffer_init(&one, 1 << 20);
    buffer_init(&many, 1 << 20);
    read_all((const char *)data + 2, size - 2, data[0], data[1] % 4, &one);
    read_all((const char *)data + 2, size - 2, data[0] + 1u, data[1] % 4, &many);
    if (one.size != many.size || (one.size && memcmp(one.data, many.data, one.size) != 0)) {
        abort();
    }
    buffer_release(&one);
    buffer_release(&many);
    return 0;
}
