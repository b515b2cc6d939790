// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/flat_row.h"

#include "lib/number/decimal.h"
#include "lib/text/jsontext.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHAPES_MAX = 16,
    TRIES_MAX = 256,
    MEMBERS_MAX = 1 << 16, /* of all shapes */
    TEXT_MAX = 1 << 20,    /* a longer one is read as a tree, whose memory is limited */
    UNWANTED = -1,
};

struct wanted {
    const char *name;
    int column;
};

struct member {
    size_t name, name_size; /* in flat_row.names, with its quotes */
    int column;             /* UNWANTED: the value is passed */
};

/* The members of a row, in its order. */
struct shape {
    size_t first, count; /* in flat_row.members */
    size_t names, names_size;
};

struct flat_row {
    struct wanted *wanted; /* by name */
    size_t wanted_count;
    int tries;
    struct shape shapes[SHAPES_MAX];
    int shape_count, latest; /* latest: of the row that was read last */
    struct member *members;
    size_t member_count;
    struct buffer names;
};

static int compare_wanted(const void *a, const void *b) {
    return strcmp(((const struct wanted *)a)->name, ((const struct wanted *)b)->name);
}

struct flat_row *flat_row_new(const char *const *names, size_t count) {
    struct flat_row *row = x_calloc(1, sizeof *row);
    row->wanted = x_calloc(count + 1, sizeof *row->wanted);
    row->wanted_count = count;
    buffer_init(&row->names, TEXT_MAX);
    for (size_t i = 0; i < count; i++) {
        row->wanted[i] = (struct wanted){names[i], (int)i};
    }
    qsort(row->wanted, count, sizeof *row->wanted, compare_wanted);
    for (size_t i = 1; i < count; i++) {
        if (compare_wanted(&row->wanted[i - 1], &row->wanted[i]) == 0) {
            flat_row_free(row);
            return NULL;
        }
    }
    return row;
}

void flat_row_free(struct flat_row *row) {
    if (row) {
        buffer_release(&row->names);
        free(row->wanted);
        free(row->members);
        free(row);
    }
}

/* ---- learning -------------------------------------------------------------------------------- */

struct name {
    const char *text;
    size_t size;
};

static int compare_name(const void *key, const void *item) {
    const struct name *name = key;
    const struct wanted *wanted = item;
    int order = strncmp(name->text, wanted->name, name->size);
    return order ? order : -(wanted->name[name->size] != 0);
}

/* name: with its quotes, without escapes. */
static int find_column(const struct flat_row *row, const char *name, size_t size) {
    const struct name key = {name + 1, size - 2};
    const struct wanted *found =
        bsearch(&key, row->wanted, row->wanted_count, sizeof *row->wanted, compare_name);
    return found ? found->column : UNWANTED;
}

/* Adds it to the last members, which become a shape. */
static bool learn_member(struct flat_row *row, const struct jsontext_member *member) {
    struct error err = {0};
    size_t count = row->member_count;
    if (count == MEMBERS_MAX || memchr(member->name, '\\', member->name_size)) {
        return false;
    }
    if ((count & (count - 1)) == 0) { /* a power of two, or 0 */
        row->members =
            x_realloc_array(row->members, MAX(2 * count, (size_t)16), sizeof *row->members);
    }
    row->members[row->member_count++] =
        (struct member){.name = row->names.size,
                        .name_size = member->name_size,
                        .column = find_column(row, member->name, member->name_size)};
    return buffer_append(&row->names, member->name, member->name_size, &err) == 0;
}

static bool is_known(const struct flat_row *row, const struct shape *shape) {
    for (int i = 0; i < row->shape_count; i++) {
        const struct shape *known = &row->shapes[i];
        if (known->names_size == shape->names_size &&
            memcmp(row->names.data + known->names, row->names.data + shape->names,
                   shape->names_size) == 0) {
            return true;
        }
    }
    return false;
}

