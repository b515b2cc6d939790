// SPDX-License-Identifier: Apache-2.0
#include "agent/data/rows/row_places.h"

#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 18, NAME_BYTES_MAX = 64 << 10 };

void row_places_release(struct row_places *places) {
    free(places->file);
    *places = (struct row_places){0};
}

static bool is_last(const struct row_places *places, const char *file, size_t size) {
    return places->file && strlen(places->file) == size && memcmp(places->file, file, size) == 0;
}

static void add_rows(struct row_places *places, const char *file, size_t size, int64_t rows) {
    if (!is_last(places, file, size)) {
        free(places->file);
        places->file = x_strndup(file, size);
        places->rows = 0;
    }
    places->rows += rows;
}

/* Reads a number below 10^18 that ends at `stop`; NULL: it is not one. */
static const char *read_count(const char *at, const char *end, char stop, int64_t *ret_count) {
    const char *first = at;
    int64_t count = 0;
    for (; at < end && *at >= '0' && *at <= '9' && at - first < DIGITS_MAX; at++) {
        count = count * 10 + (*at - '0');
    }
    *ret_count = count;
    return at > first && at < end && (*at == stop || *at == '}') ? at : NULL;
}

static bool starts(const char *line, size_t size, const char *with) {
    return size >= strlen(with) && memcmp(line, with, strlen(with)) == 0;
}

static int refuse(struct error *err) {
    return error_set(err, ERROR_INVALID, "a part holds a line that is not a row with its place");
}

/* ["a.csv",12] */
static int take_end(struct row_places *places, const char *line, size_t size, struct error *err) {
    const char *end = line + size, *name = line + 1;
    const char *name_end = size > 1 && *name == '"' ? jsontext_value(name, end) : NULL;
    int64_t rows = 0;
    if (!name_end || name_end == end || *name_end != ',' ||
        !read_count(name_end + 1, end, ']', &rows)) {
        return refuse(err);
    }
    add_rows(places, name, (size_t)(name_end - name), rows);
    return 0;
}

int row_places_line(struct row_places *places, struct buffer *scratch, const char **line,
                    size_t *size, struct error *err) {
    static const char head[] = "{\"file\":", row_head[] = ",\"row\":";
    const char *end = *line + *size, *name = *line + strlen(head);
    int64_t row = 0;
    if (starts(*line, *size, "[")) {
        return take_end(places, *line, *size, err);
    }
    const char *name_end = starts(*line, *size, head) ? jsontext_value(name, end) : NULL;
    if (!name_end || !starts(name_end, (size_t)(end - name_end), row_head)) {
        return refuse(err);
    }
    const char *digits = name_end + strlen(row_head);
    const char *rest = read_count(digits, end, ',', &row);
    if (!rest) {
        return refuse(err);
    }
    row += is_last(places, name, (size_t)(name_end - name)) ? places->rows : 0;
    buffer_clear(scratch);
    if (buffer_append(scratch, *line, (size_t)(digits - *line), err) < 0 ||
        buffer_printf(scratch, err, "%lld", (long long)row) < 0 ||
        buffer_append(scratch, rest, (size_t)(end - rest), err) < 0) {
        return -1;
    }
    *line = scratch->data;
    *size = scratch->size;
    return 1;
}

/* As the JSON string of a file's name is spelled; the caller releases the buffer. */
static bool spell(const char *file, struct buffer *name) {
    struct error full = {0};
    buffer_init(name, NAME_BYTES_MAX);
    return buffer_append(name, "\"", 1, &full) == 0 &&
           jsontext_escape(name, file, strlen(file), &full) == 0 &&
           buffer_append(name, "\"", 1, &full) == 0;
}

bool row_places_is_of(const char *line, size_t size, const char *file) {
    AUTO(buffer_release) struct buffer name;
    size_t skip = starts(line, size, "[") ? 1 : strlen("{\"file\":");
    return spell(file, &name) && size >= skip + name.size &&
           memcmp(line + skip, name.data, name.size) == 0;
}

void row_places_skip(struct row_places *places, const char *file, int64_t rows) {
    AUTO(buffer_release) struct buffer name;
    if (spell(file, &name)) {
        add_rows(places, name.data, name.size, rows);
    }
}
