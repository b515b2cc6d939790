// SPDX-License-Identifier: Apache-2.0
#include "agent/score/feed/flat_row.h"

#include "lib/number/decimal.h"
#include "lib/text/jsontext.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEARN_MAX = 16,
    MEMBERS_MAX = 1 << 16,
    TEXT_MAX = 1 << 20, /* a longer one is read as a tree, whose memory is limited */
    UNWANTED = -1,
};

struct member {
    size_t name, name_size; /* in flat_row.names, with its quotes */
    int column;             /* UNWANTED: the value is passed */
};

struct flat_row {
    const char *const *wanted;
    size_t count;
    int learnt; /* times */
    struct member *members;
    size_t member_count; /* 0: none is known */
    struct buffer names;
};

struct flat_row *flat_row_new(const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(names[i], names[k]) == 0) {
                return NULL;
            }
        }
    }
    struct flat_row *row = x_calloc(1, sizeof *row);
    *row = (struct flat_row){.wanted = names, .count = count};
    buffer_init(&row->names, TEXT_MAX);
    return row;
}

void flat_row_free(struct flat_row *row) {
    if (row) {
        buffer_release(&row->names);
        free(row->members);
        free(row);
    }
}

/* ---- learning -------------------------------------------------------------------------------- */

/* name: with its quotes, without escapes. */
static int find_column(const struct flat_row *row, const char *name, size_t size) {
    for (size_t i = 0; i < row->count; i++) {
        if (strncmp(row->wanted[i], name + 1, size - 2) == 0 && !row->wanted[i][size - 2]) {
            return (int)i;
        }
    }
    return UNWANTED;
}

static bool learn_member(struct flat_row *row, const struct jsontext_member *member) {
    struct error err = {0};
    if (row->member_count == MEMBERS_MAX || memchr(member->name, '\\', member->name_size)) {
        return false;
    }
    row->members[row->member_count++] =
        (struct member){.name = row->names.size,
                        .name_size = member->name_size,
                        .column = find_column(row, member->name, member->name_size)};
    return buffer_append(&row->names, member->name, member->name_size, &err) == 0;
}

void flat_row_learn(struct flat_row *row, const char *text, size_t size) {
    const char *at = text;
    struct jsontext_member member;
    size_t found = 0;
    bool fits = true;
    if (row->learnt == LEARN_MAX || size > TEXT_MAX) {
        return;
    }
    row->learnt++;
    row->member_count = 0;
    buffer_clear(&row->names);
    free(row->members);
    row->members = x_calloc(MIN(MEMBERS_MAX, size + 1), sizeof *row->members);
    while (fits && jsontext_next_member(&at, text + size, &member)) {
        fits = learn_member(row, &member);
        found += fits && row->members[row->member_count - 1].column != UNWANTED;
    }
    row->member_count = fits && found == row->count ? row->member_count : 0;
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

bool flat_row_read(const struct flat_row *row, const char *text, size_t size, double *ret_values) {
    const char *end = text + size, *at = text;
    if (row->member_count == 0 || size > TEXT_MAX) {
        return false;
    }
    for (size_t i = 0; i < row->member_count; i++) {
        at = pass(at, end, i ? ',' : '{');
        at = at ? read_member(row, &row->members[i], at, end, ret_values) : NULL;
        if (!at) {
            return false;
        }
    }
    at = pass(at, end, '}');
    return at == end;
}
