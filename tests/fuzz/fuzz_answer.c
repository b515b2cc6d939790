// SPDX-License-Identifier: Apache-2.0
/* The stdout of a user's program: the same lines whatever pieces they come in, and every line with
 * an id gives an answer: as many results as items, or an error. The first byte seeds the pieces,
 * the second is the number of requested items. */
#include "agent/score/worker/command_line.h"

#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *line, size_t size, size_t items) {
    struct command_message message;
    if (!command_message_read(line, size, &message) || !message.has_id) {
        return;
    }
    struct command_answer answer;
    command_answer_read(&message, items, &answer);
    size_t failed = 0;
    for (size_t i = 0; i < answer.count; i++) {
        failed += answer.results[i].cause != NULL;
        if (!jsontext_is_value(answer.results[i].json, answer.results[i].size)) {
            abort();
        }
    }
    if (answer.error ? answer.count != 0 : answer.count != items || failed != answer.failed) {
        abort();
    }
    command_answer_release(&answer);
}

static void read_all(const char *data, size_t size, unsigned seed, size_t items,
                     struct buffer *all) {
    struct command_lines lines;
    struct error err = {0};
    command_lines_init(&lines, 2000);
    for (size_t at = 0; at < size;) {
        seed = seed * 1664525 + 1013904223;
        size_t piece = seed % 4 == 0 ? size - at : MIN(1 + (seed >> 16) % 40, size - at), used = 0;
        const char *line = NULL;
        size_t line_size = 0;
        enum command_line_kind kind =
            command_lines_read(&lines, data + at, piece, &used, &line, &line_size);
        if (kind == COMMAND_LINE_TOO_LONG) {
            if (buffer_append(all, "too long", 8, &err) < 0) {
                abort();
            }
            break;
        }
        if (used == 0 || used > piece) {
            abort();
        }
        at += used;
        if (kind == COMMAND_LINE_MORE) {
            continue;
        }
        if (kind == COMMAND_LINE_OBJECT) {
            check_line(line, line_size, items);
        }
        if (buffer_append(all, kind == COMMAND_LINE_OBJECT ? "\n{" : "\n-", 2, &err) < 0 ||
            buffer_append(all, line, line_size, &err) < 0) {
            abort();
        }
    }
    command_lines_release(&lines);
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
