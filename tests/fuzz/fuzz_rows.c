// SPDX-License-Identifier: Apache-2.0
/* A block of any bytes: each row without a fault is one JSON value that jansson reads (where it
 * reads all of JSON: it refuses half surrogates and huge numbers, so only for CSV and TSV), on one
 * line, and the same whatever pieces the bytes come in. The first byte is the format, the second
 * says whether the first row is a header and seeds the pieces. */
#include "agent/data/table/row_parser.h"

#include "lib/text/jsontext.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(enum split_format format, const struct buffer *row) {
    if (!jsontext_is_value(row->data, row->size) || memchr(row->data, '\n', row->size)) {
        abort();
    }
    if (format != SPLIT_LINES) {
        json_t *tree = json_loadb(row->data, row->size, JSON_ALLOW_NUL, NULL);
        if (!tree) {
            abort();
        }
        json_decref(tree);
    }
}

static void read_all(struct row_parser *rows, enum split_format format, const char *data,
                     size_t size, unsigned seed, struct buffer *all) {
    struct buffer json;
    struct error err = {0};
    buffer_init(&json, 1 << 20);
    row_parser_start(rows, 0);
    for (size_t at = 0, piece = 1; piece > 0; at += piece) {
        seed = seed * 1664525 + 1013904223;
        piece = MIN(seed % 2 ? size : 1 + (seed >> 16) % 16, size - at);
        piece > 0 ? row_parser_add(rows, data + at, piece) : row_parser_end(rows);
        const char *fault = NULL;
        while (row_parser_next(rows, &json, &fault, &err) == 1) {
            if (fault) {
                json.size == 0 ? (void)0 : abort();
            } else {
                check_row(format, &json);
            }
            if (buffer_printf(all, &err, "%lld %s %.*s\n", (long long)row_parser_place(rows),
                              fault ? fault : "", (int)json.size, json.data ? json.data : "") < 0) {
                abort();
            }
            buffer_clear(&json);
        }
    }
    if (err.kind) {
        abort();
    }
    buffer_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3 || size > 2000) {
        return 0;
    }
    struct row_parser_options options = {.format = (enum split_format)(data[0] % 3),
                                         .row_bytes_max = 1000};
    struct error err = {0};
    const char *text = (const char *)data + 2;
    struct row_header header = {0};
    size_t left = size - 2;
    if (data[1] % 2 && options.format != SPLIT_LINES) {
        if (row_parser_header(options.format, text, left, true, &header, &err) < 0) {
            return 0;
        }
        options.header = text + header.first;
        options.header_size = header.end - header.first;
    }
    AUTO(row_parser_freep) struct row_parser *rows = NULL;
    if (row_parser_new(&options, &rows, &err) < 0) {
        return 0;
    }
    struct buffer one, many;
    buffer_init(&one, 64 << 20);
    buffer_init(&many, 64 << 20);
    read_all(rows, options.format, text + header.end, left - header.end, 0, &one);
    read_all(rows, options.format, text + header.end, left - header.end, data[1], &many);
    if (one.size != many.size || (one.size && memcmp(one.data, many.data, one.size) != 0)) {
        abort();
    }
    buffer_release(&one);
    buffer_release(&many);
    return 0;
}
