// SPDX-License-Identifier: Apache-2.0
#include "operator/show/text_table.h"

#include "lib/buffer.h"
#include "lib/text/shown.h"
#include "lib/text/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { TEXT_MAX = 256 << 20 };

struct row {
    char *cells[TEXT_TABLE_COLUMNS_MAX];
    size_t count;
};

struct text_table {
    struct row *rows;
    size_t count, capacity;
    size_t widths[TEXT_TABLE_COLUMNS_MAX];
};

struct text_table *text_table_new(void) {
    return x_calloc(1, sizeof(struct text_table));
}

void text_table_free(struct text_table *table) {
    if (!table) {
        return;
    }
    for (size_t i = 0; i < table->count; i++) {
        for (size_t j = 0; j < table->rows[i].count; j++) {
            free(table->rows[i].cells[j]);
        }
    }
    free(table->rows);
    free(table);
}

/* Counts characters of UTF-8: bytes that are not continuation bytes. */
static size_t count_characters(const char *text) {
    size_t count = 0;
    for (; *text; text++) {
        count += (*text & 0xC0) != 0x80;
    }
    return count;
}

static char *clean(const char *cell) {
    const char *text = cell ? cell : "";
    size_t size = strnlen(text, TEXT_TABLE_CELL_MAX);
    bool is_cut = text[size] != 0; /* perhaps within a character */
    return shown_text(text, is_cut ? utf8_valid_size(text, size) : size);
}

void text_table_add(struct text_table *table, const char *const *cells, size_t count) {
    assert(count <= TEXT_TABLE_COLUMNS_MAX);
    if (table->count == table->capacity) {
        table->capacity = MAX(16, table->capacity * 2);
        table->rows = x_realloc_array(table->rows, table->capacity, sizeof *table->rows);
    }
    struct row *row = &table->rows[table->count++];
    *row = (struct row){.count = count};
    for (size_t i = 0; i < count; i++) {
        row->cells[i] = clean(cells[i]);
        if (i + 1 < count) {
            size_t characters = count_characters(row->cells[i]);
            table->widths[i] = MAX(table->widths[i], characters);
        }
    }
}

static void put(struct buffer *text, const char *bytes, size_t size) {
    struct error ignored = {0};
    int result = buffer_append(text, bytes, size, &ignored);
    assert(result == 0); /* the API's lists are far shorter than TEXT_MAX */
    (void)result;
}

/* Writes at most `room` characters of the cell. */
static size_t put_cell(struct buffer *text, const char *cell, size_t room) {
    size_t size = 0, characters = 0;
    while (cell[size]) {
        characters += (cell[size] & 0xC0) != 0x80;
        if (characters > room) {
            characters--;
            break;
        }
        size++;
    }
    put(text, cell, size);
    return characters;
}

static void put_row(const struct text_table *table, const struct row *row, const char *indent,
                    size_t room, struct buffer *text) {
    size_t used = put_cell(text, indent, room);
    for (size_t i = 0; i < row->count; i++) {
        size_t characters = put_cell(text, row->cells[i], room - used);
        used += characters;
        for (size_t pad = characters;
             i + 1 < row->count && used < room && pad < table->widths[i] + TEXT_TABLE_GAP;
             pad++, used++) {
            put(text, " ", 1);
        }
    }
    while (text->size && text->data[text->size - 1] == ' ') {
        text->data[--text->size] = 0;
    }
    put(text, "\n", 1);
}

char *text_table_format(const struct text_table *table, const char *indent, int width) {
    struct buffer text;
    buffer_init(&text, TEXT_MAX);
    for (size_t i = 0; i < table->count; i++) {
        put_row(table, &table->rows[i], indent, width > 0 ? (size_t)width : SIZE_MAX / 2, &text);
    }
    size_t size = 0;
    return buffer_take(&text, &size);
}

void text_table_age(int64_t milliseconds, char text[static 32]) {
    long long seconds = MAX(milliseconds, 0) / 1000;
    long long minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (seconds < 120) {
        snprintf(text, 32, "%llds", seconds);
    } else if (minutes < 10 && seconds % 60) {
        snprintf(text, 32, "%lldm%llds", minutes, seconds % 60);
    } else if (minutes < 180) {
        snprintf(text, 32, "%lldm", minutes);
    } else if (hours < 8 && minutes % 60) {
        snprintf(text, 32, "%lldh%lldm", hours, minutes % 60);
    } else if (hours < 48) {
        snprintf(text, 32, "%lldh", hours);
    } else {
        snprintf(text, 32, "%lldd", MIN(days, 9999999));
    }
}

int text_table_width(void) {
    struct winsize size = {0};
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