void flat_row_learn(struct flat_row *row, const char *text, size_t size) {
    const char *at = text;
    struct jsontext_member member;
    struct shape shape = {.first = row->member_count, .names = row->names.size};
    size_t found = 0;
    bool fits = true;
    if (row->tries == TRIES_MAX || row->shape_count == SHAPES_MAX || size > TEXT_MAX) {
        return;
    }
    row->tries++;
    while (fits && jsontext_next_member(&at, text + size, &member)) {
        fits = learn_member(row, &member);
        found += fits && row->members[row->member_count - 1].column != UNWANTED;
    }
    shape.count = row->member_count - shape.first;
    shape.names_size = row->names.size - shape.names;
    if (fits && shape.count > 0 && found == row->wanted_count && !is_known(row, &shape)) {
        row->shapes[row->shape_count++] = shape;
        return;
    }
    row->member_count = shape.first;
    row->names.size = shape.names;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Behind this byte and white space around it; NULL: another byte is there. */
static const char *pass(const char *at, const char *end, char byte) {
    at = jsontext_space(at, end);
    return at < end && *at == byte ? jsontext_space(at + 1, end) : NULL;
}

static const char *take_word(const char *at, const char *end, double *ret_value) {
    static const struct {
        const char *text;
        size_t size;
        double value;
    } words[] = {{"null", 4, NAN}, {"true", 4, 1}, {"false", 5, 0}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if ((size_t)(end - at) >= words[i].size && memcmp(at, words[i].text, words[i].size) == 0) {
            *ret_value = words[i].value;
            return at + words[i].size;
        }
    }
    return NULL;
}

/* A number as a text, or "", which is missing, or "NaN". */
static const char *take_quoted(const char *at, const char *end, double *ret_value) {
    bool is_whole;
    const char *behind = at + 1;
    *ret_value = NAN;
    if (end - at >= 5 && memcmp(at, "\"NaN\"", 5) == 0) {
        return at + 5;
    }
    if (behind < end && *behind != '"') {
        behind = decimal_scan(behind, end, ret_value, &is_whole);
    }
    return behind && behind < end && *behind == '"' ? behind + 1 : NULL;
}

static const char *take_number(const char *at, const char *end, double *ret_value) {
    bool is_whole = false;
    if (at == end || *at == '"') {
        return at == end ? NULL : take_quoted(at, end, ret_value);
    }
    const char *behind = decimal_scan(at, end, ret_value, &is_whole);
    if (!behind) {
        return take_word(at, end, ret_value);
    }
    *ret_value = is_whole && *ret_value == 0 ? 0 : *ret_value; /* a whole -0 is 0 */
    return behind;
}

/* A text without escapes, or what take_number takes. */
static const char *pass_value(const char *at, const char *end) {
    double ignored;
    if (at == end || *at != '"') {
        return take_number(at, end, &ignored);
    }
    const char *behind = jsontext_value(at, end);
    return behind && !memchr(at, '\\', (size_t)(behind - at)) ? behind : NULL;
}

/* Behind the member and its value; NULL: it is not as it was. */
static const char *read_member(const struct flat_row *row, const struct member *member,
                               const char *at, const char *end, double *ret_values) {
    if ((size_t)(end - at) < member->name_size ||
        memcmp(at, row->names.data + member->name, member->name_size) != 0) {
        return NULL;
    }
    at = pass(at + member->name_size, end, ':');
    return !at                          ? NULL
           : member->column == UNWANTED ? pass_value(at, end)
                                        : take_number(at, end, &ret_values[member->column]);
}

static bool read_shape(const struct flat_row *row, const struct shape *shape, const char *text,
                       size_t size, double *ret_values) {
    const char *end = text + size, *at = text;
    for (size_t i = 0; i < shape->count; i++) {
        at = pass(at, end, i ? ',' : '{');
        at = at ? read_member(row, &row->members[shape->first + i], at, end, ret_values) : NULL;
        if (!at) {
            return false;
        }
    }
    at = pass(at, end, '}');
    return at == end;
}

bool flat_row_read(struct flat_row *row, const char *text, size_t size, double *ret_values) {
    bool is_read = false;
    for (int i = 0; size <= TEXT_MAX && i < row->shape_count && !is_read; i++) {
        int next = (row->latest + i) % row->shape_count;
        is_read = read_shape(row, &row->shapes[next], text, size, ret_values);
        row->latest = is_read ? next : row->latest;
    }
    return is_read;
}
