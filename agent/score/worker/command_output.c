// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/command_output.h"

#include <stdio.h>
#include <string.h>

void command_output_init(struct command_output *output, command_log_line *log_line, void *context) {
    *output = (struct command_output){.log_line = log_line, .context = context};
    buffer_init(&output->error_line, COMMAND_NOISE_MAX);
}

void command_output_release(struct command_output *output) {
    buffer_release(&output->error_line);
}

static void pass_on(struct command_output *output, enum command_stream stream, const char *text,
                    size_t size) {
    if (output->log_line) {
        output->log_line(output->context, stream, text, MIN(size, COMMAND_NOISE_MAX));
    }
}

static void keep(char last[static COMMAND_WORDS_MAX], const char *text, size_t size) {
    struct error line = {0}; /* one clean line */
    error_set(&line, ERROR_FAILED, "%.*s", (int)MIN(size, COMMAND_WORDS_MAX - 1), text);
    memcpy(last, line.text, COMMAND_WORDS_MAX - 1); /* longer strings were truncated above */
    last[COMMAND_WORDS_MAX - 1] = 0;
}

static void report_skipped(struct command_output *output) {
    int64_t more = output->noise_lines - COMMAND_NOISE_PER_SECOND;
    if (more > 0) {
        char text[80];
        int size = snprintf(text, sizeof text, "(%lld more lines of stdout)", (long long)more);
        pass_on(output, COMMAND_STDOUT, text, (size_t)size);
    }
    output->noise_lines = 0;
}

void command_output_noise(struct command_output *output, const char *text, size_t size,
                          int64_t now_ms) {
    if (size == 0) {
        return;
    }
    keep(output->last_noise, text, size);
    if (now_ms - output->noise_from_ms >= 1000) {
        report_skipped(output);
        output->noise_from_ms = now_ms;
    }
    if (++output->noise_lines <= COMMAND_NOISE_PER_SECOND) {
        pass_on(output, COMMAND_STDOUT, text, size);
    }
}

static void on_error_line(struct command_output *output, const char *text, size_t size) {
    if (size > 0) {
        keep(output->last_error, text, size);
    }
    pass_on(output, COMMAND_STDERR, text, size);
}

void command_output_error(struct command_output *output, const char *data, size_t size) {
    struct buffer *held = &output->error_line;
    output_tail_add(&output->errors, data, size);
    while (size > 0) {
        const char *newline = memchr(data, '\n', size);
        size_t length = newline ? (size_t)(newline - data) : size;
        struct error ignored = {0}; /* the rest is dropped */
        if (newline && held->size == 0) {
            on_error_line(output, data, length);
        } else if (buffer_append(held, data, MIN(length, held->max - held->size), &ignored) == 0 &&
                   newline) {
            on_error_line(output, held->data, held->size);
            buffer_clear(held);
        }
        length += newline != NULL;
        data += length;
        size -= length;
    }
}

void command_output_end(struct command_output *output) {
    if (output->error_line.size > 0) { /* a line without a newline */
        on_error_line(output, output->error_line.data, output->error_line.size);
        buffer_clear(&output->error_line);
    }
    report_skipped(output);
}

void command_output_clear(struct command_output *output) {
    buffer_clear(&output->error_line);
    output->last_noise[0] = output->last_error[0] = 0;
    output->errors = (struct output_tail){0};
}
