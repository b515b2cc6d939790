// SPDX-License-Identifier: Apache-2.0
/* A program for scorer.command that does nothing, as fast as possible:
 *
 *     scorer [START_US ITEM_US]    sleeps START_US for every mini-batch, ITEM_US for every item
 *
 * Each item's result is null. It parses the lines that windlass writes, not JSON in general: an
 * item is a string or anything else without a comma, a brace or a bracket outside of strings. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 64 << 20, READ_BYTES = 256 << 10 };

static char *output;
static size_t output_size, output_room;

static void put(const char *text, size_t size) {
    if (output_size + size > output_room) {
        output_room = 2 * (output_size + size);
        output = realloc(output, output_room);
        if (!output) {
            abort();
        }
    }
    memcpy(output + output_size, text, size);
    output_size += size;
}

static void flush(void) {
    for (size_t at = 0; at < output_size;) {
        ssize_t wrote = write(STDOUT_FILENO, output + at, output_size - at);
        if (wrote < 0) {
            exit(1);
        }
        at += (size_t)wrote;
    }
    output_size = 0;
}

/* The text after "items":[ up to its end. */
static size_t count_items(const char *at, const char *end) {
    bool in_string = false;
    size_t count = at < end && *at != ']';
    for (; at < end && (in_string || *at != ']'); at++) {
        if (in_string && *at == '\\') {
            at++;
        } else if (*at == '"') {
            in_string = !in_string;
        } else {
            count += !in_string && *at == ',';
        }
    }
    return count;
}

static void work(long long start_us, long long item_us, size_t items) {
    long long us = start_us + item_us * (long long)items;
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    if (us > 0) {
        flush();
        nanosleep(&time, NULL);
    }
}

static void answer(const char *line, size_t size, long long start_us, long long item_us) {
    static const char id[] = "{\"id\":", items[] = ",\"items\":[";
    const char *end = line + size, *at = memmem(line, size, items, sizeof items - 1);
    if (strncmp(line, id, sizeof id - 1) != 0 || !at) {
        put("{\"ready\":true}\n", 15);
        return;
    }
    size_t count = count_items(at + sizeof items - 1, end);
    work(start_us, item_us, count);
    put(line, (size_t)(at - line));
    put(",\"results\":[", 12);
    for (size_t i = 0; i < count; i++) {
        put(",null" + (i == 0), 5 - (i == 0));
    }
    put("]}\n", 3);
}

int main(int argument_count, char **arguments) {
    long long start_us = argument_count > 1 ? atoll(arguments[1]) : 0;
    long long item_us = argument_count > 2 ? atoll(arguments[2]) : 0;
    char *input = malloc(LINE_MAX_BYTES + READ_BYTES);
    size_t held = 0; /* bytes of an incomplete line */
    while (input && held < LINE_MAX_BYTES) {
        ssize_t got = read(STDIN_FILENO, input + held, READ_BYTES);
        if (got <= 0) {
            break;
        }
        char *line = input, *look = input + held, *after = look + got, *end = NULL;
        while ((end = memchr(look, '\n', (size_t)(after - look)))) {
            answer(line, (size_t)(end - line), start_us, item_us);
            line = look = end + 1;
        }
        flush();
        held = (size_t)(after - line);
        memmove(input, line, held);
    }
    free(input);
    free(output);
    return 0;
}
